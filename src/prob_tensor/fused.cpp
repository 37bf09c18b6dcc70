#include "prob_tensor/fused.h"

#include "once_differentiable.h"

namespace as2::prob_tensor {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

FusedArrays::FusedArrays(const prob::Circuit& circuit) {
  AS2_REQUIRE(circuit.children.size() < (std::size_t{1} << 30), "edges are counted in 32 bits");
  const int inputs = circuit.inputs();
  const int items = inputs + circuit.nodes();
  for (const prob::Layer& layer : circuit.layers) {
    layer_begin_.push_back(layer.begin);
    layer_sum_.push_back(layer.sum ? 1 : 0);
  }
  layer_begin_.push_back(circuit.nodes());
  child_begin_.assign(circuit.begin.begin(), circuit.begin.end());
  children_ = circuit.children;
  parent_begin_.assign(static_cast<std::size_t>(items) + 1, 0);
  for (const int child : children_) ++parent_begin_[child + 1];
  for (int i = 0; i < items; ++i) parent_begin_[i + 1] += parent_begin_[i];
  parents_.resize(children_.size());
  std::vector<std::int32_t> next(parent_begin_.begin(), parent_begin_.end() - 1);
  for (const prob::Layer& layer : circuit.layers) {
    for (int n = layer.begin; n < layer.end; ++n) {
      for (std::int32_t e = child_begin_[n]; e < child_begin_[n + 1]; ++e) {
        parents_[next[children_[e]]++] = 2 * n + (layer.sum ? 1 : 0);
      }
    }
  }
  arrays_.inputs = inputs;
  arrays_.nodes = circuit.nodes();
  arrays_.layers = static_cast<std::int32_t>(circuit.layers.size());
  arrays_.root = circuit.root;
  arrays_.layer_begin = layer_begin_.data();
  arrays_.layer_sum = layer_sum_.data();
  arrays_.child_begin = child_begin_.data();
  arrays_.children = children_.data();
  arrays_.parent_begin = parent_begin_.data();
  arrays_.parents = parents_.data();
}

kernels::CircuitArrays FusedArrays::on_cuda(const torch::Tensor& like) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<torch::Tensor>& moved = moved_[like.device().index()];
  if (moved.empty()) {
    for (const auto* indices : {&layer_begin_, &child_begin_, &children_, &parent_begin_, &parents_}) {
      moved.push_back(torch::tensor(*indices, torch::kInt32).to(like.device()));
    }
    moved.push_back(torch::tensor(layer_sum_, torch::kUInt8).to(like.device()));
  }
  kernels::CircuitArrays arrays = arrays_;
  arrays.layer_begin = moved[0].data_ptr<std::int32_t>();
  arrays.child_begin = moved[1].data_ptr<std::int32_t>();
  arrays.children = moved[2].data_ptr<std::int32_t>();
  arrays.parent_begin = moved[3].data_ptr<std::int32_t>();
  arrays.parents = moved[4].data_ptr<std::int32_t>();
  arrays.layer_sum = moved[5].data_ptr<std::uint8_t>();
  return arrays;
}

namespace {

std::pair<torch::Tensor, torch::Tensor> evaluate(const FusedArraysPtr& arrays, const torch::Tensor& given,
                                                 bool wants_gradient) {
  const torch::Tensor weights = given.contiguous();
  torch::Tensor values = torch::empty({weights.size(0)}, weights.options());
  torch::Tensor gradient;
  if (wants_gradient) gradient = torch::empty_like(weights);
  if (weights.is_cuda()) {
    cuda_evaluate(arrays->on_cuda(weights), weights, values, gradient);
  } else {
    AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "circuit", [&] {
      kernels::cpu::evaluate<scalar_t>(arrays->on_cpu(), weights.size(0), weights.data_ptr<scalar_t>(),
                                       values.data_ptr<scalar_t>(),
                                       wants_gradient ? gradient.data_ptr<scalar_t>() : nullptr);
    });
  }
  return {std::move(values), std::move(gradient)};
}

// The gradient is computed with the value: the kernel has every item's logarithm at hand, and only one tensor
// of the weights' size stays until the backward pass.
struct LogValue : torch::autograd::Function<LogValue> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const FusedArraysPtr& arrays, bool wants_gradient) {
    const auto [values, gradient] = evaluate(arrays, given, wants_gradient);
    if (wants_gradient) context->save_for_backward({gradient});
    keep_edges(context, {given});
    return values;
  }

  static tensor_list backward(AutogradContext* context, tensor_list upstream) {
    const torch::Tensor gradient = context->get_saved_variables()[0] * upstream[0].unsqueeze(1);
    return once_differentiable(context, upstream, {gradient, torch::Tensor(), torch::Tensor()});
  }
};

}  // namespace

std::pair<torch::Tensor, torch::Tensor> fused_evaluate(const FusedArraysPtr& arrays,
                                                       const torch::Tensor& weights) {
  const torch::NoGradGuard no_graph;
  return evaluate(arrays, weights, true);
}

torch::Tensor fused_log_value(const FusedArraysPtr& arrays, const torch::Tensor& weights) {
  return LogValue::apply(weights, arrays, weights.requires_grad() && torch::GradMode::is_enabled());
}

}  // namespace as2::prob_tensor
