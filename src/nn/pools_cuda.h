// pool() and spread() on CUDA. Host launchers only; the kernels stand in pools_cuda.cu.
#pragma once

#include <cstdint>

namespace as2::nn {

// Pools as the kernels read them; the arrays lie where the tensors of the call lie.
struct PoolLists {
  std::int64_t atoms = 0, pools = 0;
  int width = 0, degree = 0;
  const std::int32_t* members = nullptr;  // [pools, width], −1: none
  const float* member_share = nullptr;    // [pools, width]
  const float* inverse_size = nullptr;    // [pools]
  const std::int32_t* holders = nullptr;  // [atoms, degree], −1: none
  const float* holder_share = nullptr;    // [atoms, degree]
};

namespace cuda {

// T is float, or std::uint16_t for the bits of a bfloat16. `x` and `gradient` [batch, atoms, channels];
// `pooled` and `upstream` [pools, batch, 2·channels]; `ties` [pools, batch, channels]: how many members
// attain the maximum (null: not wanted). `stream` is a cudaStream_t.
template <class T>
void pool(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* x, T* pooled,
          std::uint16_t* ties, void* stream);
template <class T>
void pool_backward(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* x,
                   const T* pooled, const std::uint16_t* ties, const T* upstream, T* gradient, void* stream);

// `x`, `output` and `upstream` [batch, atoms, channels]; `messages` and their `gradient` [pools, batch,
// channels].
template <class T>
void spread(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* x, const T* messages,
            T* output, void* stream);
template <class T>
void spread_backward(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* upstream,
                     T* gradient, void* stream);

}  // namespace cuda
}  // namespace as2::nn
