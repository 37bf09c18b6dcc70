// Both kernels are bound by memory, so both read and write everything once, 16 bytes per access.
//
// Layer norm: a row belongs to L neighbouring lanes of a warp (L a power of two, so that a shuffle sums
// them), each holding K pieces of it in registers. LibTorch's kernel spends one block on each row, which at
// 96 channels leaves most of the machine waiting: fifteen times the time its bytes need. The gradients of
// weight and bias are summed over the rows a block sees, in registers, and once over blocks by the caller.
//
// GELU: a thread holds a piece of `shared` and walks over the symbols, so that its gradient is a sum in a
// register.
#include <type_traits>

#include "nn/layers_cuda.h"
#include "nn/vectors_cuda.h"

namespace as2::nn::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kNormBlocks = 528;  // four for each multiprocessor of a large device
constexpr float kEpsilon = 1e-5f;

template <int L>
__device__ float sum_over(float value) {
#pragma unroll
  for (int step = L / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step, L);
  return value;
}

// The pieces of a row that this lane holds. There are N elements per piece, K pieces per lane and L lanes per
// row.
template <int N, int L, int K>
struct Row {
  Values<N> piece[K];

  static __device__ int channel(int k) { return (k * L + static_cast<int>(threadIdx.x) % L) * N; }
  template <class T>
  __device__ void read(const T* row, int channels) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      piece[k] = channel(k) < channels ? load<N>(row + channel(k)) : Values<N>{};
    }
  }
  template <class T>
  __device__ void write(T* row, int channels) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (channel(k) < channels) store<N>(row + channel(k), piece[k]);
    }
  }
  // Calls visit(piece, element of the piece, channel) for every element inside the row.
  template <class Visit>
  __device__ void each(int channels, Visit visit) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (channel(k) >= channels) continue;
#pragma unroll
      for (int n = 0; n < N; ++n) visit(k, n, channel(k) + n);
    }
  }
};

template <class T, int L, int K>
__global__ void add_norm_kernel(std::int64_t rows, int channels, const T* __restrict__ x,
                                const T* __restrict__ y, const float* __restrict__ weight,
                                const float* __restrict__ bias, T* __restrict__ sum, T* __restrict__ normed,
                                float* __restrict__ moments) {
  constexpr int N = kLanes<T>;
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / L;
  const bool inside = row < rows;  // all lanes take part in the shuffles
  const std::int64_t at = (inside ? row : 0) * channels;
  Row<N, L, K> r;
  r.read(x + at, channels);
  if (y) {
    Row<N, L, K> other;
    other.read(y + at, channels);
    r.each(channels, [&](int k, int n, int) {
      // The norm is taken of the rounded numbers that were stored, because the gradient starts from the same
      // ones.
      T rounded;
      narrow(rounded, r.piece[k][n] + other.piece[k][n]);
      r.piece[k][n] = widen(rounded);
    });
    if (inside) r.write(sum + at, channels);
  }
  float total = 0.f;
  r.each(channels, [&](int k, int n, int) { total += r.piece[k][n]; });
  const float mean = sum_over<L>(total) / channels;
  float squares = 0.f;
  r.each(channels, [&](int k, int n, int) {
    const float difference = r.piece[k][n] - mean;
    squares += difference * difference;
  });
  const float scale = rsqrtf(sum_over<L>(squares) / channels + kEpsilon);
  r.each(channels,
         [&](int k, int n, int c) { r.piece[k][n] = (r.piece[k][n] - mean) * scale * weight[c] + bias[c]; });
  if (!inside) return;
  r.write(normed + at, channels);
  if (threadIdx.x % L == 0) *reinterpret_cast<float2*>(moments + 2 * row) = make_float2(mean, scale);
}

