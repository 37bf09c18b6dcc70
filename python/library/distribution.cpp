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

// log Z [batch], and its derivative by the weights, [batch, inputs].
std::pair<Tensor, Tensor> value_and_gradient(const prob_tensor::CircuitOperator& circuit,
                                             const Tensor& weights) {
  const WithAutograd enabled;
  const Tensor input = weights.detach().requires_grad_(true);
  const Tensor value = circuit.log_value(input);
  return {value.detach(), torch::autograd::grad({value.sum()}, {input})[0]};
}

struct SymbolProbabilities : torch::autograd::Function<SymbolProbabilities> {
  static Tensor forward(AutogradContext* context, const Tensor& weights, const Tensor& columns,
                        const std::shared_ptr<const prob_tensor::CircuitOperator>& circuit) {
    const auto [value, gradient] = value_and_gradient(*circuit, weights);
    context->save_for_backward({weights, columns, value, gradient});
    context->saved_data["circuit"] = c10::IValue::make_capsule(c10::make_intrusive<KeptCircuit>(circuit));
    return weights.index_select(1, columns) * gradient.index_select(1, columns);
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& upstream) {
    const auto saved = context->get_saved_variables();
    const Tensor &weights = saved[0], &columns = saved[1], &value = saved[2], &gradient = saved[3];
    const auto kept = context->saved_data["circuit"].toCapsule();
    const auto& circuit = *static_cast<const KeptCircuit&>(*kept).circuit;
    const Tensor above = upstream[0] - upstream[0].amin(1, true);
    const Tensor scale = torch::ones_like(weights).index_copy(1, columns, above);
    const auto [scaled_value, scaled_gradient] = value_and_gradient(circuit, weights * scale);
    // −∞: every g is the same, and so is their mean; or there is no answer set.
    const Tensor mean =
        torch::where(scaled_value.isfinite(), (scaled_value - value).exp(), torch::zeros_like(value));
    return {mean.unsqueeze(1) * (scaled_gradient * scale - gradient), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor symbol_probabilities(std::shared_ptr<const prob_tensor::CircuitOperator> circuit,
                            const Tensor& weights, const Tensor& columns) {
  return SymbolProbabilities::apply(weights, columns, circuit);
}

}  // namespace as2::python
