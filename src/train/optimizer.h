// AdamW, gradient clipping and an average of the weights (EMA) over flat buffers.
//
// All parameters of a group become views of one tensor, and so do their gradients: a step takes a dozen
// element-wise operations per group instead of a dozen per parameter, and everything the step reads (learning
// rate, step count) lives on the device. So nothing waits for the host, and the step can be captured in a
// CUDA graph; LibTorch's own AdamW keeps its step count on the host and cannot.
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

namespace as2::train {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

struct OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // not on biases, norms and other parameters of one dimension
  double clip_norm = 1.0;      // of the gradient of all active groups together; 0: no clipping
  double ema_decay =
      0.999;  // the average of the weights; early on (1 + step) / (10 + step) where that is less
};

// Parameters that are trained, frozen and counted together.
struct ParameterGroup {
  std::string name;
  NamedTensors parameters;
  double rate = 1;  // learning rate of the group, relative
};

class Optimizer {
 public:
  // Takes over the storage of the parameters: they must already lie on their device.
  Optimizer(std::vector<ParameterGroup> groups, const OptimizerOptions& options);

  // A frozen group neither moves nor counts, and its parameters ask for no gradient.
  void freeze(const std::string& group, bool frozen);

  void set_learning_rate(double rate) { rate_.fill_(rate); }
  void zero_grad();
  // One update from the gradients; reads device tensors only.
  void step();

  // The parameters of the groups that are not frozen: what data-parallel training averages gradients of.
  std::vector<torch::Tensor> active_parameters() const;
  // The norm before clipping, of the last step. Scalar on the device.
  torch::Tensor gradient_norm() const { return norm_; }

  // Exchanges weights and their average; calling it twice restores both.
  void swap_average();

  // Everything a step depends on besides the weights: moments, step counts, averages. The tensors share
  // storage.
  NamedTensors state() const;

 private:
  struct Group {
    std::string name;
    std::vector<torch::Tensor> parameters;
    double rate = 1;
    bool frozen = false;
    std::int64_t decayed = 0;  // the first `decayed` elements have weight decay
    torch::Tensor weights, gradient, first, second, average, steps;
  };
  void update(Group& group, const torch::Tensor& scale);

  std::vector<Group> groups_;
  OptimizerOptions options_;
  torch::Tensor rate_, norm_;
};

}  // namespace as2::train
