// A thread takes 16 bytes of channels of one pool (or one atom) and walks its list: reads lie along the
// channels, members come from the cache after the first pool that holds them, nothing is gathered into
// memory, and every sum runs in the order of the lists. Composed of LibTorch's operations the same steps took
// a third of a training pass.
#include "nn/pools_cuda.h"

#include <type_traits>

#include "nn/vectors_cuda.h"

namespace as2::nn::cuda {
namespace {

constexpr int kThreads = 256;

// What this thread works on: the `row`-th of the rows of one batch element, and its first channel.
struct Place {
  std::int64_t element, row;
  int channel;
};

template <int N>
__device__ bool locate(std::int64_t batch, std::int64_t rows, int channels, Place& place) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int parts = channels / N;
  const std::int64_t item = thread / parts;
  place = {item / rows, item % rows, static_cast<int>(thread % parts) * N};
  return place.element < batch;
}

template <class T, int N>
__global__ void pool_kernel(PoolLists lists, std::int64_t batch, int channels, const T* __restrict__ x,
                            T* __restrict__ pooled, std::uint16_t* __restrict__ ties) {
  Place p;
  if (!locate<N>(batch, lists.pools, channels, p)) return;
  const std::int32_t* members = lists.members + p.row * lists.width;
  const T* from = x + p.element * lists.atoms * channels + p.channel;
  Values<N> sum{}, largest{}, count{};
  for (int j = 0; j < lists.width && members[j] >= 0; ++j) {
    const Values<N> value = load<N>(from + static_cast<std::int64_t>(members[j]) * channels);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      sum[n] += value[n];
      if (j == 0 || value[n] > largest[n]) {
        largest[n] = value[n];
        count[n] = 1;
      } else if (value[n] == largest[n]) {
        count[n] += 1;
      }
    }
  }
  const float share = lists.inverse_size[p.row];
#pragma unroll
  for (int n = 0; n < N; ++n) sum[n] *= share;
  const std::int64_t item = p.row * batch + p.element;
  store<N>(pooled + item * 2 * channels + p.channel, sum);
  store<N>(pooled + item * 2 * channels + channels + p.channel, largest);
  if (!ties) return;
  Packed<std::uint16_t, N> counts;
#pragma unroll
  for (int n = 0; n < N; ++n) counts.at[n] = static_cast<std::uint16_t>(count[n]);
  *reinterpret_cast<Packed<std::uint16_t, N>*>(ties + item * channels + p.channel) = counts;
}

template <class T, int N>
__global__ void pool_backward_kernel(PoolLists lists, std::int64_t batch, int channels,
                                     const T* __restrict__ x, const T* __restrict__ pooled,
                                     const std::uint16_t* __restrict__ ties, const T* __restrict__ upstream,
                                     T* __restrict__ gradient) {
  Place p;
  if (!locate<N>(batch, lists.atoms, channels, p)) return;
  const std::int32_t* holders = lists.holders + p.row * lists.degree;
  const std::int64_t at = (p.element * lists.atoms + p.row) * channels + p.channel;
  const Values<N> value = load<N>(x + at);
  Values<N> sum{};
  for (int k = 0; k < lists.degree && holders[k] >= 0; ++k) {
    const float share = lists.inverse_size[holders[k]];
    const std::int64_t item = holders[k] * batch + p.element;
    const std::int64_t mean = item * 2 * channels + p.channel, maximum = mean + channels;
    const Values<N> to_mean = load<N>(upstream + mean), to_maximum = load<N>(upstream + maximum);
    const Values<N> largest = load<N>(pooled + maximum);
    const auto count = *reinterpret_cast<const Packed<std::uint16_t, N>*>(ties + item * channels + p.channel);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      sum[n] += share * to_mean[n];
      if (value[n] == largest[n]) sum[n] += to_maximum[n] / count.at[n];
    }
  }
  store<N>(gradient + at, sum);
}

