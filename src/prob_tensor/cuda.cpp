#include <ATen/cuda/CUDAContext.h>
#include <c10/core/DeviceGuard.h>

#include "prob_tensor/fused.h"
#include "prob_tensor/kernels/circuit_cuda.h"

namespace as2::prob_tensor {

bool cuda_takes(const torch::Tensor& weights) {
  return weights.is_cuda() &&
         (weights.scalar_type() == torch::kFloat32 || weights.scalar_type() == torch::kFloat64);
}

void cuda_evaluate(const kernels::CircuitArrays& arrays, const torch::Tensor& weights, torch::Tensor& values,
                   torch::Tensor& gradient) {
  const c10::DeviceGuard guard(weights.device());
  const std::int64_t batch = weights.size(0);
  const std::int64_t items = std::int64_t{arrays.inputs} + arrays.nodes;
  const torch::Tensor logs = torch::empty({items, batch}, weights.options());
  const torch::Tensor shares = gradient.defined() ? torch::empty_like(logs) : torch::Tensor();
  const torch::Tensor lost =
      gradient.defined() ? torch::empty({arrays.nodes, batch}, weights.options()) : torch::Tensor();
  void* stream = at::cuda::getCurrentCUDAStream(weights.device().index()).stream();
  AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "circuit on CUDA", [&] {
    kernels::cuda::evaluate<scalar_t>(arrays, batch, weights.data_ptr<scalar_t>(), logs.data_ptr<scalar_t>(),
                                      shares.defined() ? shares.data_ptr<scalar_t>() : nullptr,
                                      lost.defined() ? lost.data_ptr<scalar_t>() : nullptr,
                                      values.data_ptr<scalar_t>(),
                                      gradient.defined() ? gradient.data_ptr<scalar_t>() : nullptr, stream);
  });
}

}  // namespace as2::prob_tensor
