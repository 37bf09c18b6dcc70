// The exact distributions of positions' symbols, for about the price of one evaluation of the circuit, where
// asking for every symbol by itself takes one evaluation each.
//
// Let Z(w) be the circuit's value. Each answer set has exactly one symbol s of a position, so Z is linear in
// their weights: P(s) = w_s · ∂ log Z/∂w_s, and the pass that gives Z gives those of all positions. For the
// gradient let g_s be what comes from above to one position. Σ_s g_s P(s) = Z(w with w_s·g_s in place of
// w_s)/Z(w): one more evaluation per position, whatever the number of symbols. Weights must not be negative,
// so the least g is subtracted first; as Σ_s P(s) = 1, that changes no gradient.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "as2/circuit_operator.h"

namespace as2::python {

struct Evaluated {
  torch::Tensor value;     // [batch]: log Z
  torch::Tensor gradient;  // [batch, inputs of the circuit]: its derivative by the weights
};
// At `weights` [batch, inputs of the circuit]; without a graph.
Evaluated evaluate(const prob_tensor::CircuitOperator& circuit, const torch::Tensor& weights);

// `columns` [positions, symbols] int64: the inputs that weigh each position's symbols. [batch, positions,
// symbols], from what was `evaluated` at these `weights`; without a graph.
torch::Tensor shares_of_symbols(const torch::Tensor& weights, const torch::Tensor& columns,
                                const Evaluated& evaluated);
// The same, differentiable with respect to the weights. `result`, where it is defined, takes the place of the
// values, not of the gradient.
torch::Tensor symbol_probabilities(std::shared_ptr<const prob_tensor::CircuitOperator> circuit,
                                   const torch::Tensor& weights, const torch::Tensor& columns,
                                   const Evaluated& evaluated, const torch::Tensor& result = {});

}  // namespace as2::python
