// Nodes are the positions; two are neighbours where a group holds both. With perceptrons f, g and e, at every
// pass t
//
//   x_i = e(symbol of i, groups of i)
//   m_i = Σ_{j next to i} f(h_i, h_j)
//   h_i ← LSTM(g(x_i, m_i), h_i),   h_i = x_i before the first pass
//   logits of i = linear(h_i), with a loss at every pass.
//
// The authors embed the digit, the row and the column of a cell. Here a row is a group of one family and a
// column one of another, so every family has its embedding, the boxes as well. A digit may be uncertain: its
// embedding is the mean under its belief, and a cell without evidence has one of its own. The first layer of
// f is applied to h_i and h_j apart and added: the same product, at a fraction of the multiplications.
#include "nn/relational.h"

#include <limits>

#include "as2/error.h"

namespace as2::nn {

using torch::Tensor;
using torch::nn::Linear;

RelationalReasoner::RelationalReasoner(const RelationalOptions& options,
                                       const compile::ConstraintProgram& program)
    : options_(options) {
  structure_ = Structure::of(program);
  const auto w = options.width, e = options.embedding;
  embed_ = register_module("embed", Linear(torch::nn::LinearOptions(structure_.symbols + 1, e).bias(false)));
  groups_ = register_parameter("groups", torch::randn({structure_.groups, e}));
  input_ = perceptron("input", e * (1 + structure_.families));
  message_ = perceptron("message", 2 * w);
  update_ = perceptron("update", 2 * w);
  gates_ = register_module("gates", Linear(2 * w, 4 * w));
  read_ = register_module("read", Linear(w, structure_.symbols));
  bind(program);
}

RelationalReasoner::Perceptron RelationalReasoner::perceptron(const std::string& name, std::int64_t inputs) {
  Perceptron result;
  for (int layer = 0; layer <= options_.layers; ++layer) {
    result.layers.push_back(register_module(name + "_" + std::to_string(layer),
                                            Linear(layer == 0 ? inputs : options_.width, options_.width)));
  }
  return result;
}

Tensor RelationalReasoner::apply(const Perceptron& perceptron, Tensor x, std::size_t first) {
  for (std::size_t layer = first; layer < perceptron.layers.size(); ++layer) {
    if (layer > 0) x = torch::relu(x);
    x = Affine::of(perceptron.layers[layer], x.scalar_type()).linear(x);
  }
  return x;
}

void RelationalReasoner::bind(const compile::ConstraintProgram& program) {
  Structure structure = Structure::of(program);
  AS2_REQUIRE(structure.symbols == structure_.symbols && structure.family_groups == structure_.family_groups,
              "an rrn's weights fit programs with the same symbols and groups");
  structure_ = std::move(structure);
  incidence_ = structure_.incidence().t().contiguous();
  const Tensor related = structure_.families == 0
                             ? torch::zeros({structure_.positions, structure_.positions}, torch::kBool)
                             : structure_.relation.any(0);
  const auto degree = std::max<std::int64_t>(1, related.sum(1).max().item<std::int64_t>());
  // Neighbours first, in order: true sorts before false.
  const Tensor order =
      related.logical_not().to(torch::kInt32).argsort(/*stable=*/true, 1).narrow(1, 0, degree);
  neighbours_ = order.flatten().contiguous();
  real_ = related.gather(1, order).to(torch::kFloat32).unsqueeze(-1);
}

void RelationalReasoner::move_to(torch::Device device) {
  if (real_.device() == device) return;
  structure_ = structure_.to(device);
  neighbours_ = neighbours_.to(device);
  real_ = real_.to(device);
  incidence_ = incidence_.to(device);
}

// [batch, positions, width]: the sum of what the neighbours say. `h` the same shape.
Tensor RelationalReasoner::messages(const Tensor& h) const {
  const auto batch = h.size(0), n = h.size(1), w = h.size(2), degree = real_.size(1);
  const Affine first = Affine::of(message_.layers[0], h.scalar_type());
  const Tensor own = at::linear(h, first.weight.narrow(1, 0, w), first.bias);
  const Tensor other = at::linear(h, first.weight.narrow(1, w, w));
  const Tensor pairs = own.unsqueeze(2) + other.index_select(1, neighbours_).view({batch, n, degree, w});
  return (apply(message_, pairs, 1) * real_.to(h.scalar_type())).sum(2);
}

ReasonerOutput RelationalReasoner::forward(const ReasonerInput& input, int passes) {
  AS2_REQUIRE(!input.state.defined(), "an rrn carries no state");
  const auto device = input.beliefs.device();
  move_to(device);
  const ComputeScope scope(device);
  const auto dtype = input.beliefs.scalar_type() == torch::kFloat64 ? torch::kFloat64 : scope.dtype();
  const auto logits_dtype = dtype == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  if (passes <= 0) passes = is_training() ? options_.passes : options_.eval_passes;
  const auto batch = input.beliefs.size(0), w = options_.width;

  const Tensor flag = input.evidence.unsqueeze(-1).to(dtype);
  const Tensor symbol =
      Affine::of(embed_, dtype).linear(torch::cat({input.beliefs.to(dtype) * flag, 1 - flag}, -1));
  std::vector<Tensor> parts{symbol};
  std::int64_t first = 0;
  for (const auto count : structure_.family_groups) {
    const Tensor placed = torch::matmul(incidence_.narrow(1, first, count).to(dtype),
                                        groups_.narrow(0, first, count).to(dtype));
    parts.push_back(placed.unsqueeze(0).expand({batch, placed.size(0), placed.size(1)}));
    first += count;
  }
  const Tensor x = apply(input_, torch::cat(parts, -1));
  Tensor h = x, cell = torch::zeros_like(x);
  ReasonerOutput output;
  for (int pass = 0; pass < passes; ++pass) {
    const Tensor news = apply(update_, torch::cat({x, messages(h)}, -1));
    const auto gates = Affine::of(gates_, dtype).linear(torch::cat({news, h}, -1)).split(w, -1);
    cell = torch::sigmoid(gates[0]) * cell + torch::sigmoid(gates[1]) * torch::tanh(gates[2]);
    h = torch::sigmoid(gates[3]) * torch::tanh(cell);
    if (!is_training() && pass + 1 < passes) continue;
    Tensor logits = Affine::of(read_, dtype).linear(h).to(logits_dtype);
    if (!structure_.full)
      logits = logits.masked_fill(structure_.mask.logical_not(), -std::numeric_limits<float>::infinity());
    output.logits.push_back(logits);
  }
  if (!is_training())
    output.passes = torch::full({batch}, passes, input.evidence.options().dtype(torch::kInt64));
  return output;
}

}  // namespace as2::nn
