// Low precision without autocast's traffic. Autocast runs every layer norm in float32 and casts around it,
// which in these networks moves more bytes than the products themselves. So a reasoner asks what autocast
// wants, switches it off for itself, and keeps its whole state in that format; soft T_P and the beliefs
// stay in float32.
#pragma once

#include <torch/torch.h>

#include "torch_compat.h"

namespace as2::nn {

class ComputeScope {
 public:
  explicit ComputeScope(torch::Device device)
      : dtype_(compat::autocast_enabled(device.type()) ? compat::autocast_dtype(device.type())
                                                       : torch::kFloat32),
        off_(device.type(), false) {}
  torch::ScalarType dtype() const { return dtype_; }

 private:
  torch::ScalarType dtype_;
  compat::AutocastScope off_;
};

// A layer's weights in another precision; gradients reach the layer's own weights.
struct Affine {
  torch::Tensor weight, bias;

  template <class Layer>
  static Affine of(const Layer& layer, torch::ScalarType dtype) {
    return {layer->weight.to(dtype), layer->bias.defined() ? layer->bias.to(dtype) : torch::Tensor{}};
  }
  torch::Tensor linear(const torch::Tensor& x) const { return at::linear(x, weight, bias); }
};

}  // namespace as2::nn
