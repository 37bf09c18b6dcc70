// The kernels as a differentiable tensor function.
#pragma once

#include <torch/torch.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "as2/probability.h"
#include "prob_tensor/kernels/kernels.h"

namespace as2::prob_tensor {

// Owns the kernels' index arrays. Held by the autograd graph too, which may outlive the operator.
class FusedArrays : public torch::CustomClassHolder {
 public:
  explicit FusedArrays(const prob::Circuit& circuit);

  const kernels::CircuitArrays& on_cpu() const { return arrays_; }
  // The arrays on the tensor's CUDA device, copied there at first use.
  kernels::CircuitArrays on_cuda(const torch::Tensor& like) const;

 private:
  std::vector<std::int32_t> layer_begin_, child_begin_, children_, parent_begin_, parents_;
  std::vector<std::uint8_t> layer_sum_;
  kernels::CircuitArrays arrays_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::vector<torch::Tensor>> moved_;
};
using FusedArraysPtr = c10::intrusive_ptr<FusedArrays>;

// [batch] from `weights` [batch, inputs], float32 or float64.
torch::Tensor fused_log_value(const FusedArraysPtr& arrays, const torch::Tensor& weights);

// The same and its gradient [batch, inputs], without a graph.
std::pair<torch::Tensor, torch::Tensor> fused_evaluate(const FusedArraysPtr& arrays,
                                                       const torch::Tensor& weights);

// Whether the CUDA kernels take these weights; never in a build without CUDA.
bool cuda_takes(const torch::Tensor& weights);
// Fills `values` [batch] and, where defined, `gradient` [batch, inputs].
void cuda_evaluate(const kernels::CircuitArrays& arrays, const torch::Tensor& weights, torch::Tensor& values,
                   torch::Tensor& gradient);

}  // namespace as2::prob_tensor
