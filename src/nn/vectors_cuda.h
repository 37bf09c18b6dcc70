// Sixteen bytes at a time, computed in float32: what the CUDA kernels of this folder share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda_check.h"

namespace as2::nn::cuda {

// Elements of T in 16 bytes.
template <class T>
constexpr int kLanes = 16 / sizeof(T);

__device__ inline float widen(float value) {
  return value;
}
__device__ inline float widen(std::uint16_t bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
__device__ inline void narrow(float& to, float value) {
  to = value;
}
__device__ inline void narrow(std::uint16_t& to, float value) {
  to = __bfloat16_as_ushort(__float2bfloat16(value));
}

// N elements side by side, moved in one access: N is kLanes where the rows are aligned for it, otherwise 1.
template <class T, int N>
struct alignas(N * sizeof(T)) Packed {
  T at[N];
};

template <int N>
struct Values {
  float at[N];
  __device__ float& operator[](int n) { return at[n]; }
  __device__ float operator[](int n) const { return at[n]; }
};

template <int N, class T>
__device__ Values<N> load(const T* from) {
  const auto packed = *reinterpret_cast<const Packed<T, N>*>(from);
  Values<N> values;
#pragma unroll
  for (int n = 0; n < N; ++n) values[n] = widen(packed.at[n]);
  return values;
}

template <int N, class T>
__device__ void store(T* to, const Values<N>& values) {
  Packed<T, N> packed;
#pragma unroll
  for (int n = 0; n < N; ++n) narrow(packed.at[n], values[n]);
  *reinterpret_cast<Packed<T, N>*>(to) = packed;
}

}  // namespace as2::nn::cuda
