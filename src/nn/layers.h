// Layers that are one pass over memory where LibTorch composes several; elsewhere LibTorch's own.
#pragma once

#include <torch/torch.h>

#include <utility>

namespace as2::nn {

// x + y and its layer norm, both like `x` [.., channels]; an undefined `y` counts as zero. `weight` and
// `bias` [channels] float32. Use the sum that is returned rather than x: its gradient is then added for free.
std::pair<torch::Tensor, torch::Tensor> add_norm(const torch::Tensor& x, const torch::Tensor& y,
                                                 const torch::Tensor& weight, const torch::Tensor& bias);

// gelu(z + shared): `z` [batch, symbols, positions, channels], `shared` [positions, batch, channels].
torch::Tensor shared_gelu(const torch::Tensor& z, const torch::Tensor& shared);

}  // namespace as2::nn
