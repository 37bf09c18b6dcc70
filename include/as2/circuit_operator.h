// A circuit of exact probabilities as a differentiable tensor function.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/probability.h"

namespace at {
class Tensor;
}

namespace as2::prob_tensor {

// kFused: one kernel for the whole circuit, value and gradient together (CPU, CUDA); kComposed: LibTorch's
// own operations, layer by layer, which define the result.
enum class Evaluation { kFused, kComposed };

// Made from a circuit and its program; immutable afterwards, so calls may run in parallel. Any device,
// float32 or float64; lower precisions are computed in float32. Everything is differentiable with respect to
// weights and beliefs; a weight of exactly 0 forbids, and its gradient is 0.
class CircuitOperator {
 public:
  // `believed`: one entry per position; a position whose entry is 0 weighs 1, whatever its beliefs say.
  // Empty: all positions but guesses are believed.
  CircuitOperator(prob::Circuit circuit, const compile::ConstraintProgram& program,
                  const std::vector<char>& believed = {}, Evaluation evaluation = Evaluation::kFused);
  ~CircuitOperator();
  CircuitOperator(CircuitOperator&&) noexcept;

  const prob::Circuit& circuit() const;

  // [batch]: log Σ w(I); −∞ where no answer set weighs anything. `weights` [batch, inputs], no logarithms.
  at::Tensor log_value(const at::Tensor& weights) const;
  // That and its gradient [batch, inputs], both without a graph.
  std::pair<at::Tensor, at::Tensor> evaluate(const at::Tensor& weights) const;
  // [batch, inputs] from `beliefs` [batch, positions, symbols], floored at 1e-30, and what is observed:
  // `allowed` [batch, positions, symbols] and `indicators` [batch, observed, 2] (false, true) are 1 where
  // they agree with the observation and 0 where they contradict it. Undefined: nothing is observed.
  at::Tensor weights(const at::Tensor& beliefs, const at::Tensor& allowed,
                     const at::Tensor& indicators) const;
  // [batch]: log P(observed) = log Σ_{I ⊨ observed} w(I) − log Σ w(I), arguments as for weights().
  at::Tensor log_probability(const at::Tensor& beliefs, const at::Tensor& allowed,
                             const at::Tensor& indicators) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace as2::prob_tensor
