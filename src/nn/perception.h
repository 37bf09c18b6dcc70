// Perception: one 28×28 image in, an embedding and the concept bottleneck's logits out (the paper's
// three-block CNN).
#pragma once

#include <torch/torch.h>

#include <vector>

#include "infer/network_options.h"

namespace as2::nn {

using infer::PerceptionOptions;

struct PerceptionOutput {
  torch::Tensor embedding;  // [images, d_model]
  torch::Tensor logits;     // [images, symbols] float32, before the temperature
};

class PerceptionImpl : public torch::nn::Module {
 public:
  explicit PerceptionImpl(const PerceptionOptions& options);

  // `images` [images, 28, 28] or [images, 1, 28, 28], ink 1 on paper 0. Computes in the precision the
  // surrounding autocast asks for.
  PerceptionOutput forward(const torch::Tensor& images);

  // Calibrated beliefs [.., symbols] from logits: softmax(logits / temperature).
  torch::Tensor beliefs(const torch::Tensor& logits) const;

  // Fits the temperature to held-out logits [n, symbols] and labels [n] by maximum likelihood.
  void calibrate(const torch::Tensor& logits, const torch::Tensor& labels);

  const PerceptionOptions& options() const { return options_; }

 private:
  PerceptionOptions options_;
  std::vector<torch::nn::Conv2d> convolutions_;
  std::vector<torch::nn::GroupNorm> norms_;
  torch::nn::Linear embed_{nullptr};
  torch::nn::Linear head_{nullptr};
  torch::Tensor temperature_;  // [] buffer
};
TORCH_MODULE(Perception);

}  // namespace as2::nn
