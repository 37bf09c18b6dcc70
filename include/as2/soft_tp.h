// Soft T_P over tensors: image, residual, loss and refinement (the paper's Eq. 1, 2, 3 and 6).
#pragma once

#include <cstdint>
#include <memory>

#include "as2/constraint_program.h"

namespace at {
class Tensor;
}

namespace as2::tp {

enum class Reduction { kMean, kSum };
// kFused uses the tuned kernels where they exist (CPU, CUDA); kReference is the definition.
enum class Kernel { kFused, kReference };

// Made from a ConstraintProgram; immutable and free of global state afterwards, so calls may run in
// parallel. Beliefs are [batch, positions, symbols], padded to max_symbols(); padded entries are ignored
// and come back 0. Any device and float32 or float64; lower precisions are computed in float32.
// Everything is differentiable with respect to the beliefs.
class SoftTp {
 public:
  explicit SoftTp(const compile::ConstraintProgram& program, Kernel kernel = Kernel::kFused);
  ~SoftTp();
  SoftTp(SoftTp&&) noexcept;

  std::int64_t positions() const;
  std::int64_t symbols() const;   // padded width: max_symbols()
  std::int64_t families() const;  // families of the program, those without groups included
  std::int64_t residual_terms() const;

  // Copies the index tables to the device and precision of `like`, which otherwise happens at first use: call
  // it before capturing a CUDA graph. Safe to call from any thread.
  void prepare(const at::Tensor& like) const;

  // [positions, symbols], bool, on the device of `like`: true inside a domain.
  at::Tensor mask(const at::Tensor& like) const;
  // [batch, families, positions, symbols]: the factor without p itself, mean over the family's terms at
  // (position, symbol); 1 where the family says nothing.
  at::Tensor leave_one_out(const at::Tensor& beliefs) const;
  // p × leave_one_out, same shape.
  at::Tensor image(const at::Tensor& beliefs) const;
  // p − image, same shape.
  at::Tensor residual(const at::Tensor& beliefs) const;
  // Eq. 3 over all residual terms, averaged over the batch; kMean divides by residual_terms(). Scalar.
  at::Tensor loss(const at::Tensor& beliefs, Reduction reduction = Reduction::kMean) const;
  // [batch]: the largest |p − T_P(p)| over all terms (not differentiable).
  at::Tensor max_residual(const at::Tensor& beliefs) const;
  // Eq. 6, at most K times, stopping when nothing moves. Positions whose image vanishes keep their belief.
  at::Tensor refine(const at::Tensor& beliefs, int steps) const;
  // [batch, levels]: E[cost], highest priority first.
  at::Tensor expected_cost(const at::Tensor& beliefs) const;
  // [batch, linear constraints]: log P(constraint holds), in the order of the program's groups.
  at::Tensor log_satisfaction(const at::Tensor& beliefs) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace as2::tp
