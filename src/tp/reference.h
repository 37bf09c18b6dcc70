// Soft T_P composed of plain LibTorch operations, differentiated by autograd: the definition every tuned
// kernel is tested against, and the tensor form on devices without one. No shape depends on data and nothing
// is read back, so it can be captured in a CUDA graph.
#pragma once

#include <torch/torch.h>

#include "tp/tables.h"

namespace as2::tp::reference {

// [batch, positions, symbols] → [batch, n]: the vector of values, circuit excluded.
torch::Tensor values(const Tables& tables, const torch::Tensor& beliefs);

// The leave-one-out factors of a part, [batch, units].
torch::Tensor units(const ExclusivePart& part, const torch::Tensor& values);
torch::Tensor units(const LinearPart& part, const torch::Tensor& values);
torch::Tensor units(const OtherPart& part, const SoftNodes& nodes, const torch::Tensor& values);

// Σ_terms (p − p·factor)², over the batch too. Scalar.
torch::Tensor squared_residual(const Terms& terms, const torch::Tensor& units, const torch::Tensor& values);
// [batch]: the largest |p − p·factor|.
torch::Tensor largest_residual(const Terms& terms, const torch::Tensor& units, const torch::Tensor& values);
// Adds weight · factor of every term to `sums` [batch, cells or families · cells].
torch::Tensor add_by_family(const Terms& terms, const torch::Tensor& units, const torch::Tensor& sums);
torch::Tensor add_by_group(const Terms& terms, const torch::Tensor& units, const torch::Tensor& sums);

}  // namespace as2::tp::reference
