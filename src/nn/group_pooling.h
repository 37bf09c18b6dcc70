// Maximum along groups, the pooling step of the `soft-tp` reasoner.
#pragma once

#include <torch/torch.h>

#include "nn/reasoner.h"

namespace as2::nn {

// [rows, groups, channels]: per group the maximum of `x` [rows, positions, channels] over its members.
// Tied members share the gradient equally.
torch::Tensor group_max(const torch::Tensor& x, const Structure& structure);

// The same by the CUDA kernels, for tensors they take (none in a build without CUDA).
bool cuda_group_max_takes(const torch::Tensor& x);
torch::Tensor cuda_group_max(const torch::Tensor& x, const Structure& structure);

}  // namespace as2::nn
