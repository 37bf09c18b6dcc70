// A circuit evaluated by LibTorch's own operations, layer by layer: the definition that the kernels are
// tested against, and what they are compared with.
#pragma once

#include <torch/torch.h>

#include <map>
#include <mutex>
#include <vector>

#include "as2/probability.h"

namespace as2::prob_tensor {

class Composed {
 public:
  explicit Composed(const prob::Circuit& circuit);

  // [batch] from `weights` [batch, inputs].
  torch::Tensor log_value(const torch::Tensor& weights) const;

 private:
  // One layer: gather the children's rows, add or multiply what belongs to one node, keep what is needed
  // later.
  struct Step {
    bool sum = false;
    std::int64_t nodes = 0;
    torch::Tensor child;  // [edges]: row of each child
    torch::Tensor node;   // [edges]: node of the layer it belongs to
    torch::Tensor kept;   // rows that later layers need
  };
  const std::vector<Step>& steps_on(const torch::Device& device) const;

  bool zero_ = false;          // no answer set at all
  std::int64_t root_row_ = 0;  // after the last step
  std::vector<Step> steps_;    // on the CPU
  mutable std::mutex mutex_;
  mutable std::map<int, std::vector<Step>> moved_;  // by CUDA device
};

}  // namespace as2::prob_tensor
