// A warp-wide run of channels a (row, group) forward and a (row, position) backward: every read is along
// channels, the members of a group come from the cache after the first, and nothing is gathered into memory.
// Composed of LibTorch's operations the same step took a third of a training pass.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "nn/group_max_cuda.h"

namespace as2::nn::cuda {
namespace {

__device__ float read(float value) {
  return value;
}
__device__ float read(std::uint16_t bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
__device__ void write(float* to, float value) {
  *to = value;
}
__device__ void write(std::uint16_t* to, float value) {
  *to = __bfloat16_as_ushort(__float2bfloat16(value));
}

template <class T>
__global__ void forward(Groups g, std::int64_t rows, int channels, const T* __restrict__ x,
                        T* __restrict__ maximum, std::uint16_t* __restrict__ ties) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (item >= rows * g.groups) return;
  const std::int64_t row = item / g.groups, group = item % g.groups;
  const std::int64_t* members = g.members + group * g.width;
  const bool* mask = g.members_mask + group * g.width;
  for (int c = threadIdx.x; c < channels; c += blockDim.x) {
    const T* from = x + row * g.positions * channels + c;
    float largest = 0.f;
    int count = 0;
    for (int j = 0; j < g.width; ++j) {
      if (!mask[j]) continue;
      const float value = read(from[members[j] * channels]);
      if (count == 0 || value > largest) {
        largest = value;
        count = 1;
      } else if (value == largest) {
        ++count;
      }
    }
    write(maximum + item * channels + c, largest);
    ties[item * channels + c] = static_cast<std::uint16_t>(count);
  }
}

template <class T>
__global__ void backward(Groups g, std::int64_t rows, int channels, const T* __restrict__ x,
                         const T* __restrict__ maximum, const std::uint16_t* __restrict__ ties,
                         const T* __restrict__ upstream, T* __restrict__ gradient) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (item >= rows * g.positions) return;
  const std::int64_t row = item / g.positions, position = item % g.positions;
  const std::int64_t* groups = g.position_groups + position * g.degree;
  const bool* mask = g.position_groups_mask + position * g.degree;
  for (int c = threadIdx.x; c < channels; c += blockDim.x) {
    const float value = read(x[item * channels + c]);
    float sum = 0.f;
    for (int k = 0; k < g.degree; ++k) {
      if (!mask[k]) continue;
      const std::int64_t at = (row * g.groups + groups[k]) * channels + c;
      if (read(maximum[at]) == value) sum += read(upstream[at]) / ties[at];
    }
    write(gradient + item * channels + c, sum);
  }
}

// Items a block: enough threads to fill a multiprocessor at narrow widths.
constexpr int kItems = 4;

dim3 block(std::int64_t channels) {
  const auto lanes = static_cast<unsigned>((channels + 31) / 32 * 32);
  return {lanes < 256 ? lanes : 256, kItems};
}

unsigned blocks(std::int64_t items) {
  return static_cast<unsigned>((items + kItems - 1) / kItems);
}

void check(cudaError_t error) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("maximum along groups on CUDA: ") + cudaGetErrorString(error));
  }
}

}  // namespace

template <class T>
void group_max(const Groups& groups, std::int64_t rows, std::int64_t channels, const T* x, T* maximum,
               std::uint16_t* ties, void* stream) {
  if (rows * groups.groups == 0) return;
  forward<T><<<blocks(rows * groups.groups), block(channels), 0, static_cast<cudaStream_t>(stream)>>>(
      groups, rows, static_cast<int>(channels), x, maximum, ties);
  check(cudaGetLastError());
}

template <class T>
void group_max_backward(const Groups& groups, std::int64_t rows, std::int64_t channels, const T* x,
                        const T* maximum, const std::uint16_t* ties, const T* upstream, T* gradient,
                        void* stream) {
  if (rows * groups.positions == 0) return;
  backward<T><<<blocks(rows * groups.positions), block(channels), 0, static_cast<cudaStream_t>(stream)>>>(
      groups, rows, static_cast<int>(channels), x, maximum, ties, upstream, gradient);
  check(cudaGetLastError());
}

#define AS2_INSTANTIATE(T)                                                                            \
  template void group_max<T>(const Groups&, std::int64_t, std::int64_t, const T*, T*, std::uint16_t*, \
                             void*);                                                                  \
  template void group_max_backward<T>(const Groups&, std::int64_t, std::int64_t, const T*, const T*,  \
                                      const std::uint16_t*, const T*, T*, void*);
AS2_INSTANTIATE(float)
AS2_INSTANTIATE(std::uint16_t)

}  // namespace as2::nn::cuda
