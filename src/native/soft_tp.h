// Soft T_P without LibTorch, for one instance at a time: what the soft-tp reasoner asks before each pass.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::native {

// Beliefs are [positions, symbols] of one instance, padded to max_symbols(); padding counts as 0.
class SoftTp {
 public:
  explicit SoftTp(const compile::ConstraintProgram& program);
  ~SoftTp();

  // What a call works in; one per thread.
  struct Scratch {
    std::vector<float> values, lanes;
  };
  Scratch scratch() const;
  std::size_t scratch_bytes() const;

  // [families, positions, symbols]: the factor without p itself, mean over the family's terms at (position,
  // symbol); 1 where the family says nothing, 0 outside the domain.
  void leave_one_out(const float* beliefs, float* factors, Scratch& scratch) const;
  // `steps` of refinement (the paper's Eq. 6), in place: p · T_P(p), the mean over the groups that hold the
  // position, summing to 1. Fewer where nothing moves any more.
  void refine(float* beliefs, int steps, Scratch& scratch) const;
  // The largest |p − T_P(p)| over all terms.
  float max_residual(const float* beliefs, Scratch& scratch) const;

 private:
  struct Tables;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace as2::native