template <class T, int N>
__global__ void spread_kernel(PoolLists lists, std::int64_t batch, int channels, const T* __restrict__ x,
                              const T* __restrict__ messages, T* __restrict__ output) {
  Place p;
  if (!locate<N>(batch, lists.atoms, channels, p)) return;
  const std::int32_t* holders = lists.holders + p.row * lists.degree;
  const float* shares = lists.holder_share + p.row * lists.degree;
  const std::int64_t at = (p.element * lists.atoms + p.row) * channels + p.channel;
  Values<N> sum = load<N>(x + at);
  for (int k = 0; k < lists.degree && holders[k] >= 0; ++k) {
    const Values<N> message = load<N>(messages + (holders[k] * batch + p.element) * channels + p.channel);
#pragma unroll
    for (int n = 0; n < N; ++n) sum[n] += shares[k] * message[n];
  }
  store<N>(output + at, sum);
}

template <class T, int N>
__global__ void spread_backward_kernel(PoolLists lists, std::int64_t batch, int channels,
                                       const T* __restrict__ upstream, T* __restrict__ gradient) {
  Place p;
  if (!locate<N>(batch, lists.pools, channels, p)) return;
  const std::int32_t* members = lists.members + p.row * lists.width;
  const float* shares = lists.member_share + p.row * lists.width;
  const T* from = upstream + p.element * lists.atoms * channels + p.channel;
  Values<N> sum{};
  for (int j = 0; j < lists.width && members[j] >= 0; ++j) {
    const Values<N> value = load<N>(from + static_cast<std::int64_t>(members[j]) * channels);
#pragma unroll
    for (int n = 0; n < N; ++n) sum[n] += shares[j] * value[n];
  }
  store<N>(gradient + (p.row * batch + p.element) * channels + p.channel, sum);
}

// Calls `launch` with the width of an access as a type and the number of blocks for `items` rows.
template <class T, class Launch>
void over(std::int64_t items, std::int64_t channels, Launch launch) {
  if (items * channels == 0) return;
  const auto blocks = [&](int lanes) {
    return static_cast<unsigned>((items * (channels / lanes) + kThreads - 1) / kThreads);
  };
  if (channels % kLanes<T> == 0) {
    launch(std::integral_constant<int, kLanes<T>>{}, blocks(kLanes<T>));
  } else {
    launch(std::integral_constant<int, 1>{}, blocks(1));
  }
  cuda_check(cudaGetLastError(), "pooling");
}

}  // namespace

template <class T>
void pool(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* x, T* pooled,
          std::uint16_t* ties, void* stream) {
  over<T>(batch * lists.pools, channels, [&](auto lanes, unsigned blocks) {
    pool_kernel<T, decltype(lanes)::value><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        lists, batch, static_cast<int>(channels), x, pooled, ties);
  });
}

template <class T>
void pool_backward(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* x,
                   const T* pooled, const std::uint16_t* ties, const T* upstream, T* gradient, void* stream) {
  over<T>(batch * lists.atoms, channels, [&](auto lanes, unsigned blocks) {
    pool_backward_kernel<T, decltype(lanes)::value>
        <<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(lists, batch, static_cast<int>(channels),
                                                                     x, pooled, ties, upstream, gradient);
  });
}

template <class T>
void spread(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* x, const T* messages,
            T* output, void* stream) {
  over<T>(batch * lists.atoms, channels, [&](auto lanes, unsigned blocks) {
    spread_kernel<T, decltype(lanes)::value><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        lists, batch, static_cast<int>(channels), x, messages, output);
  });
}

template <class T>
void spread_backward(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const T* upstream,
                     T* gradient, void* stream) {
  over<T>(batch * lists.pools, channels, [&](auto lanes, unsigned blocks) {
    spread_backward_kernel<T, decltype(lanes)::value>
        <<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(lists, batch, static_cast<int>(channels),
                                                                     upstream, gradient);
  });
}

#define AS2_INSTANTIATE(T)                                                                                  \
  template void pool<T>(const PoolLists&, std::int64_t, std::int64_t, const T*, T*, std::uint16_t*, void*); \
  template void pool_backward<T>(const PoolLists&, std::int64_t, std::int64_t, const T*, const T*,          \
                                 const std::uint16_t*, const T*, T*, void*);                                \
  template void spread<T>(const PoolLists&, std::int64_t, std::int64_t, const T*, const T*, T*, void*);     \
  template void spread_backward<T>(const PoolLists&, std::int64_t, std::int64_t, const T*, T*, void*);
AS2_INSTANTIATE(float)
AS2_INSTANTIATE(std::uint16_t)

}  // namespace as2::nn::cuda