// With x̂ the normed row before weight and bias, and h = weight·∂normed:
//   ∂sum = (h − mean(h) − x̂·mean(h·x̂)) / deviation + what arrives at the sum directly.
template <class T, int L, int K>
__global__ void add_norm_backward_kernel(std::int64_t rows, int channels, const T* __restrict__ sum,
                                         const float* __restrict__ moments, const float* __restrict__ weight,
                                         const T* __restrict__ to_sum, const T* __restrict__ to_normed,
                                         T* __restrict__ gradient, float* __restrict__ partial) {
  constexpr int N = kLanes<T>, kRows = kThreads / L;
  extern __shared__ float shared[];  // [rows at once, 2, channels]
  Row<N, L, K> to_weight{}, to_bias{}, w{};
  w.each(channels, [&](int k, int n, int c) { w.piece[k][n] = weight[c]; });
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kRows;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows;
  for (std::int64_t base = first; base < rows; base += stride) {
    const std::int64_t row = base + threadIdx.x / L;
    const bool inside = row < rows;
    const std::int64_t at = (inside ? row : 0) * channels;
    const float2 moment = *reinterpret_cast<const float2*>(moments + 2 * (inside ? row : 0));
    Row<N, L, K> r, g;
    r.read(sum + at, channels);
    g.read(to_normed + at, channels);
    float mean = 0.f, along = 0.f;
    r.each(channels, [&](int k, int n, int) {
      const float normed = (r.piece[k][n] - moment.x) * moment.y, upstream = g.piece[k][n];
      if (inside) {
        to_weight.piece[k][n] += upstream * normed;
        to_bias.piece[k][n] += upstream;
      }
      r.piece[k][n] = normed;
      g.piece[k][n] = upstream * w.piece[k][n];
      mean += g.piece[k][n];
      along += g.piece[k][n] * normed;
    });
    mean = sum_over<L>(mean) / channels;
    along = sum_over<L>(along) / channels;
    r.each(channels, [&](int k, int n, int) {
      g.piece[k][n] = (g.piece[k][n] - mean - r.piece[k][n] * along) * moment.y;
    });
    if (to_sum) {
      r.read(to_sum + at, channels);
      r.each(channels, [&](int k, int n, int) { g.piece[k][n] += r.piece[k][n]; });
    }
    if (inside) g.write(gradient + at, channels);
  }
  float* own = shared + (threadIdx.x / L) * 2 * channels;
  to_weight.each(channels, [&](int k, int n, int c) {
    own[c] = to_weight.piece[k][n];
    own[channels + c] = to_bias.piece[k][n];
  });
  __syncthreads();
  for (int c = threadIdx.x; c < 2 * channels; c += kThreads) {
    float total = 0.f;
    for (int r = 0; r < kRows; ++r) total += shared[r * 2 * channels + c];
    partial[static_cast<std::int64_t>(blockIdx.x) * 2 * channels + c] = total;
  }
}

// Calls `launch` with the lanes per row and the pieces per lane as types.
template <class T, class Launch>
void with_row(std::int64_t channels, Launch launch) {
  using std::integral_constant;
  const std::int64_t pieces = channels / kLanes<T>;
  if (pieces <= 8) return launch(integral_constant<int, 8>{}, integral_constant<int, 1>{});
  if (pieces <= 16) return launch(integral_constant<int, 16>{}, integral_constant<int, 1>{});
  if (pieces <= 32) return launch(integral_constant<int, 32>{}, integral_constant<int, 1>{});
  launch(integral_constant<int, 32>{}, integral_constant<int, 2>{});
}

constexpr float kHalfRoot = 0.70710678118654752f, kDensity = 0.39894228040143268f;

template <class T, int N>
__global__ void shared_gelu_kernel(std::int64_t batch, int symbols, std::int64_t positions, int channels,
                                   const T* __restrict__ z, const T* __restrict__ shared,
                                   const T* __restrict__ upstream, T* __restrict__ output,
                                   T* __restrict__ shared_gradient) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int parts = channels / N, channel = static_cast<int>(thread % parts) * N;
  const std::int64_t position = thread / parts % positions, element = thread / parts / positions;
  if (element >= batch) return;
  const std::int64_t at = (position * batch + element) * channels + channel;
  const Values<N> common = load<N>(shared + at);
  Values<N> total{};
  for (int s = 0; s < symbols; ++s) {
    const std::int64_t here = ((element * symbols + s) * positions + position) * channels + channel;
    Values<N> value = load<N>(z + here);
    if (upstream) {
      const Values<N> arriving = load<N>(upstream + here);
#pragma unroll
      for (int n = 0; n < N; ++n) {
        const float u = value[n] + common[n];
        const float below = 0.5f * (1.f + erff(u * kHalfRoot));
        value[n] = arriving[n] * (below + u * kDensity * __expf(-0.5f * u * u));
        total[n] += value[n];
      }
    } else {
#pragma unroll
      for (int n = 0; n < N; ++n) {
        const float u = value[n] + common[n];
        value[n] = 0.5f * u * (1.f + erff(u * kHalfRoot));
      }
    }
    store<N>(output + here, value);
  }
  if (upstream) store<N>(shared_gradient + at, total);
}

