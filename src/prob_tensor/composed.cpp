#include "prob_tensor/composed.h"

#include <limits>

#include "prob_tensor/kernels/kernels.h"

namespace as2::prob_tensor {

Composed::Composed(const prob::Circuit& circuit) : zero_(circuit.root < 0) {
  if (zero_) return;
  const int inputs = circuit.inputs();
  const std::size_t layers = circuit.layers.size();
  // The last layer that reads an item; the root is read by the caller.
  std::vector<std::size_t> last(static_cast<std::size_t>(inputs + circuit.nodes()), 0);
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::int64_t e = circuit.begin[circuit.layers[l].begin]; e < circuit.begin[circuit.layers[l].end];
         ++e)
      last[circuit.children[e]] = l + 1;
  }
  last[circuit.root] = layers + 1;
  std::vector<std::int64_t> row_of(last.size(), -1);
  std::vector<int> rows;
  for (int i = 0; i < inputs; ++i) {
    row_of[i] = i;
    rows.push_back(i);
  }
  for (std::size_t l = 0; l < layers; ++l) {
    const prob::Layer& layer = circuit.layers[l];
    std::vector<std::int64_t> child, node, kept;
    for (int n = layer.begin; n < layer.end; ++n) {
      for (std::int64_t e = circuit.begin[n]; e < circuit.begin[n + 1]; ++e) {
        child.push_back(row_of[circuit.children[e]]);
        node.push_back(n - layer.begin);
      }
    }
    std::vector<int> next;
    for (const int item : rows) {
      if (last[item] <= l + 1) continue;
      kept.push_back(row_of[item]);
      next.push_back(item);
    }
    for (int n = layer.begin; n < layer.end; ++n) next.push_back(inputs + n);
    rows = std::move(next);
    for (std::size_t row = 0; row < rows.size(); ++row) row_of[rows[row]] = static_cast<std::int64_t>(row);
    steps_.push_back({layer.sum, layer.end - layer.begin, torch::tensor(child, torch::kInt64),
                      torch::tensor(node, torch::kInt64), torch::tensor(kept, torch::kInt64)});
  }
  root_row_ = row_of[circuit.root];
}

const std::vector<Composed::Step>& Composed::steps_on(const torch::Device& device) const {
  if (!device.is_cuda()) return steps_;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Step>& moved = moved_[device.index()];
  if (moved.empty()) {
    for (const Step& step : steps_) {
      moved.push_back(
          {step.sum, step.nodes, step.child.to(device), step.node.to(device), step.kept.to(device)});
    }
  }
  return moved;
}

torch::Tensor Composed::log_value(const torch::Tensor& weights) const {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::int64_t batch = weights.size(0);
  if (zero_) return torch::full({batch}, -infinity, weights.options()) + 0 * weights.sum();
  // Logarithms [items, batch]; 0 is a number so low that it vanishes, and no infinity that turns into NaN.
  const torch::Tensor positive = weights > 0;
  const torch::Tensor safe = torch::where(positive, weights, torch::ones_like(weights));
  torch::Tensor rows =
      torch::where(positive, safe.log(), torch::full_like(weights, kernels::kNothing)).transpose(0, 1);
  for (const Step& step : steps_on(weights.device())) {
    const torch::Tensor edges = rows.index_select(0, step.child);
    torch::Tensor nodes = torch::zeros({step.nodes, batch}, weights.options());
    if (step.sum) {
      torch::Tensor greatest;
      {
        const torch::NoGradGuard constant;
        greatest = torch::full_like(nodes, -infinity)
                       .scatter_reduce(0, step.node.unsqueeze(1).expand_as(edges), edges.detach(), "amax");
      }
      const torch::Tensor terms = (edges - greatest.index_select(0, step.node)).exp();
      nodes = nodes.index_add(0, step.node, terms).log() + greatest;
    } else {
      nodes = nodes.index_add(0, step.node, edges);
    }
    rows = torch::cat({rows.index_select(0, step.kept), nodes});
  }
  const torch::Tensor root = rows.select(0, root_row_);
  return torch::where(root < kernels::kAlmostNothing, torch::full_like(root, -infinity), root);
}

}  // namespace as2::prob_tensor
