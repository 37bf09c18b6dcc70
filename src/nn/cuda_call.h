// How tensors reach the CUDA kernels of this folder.
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "as2/error.h"
#ifdef AS2_HAS_CUDA
#include <ATen/cuda/CUDAContext.h>
#endif

namespace as2::nn {

template <class T>
T* elements(const torch::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

// Whether the kernels of this folder take the tensor: float32 on the CPU; float32 or bfloat16 on CUDA, in a
// build that has the CUDA kernels.
inline bool kernels_take(const torch::Tensor& x) {
#ifdef AS2_HAS_CUDA
  if (x.is_cuda()) return x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16;
#endif
  return x.is_cpu() && x.scalar_type() == torch::kFloat32;
}

// Calls `launch` with a value of the type that stands for the tensor's elements in the kernels (float, or
// std::uint16_t for the bits of a bfloat16) and the current stream.
template <class Launch>
void cuda_call(const torch::Tensor& x, Launch launch) {
#ifdef AS2_HAS_CUDA
  const c10::DeviceGuard guard(x.device());
  void* stream = at::cuda::getCurrentCUDAStream(x.device().index()).stream();
  if (x.scalar_type() == torch::kFloat32) {
    launch(float{}, stream);
  } else {
    launch(std::uint16_t{}, stream);
  }
#else
  static_cast<void>(x);
  static_cast<void>(launch);
  AS2_REQUIRE(false, "this build has no CUDA kernels");
#endif
}

}  // namespace as2::nn