template <class T>
void launch_gelu(std::int64_t batch, std::int64_t symbols, std::int64_t positions, std::int64_t channels,
                 const T* z, const T* shared, const T* upstream, T* output, T* shared_gradient,
                 void* stream) {
  if (batch * symbols * positions * channels == 0) return;
  const auto launch = [&](auto lanes) {
    constexpr int N = decltype(lanes)::value;
    const auto blocks = static_cast<unsigned>((batch * positions * (channels / N) + kThreads - 1) / kThreads);
    shared_gelu_kernel<T, N><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        batch, static_cast<int>(symbols), positions, static_cast<int>(channels), z, shared, upstream, output,
        shared_gradient);
  };
  if (channels % kLanes<T> == 0) {
    launch(std::integral_constant<int, kLanes<T>>{});
  } else {
    launch(std::integral_constant<int, 1>{});
  }
  cuda_check(cudaGetLastError(), "GELU");
}

}  // namespace

std::int64_t norm_blocks() {
  return kNormBlocks;
}

template <class T>
bool norm_takes(std::int64_t channels) {
  return channels % kLanes<T> == 0 && channels <= 64 * kLanes<T>;
}

template <class T>
void add_norm(std::int64_t rows, std::int64_t channels, const T* x, const T* y, const float* weight,
              const float* bias, T* sum, T* normed, float* moments, void* stream) {
  if (rows == 0) return;
  with_row<T>(channels, [&](auto lanes, auto pieces) {
    constexpr int L = decltype(lanes)::value, kRows = kThreads / L;
    const auto blocks = static_cast<unsigned>((rows + kRows - 1) / kRows);
    add_norm_kernel<T, L, decltype(pieces)::value>
        <<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(rows, static_cast<int>(channels), x, y,
                                                                     weight, bias, sum, normed, moments);
  });
  cuda_check(cudaGetLastError(), "layer norm");
}

template <class T>
void add_norm_backward(std::int64_t rows, std::int64_t channels, const T* sum, const float* moments,
                       const float* weight, const T* to_sum, const T* to_normed, T* gradient, float* partial,
                       void* stream) {
  with_row<T>(channels, [&](auto lanes, auto pieces) {
    constexpr int L = decltype(lanes)::value;
    const std::size_t bytes = sizeof(float) * 2 * channels * (kThreads / L);
    add_norm_backward_kernel<T, L, decltype(pieces)::value>
        <<<kNormBlocks, kThreads, bytes, static_cast<cudaStream_t>(stream)>>>(
            rows, static_cast<int>(channels), sum, moments, weight, to_sum, to_normed, gradient, partial);
  });
  cuda_check(cudaGetLastError(), "layer norm");
}

template <class T>
void shared_gelu(std::int64_t batch, std::int64_t symbols, std::int64_t positions, std::int64_t channels,
                 const T* z, const T* shared, T* output, void* stream) {
  launch_gelu<T>(batch, symbols, positions, channels, z, shared, nullptr, output, nullptr, stream);
}

template <class T>
void shared_gelu_backward(std::int64_t batch, std::int64_t symbols, std::int64_t positions,
                          std::int64_t channels, const T* z, const T* shared, const T* upstream, T* gradient,
                          T* shared_gradient, void* stream) {
  launch_gelu<T>(batch, symbols, positions, channels, z, shared, upstream, gradient, shared_gradient, stream);
}

#define AS2_INSTANTIATE(T)                                                                                  \
  template bool norm_takes<T>(std::int64_t);                                                                \
  template void add_norm<T>(std::int64_t, std::int64_t, const T*, const T*, const float*, const float*, T*, \
                            T*, float*, void*);                                                             \
  template void add_norm_backward<T>(std::int64_t, std::int64_t, const T*, const float*, const float*,      \
                                     const T*, const T*, T*, float*, void*);                                \
  template void shared_gelu<T>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const T*, const T*,  \
                               T*, void*);                                                                  \
  template void shared_gelu_backward<T>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const T*,   \
                                        const T*, const T*, T*, T*, void*);
AS2_INSTANTIATE(float)
AS2_INSTANTIATE(std::uint16_t)

}  // namespace as2::nn::cuda
