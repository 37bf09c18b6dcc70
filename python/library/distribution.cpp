#include "library/distribution.h"

#include "library/operators.h"

namespace as2::python {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

struct KeptCircuit : torch::CustomClassHolder {
  explicit KeptCircuit(std::shared_ptr<const prob_tensor::CircuitOperator> given)
      : circuit(std::move(given)) {}
  std::shared_ptr<const prob_tensor::CircuitOperator> circuit;
};

struct SymbolProbabilities : torch::autograd::Function<SymbolProbabilities> {
  static Tensor forward(AutogradContext* context, const Tensor& weights, const Tensor& columns,
                        const Tensor& value, const Tensor& gradient,
                        const std::shared_ptr<const prob_tensor::CircuitOperator>& circuit,
                        const Tensor* result) {
    context->save_for_backward({weights, columns, value, gradient});
    keep_edges(context, {weights});
    context->saved_data["circuit"] = c10::IValue::make_capsule(c10::make_intrusive<KeptCircuit>(circuit));
    return result->defined() ? *result : shares_of_symbols(weights, columns, {value, gradient});
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& upstream) {
    const auto saved = context->get_saved_variables();
    const Tensor &weights = saved[0], &columns = saved[1], &value = saved[2], &gradient = saved[3];
    const auto kept = context->saved_data["circuit"].toCapsule();
    const auto& circuit = *static_cast<const KeptCircuit&>(*kept).circuit;
    const std::int64_t batch = weights.size(0), positions = columns.size(0), inputs = weights.size(1);
    const Tensor above = upstream[0] - upstream[0].amin(2, true);
    const Tensor scale = torch::ones({batch, positions, inputs}, weights.options())
                             .scatter(2, columns.expand({batch, -1, -1}), above);
    const auto [log_sum, sum_gradient] =
        evaluate(circuit, (weights.unsqueeze(1) * scale).view({batch * positions, inputs}));
    const Tensor scaled_value = log_sum.view({batch, positions});
    const Tensor scaled_gradient = sum_gradient.view({batch, positions, inputs});
    // −∞: every g is the same, and so is their mean; or there is no answer set.
    const Tensor mean = torch::where(scaled_value.isfinite(), (scaled_value - value.unsqueeze(1)).exp(),
                                     torch::zeros_like(scaled_value));
    const Tensor result = (mean.unsqueeze(2) * (scaled_gradient * scale - gradient.unsqueeze(1))).sum(1);
    return once_differentiable(context, upstream, {result, Tensor(), Tensor(), Tensor(), Tensor(), Tensor()});
  }
};

}  // namespace

Evaluated evaluate(const prob_tensor::CircuitOperator& circuit, const Tensor& weights) {
  const WithAutograd enabled;  // for LibTorch's own operations, where there are no kernels
  auto [value, gradient] = circuit.evaluate(weights.detach());
  return {std::move(value), std::move(gradient)};
}

Tensor shares_of_symbols(const Tensor& weights, const Tensor& columns, const Evaluated& evaluated) {
  const torch::NoGradGuard no_graph;
  const Tensor chosen = columns.flatten();
  return (weights.index_select(1, chosen) * evaluated.gradient.index_select(1, chosen))
      .view({weights.size(0), columns.size(0), columns.size(1)});
}

Tensor symbol_probabilities(std::shared_ptr<const prob_tensor::CircuitOperator> circuit,
                            const Tensor& weights, const Tensor& columns, const Evaluated& evaluated,
                            const Tensor& result) {
  return SymbolProbabilities::apply(weights, columns, evaluated.value, evaluated.gradient, circuit, &result);
}

}  // namespace as2::python
