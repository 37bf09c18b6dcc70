// A block takes a few batch elements into shared memory, a thread a slot at a time.
//
// With q_j = 1 − p_j over a slot's members, the factor of member i is L_i = ∏_{j≠i} q_j, by prefix and suffix
// products in registers: no division, so zeros are exact. For the gradient, with g_i the derivative with
// respect to L_i,
//   ∂/∂q_j Σ_i g_i L_i = D_{<j} · S_{>j} + S_{<j} · D_{>j}
// where S is the product of a side and D = Σ_i g_i ∏_{m≠i} q_m over that side, both by recurrence: linear in
// the slot's width. What slots say about a cell is laid down per (family, cell) in shared memory and added
// in the order of the families: the result does not depend on how threads are scheduled.
//
// Bytes: beliefs are read once and outputs written once, four elements side by side so that every access is
// 16 bytes wide. A block stays on its multiprocessor, keeps its slots in registers and fetches the beliefs of
// its next elements while it computes. Rejected: a thread a (family, cell), which computes each product
// `width` times; atomics; a block a few elements, which spends its time starting.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "tp/kernels/exclusive_cuda.h"

namespace as2::tp::kernels::cuda {
namespace {

constexpr int kThreads = 384;
constexpr int kBlocks = 2;        // that share a multiprocessor
constexpr int kMostElements = 4;  // batch elements a block takes at a time

enum class Mode { kLoss, kFactors, kBackward };

struct Arguments {
  RegularSlots slots;
  std::int64_t batch;
  int elements;  // batch elements a block
  const float* beliefs;
  const float* upstream;
  float* losses;
  float* output;
};

// Into shared memory, without waiting: the caller commits and waits. 16 bytes an access where `wide`.
__device__ void fetch(float* to, const float* from, int count, bool wide) {
  const int done = wide ? count & ~3 : 0;
  for (int i = 4 * threadIdx.x; i < done; i += 4 * blockDim.x) {
    __pipeline_memcpy_async(to + i, from + i, 4 * sizeof(float));
  }
  for (int i = done + threadIdx.x; i < count; i += blockDim.x) {
    __pipeline_memcpy_async(to + i, from + i, sizeof(float));
  }
}

__device__ void put(float* to, const float* from, int count, bool wide) {
  const int done = wide ? count & ~3 : 0;
  for (int i = 4 * threadIdx.x; i < done; i += 4 * blockDim.x) {
    *reinterpret_cast<float4*>(to + i) = *reinterpret_cast<const float4*>(from + i);
  }
  for (int i = done + threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

// One slot in registers. Full: it has exactly W members, so no test for padding is needed.
template <int W, bool Full>
struct Slot {
  int cell[W];
  float q[W];
  float side[W];  // the product over the members before j, later over those after j

  __device__ void load(const RegularSlots& slots, int slot) {
#pragma unroll
    for (int j = 0; j < W; ++j) {
      cell[j] = Full || j < slots.width ? slots.members[j * slots.slots + slot] : -1;
    }
  }
  __device__ bool has(int j) const {
    return Full || cell[j] >= 0;
  }
  __device__ void products_before(const float* beliefs) {
#pragma unroll
    for (int j = 0; j < W; ++j) q[j] = has(j) ? 1.f - beliefs[cell[j]] : 1.f;
    side[0] = 1.f;
#pragma unroll
    for (int j = 1; j < W; ++j) side[j] = side[j - 1] * q[j - 1];
  }
  __device__ void factors(float* out) const {
    float after = 1.f;
#pragma unroll
    for (int j = W - 1; j >= 0; --j) {
      if (has(j)) out[cell[j]] = side[j] * after;
      after *= q[j];
    }
  }
  // Writes the derivatives with respect to p of Σ_i g_i L_i, plus value_j, where `term(j, L_j, g, value)`
  // says what g_j and value_j are. Back to front meets the factors, front to back completes the sums.
  template <class Term>
  __device__ void pull_back(float* out, Term term) {
    float g[W], value[W], product = 1.f, derivative = 0.f;
#pragma unroll
    for (int j = W - 1; j >= 0; --j) {
      term(j, side[j] * product, g[j], value[j]);
      value[j] -= derivative * side[j];
      derivative = derivative * q[j] + g[j] * product;
      side[j] = product;
      product *= q[j];
    }
    product = 1.f;
    derivative = 0.f;
#pragma unroll
    for (int j = 0; j < W; ++j) {
      if (has(j)) out[cell[j]] = value[j] - derivative * side[j];
      derivative = derivative * q[j] + g[j] * product;
      product *= q[j];
    }
  }
};

template <int W, bool Full, Mode M>
__global__ void __launch_bounds__(kThreads, W <= 9 ? kBlocks : 1) slots_kernel(Arguments a) {
  extern __shared__ __align__(16) float shared[];
  const int cells = a.slots.cells, outputs = a.slots.families * cells;
  const bool wide = a.elements * cells % 4 == 0;
  float* const staged = shared + 2 * a.elements * cells;  // [element, family, cell]
  const std::int64_t parts = (a.batch + a.elements - 1) / a.elements;
  const auto size = [&](std::int64_t part) {
    return static_cast<int>(min(static_cast<std::int64_t>(a.elements), a.batch - part * a.elements));
  };
  const auto fetch_beliefs = [&](std::int64_t part, int buffer) {
    if (part < parts) {
      fetch(shared + buffer * a.elements * cells, a.beliefs + part * a.elements * cells, size(part) * cells,
            wide);
    }
    __pipeline_commit();
  };
  const bool one_each = a.slots.slots <= blockDim.x;  // then a thread keeps its slot
  Slot<W, Full> slot;
  if (threadIdx.x < a.slots.slots) slot.load(a.slots, threadIdx.x);

  int buffer = 0;
  fetch_beliefs(blockIdx.x, buffer);
  for (std::int64_t part = blockIdx.x; part < parts; part += gridDim.x, buffer ^= 1) {
    const std::int64_t first = part * a.elements;
    const int here = size(part);
    const float* beliefs = shared + buffer * a.elements * cells;
    if (M == Mode::kBackward) {
      fetch(staged, a.upstream + first * outputs, here * outputs, wide);
      __pipeline_commit();
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    fetch_beliefs(part + gridDim.x, buffer ^ 1);  // arrives while this part is computed

    float total[kMostElements] = {};
    for (int s = threadIdx.x; s < a.slots.slots; s += blockDim.x) {
      if (!one_each) slot.load(a.slots, s);
      const int family = a.slots.slot_family[s] * cells;
#pragma unroll
      for (int e = 0; e < kMostElements; ++e) {
        if (e >= here) break;
        slot.products_before(beliefs + e * cells);
        float* out = staged + e * outputs + family;
        if constexpr (M == Mode::kFactors) {
          slot.factors(out);
        } else if constexpr (M == Mode::kBackward) {
          slot.pull_back(out, [&](int j, float, float& g, float& value) {
            g = slot.has(j) ? out[slot.cell[j]] : 0.f;
            value = 0.f;
          });
        } else {
          slot.pull_back(out, [&](int j, float factor, float& g, float& value) {  // halves of both
            const float p = 1.f - slot.q[j], missing = 1.f - factor, residual = p * missing;
            total[e] += residual * residual;
            g = -p * residual;
            value = missing * residual;
          });
        }
      }
    }
    if constexpr (M == Mode::kLoss) {
#pragma unroll
      for (int e = 0; e < kMostElements; ++e) {
        for (int step = 16; step > 0; step /= 2) total[e] += __shfl_down_sync(0xffffffffu, total[e], step);
      }
    }
    __shared__ float warps[kMostElements][kThreads / 32];
    if (M == Mode::kLoss && threadIdx.x % 32 == 0) {
#pragma unroll
      for (int e = 0; e < kMostElements; ++e) warps[e][threadIdx.x / 32] = total[e];
    }
    __syncthreads();

    if constexpr (M == Mode::kFactors) {
      put(a.output + first * outputs, staged, here * outputs, wide);
    } else {
      constexpr float kScale = M == Mode::kLoss ? 2.f : 1.f;
      for (int e = 0; e < here; ++e) {
        const float* terms = staged + e * outputs;
        float* gradient = a.output + (first + e) * cells;
        for (int c = threadIdx.x; c < cells; c += blockDim.x) {
          float sum = 0.f;
          for (int f = 0; f < a.slots.families; ++f) sum += terms[f * cells + c];
          gradient[c] = kScale * sum;
        }
      }
    }
    if (M == Mode::kLoss && threadIdx.x < here) {
      float sum = 0.f;
      for (int w = 0; w < kThreads / 32; ++w) sum += warps[threadIdx.x][w];
      a.losses[first + threadIdx.x] = sum;
    }
    __syncthreads();  // before the next part overwrites what was staged
  }
}

constexpr std::size_t kPlainShared = 48 << 10, kShareOfShared = 72 << 10, kMostShared = 200 << 10;

std::size_t bytes_per_element(const RegularSlots& slots) {
  return sizeof(float) * static_cast<std::size_t>(slots.cells) * (2 + slots.families);
}

void check(cudaError_t error) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("soft T_P on CUDA: ") + cudaGetErrorString(error));
  }
}

template <int W, bool Full, Mode M>
void launch_width(Arguments a, void* stream) {
  const std::size_t each = bytes_per_element(a.slots);
  a.elements = kMostElements;
  while (a.elements > 1 && a.elements * each > kShareOfShared) a.elements /= 2;
  const std::size_t bytes = a.elements * each;
  if (bytes > kPlainShared) {
    check(cudaFuncSetAttribute(slots_kernel<W, Full, M>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)));
  }
  int device = 0, multiprocessors = 1;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const std::int64_t parts = (a.batch + a.elements - 1) / a.elements;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(parts, multiprocessors * kBlocks));
  slots_kernel<W, Full, M><<<blocks, kThreads, bytes, static_cast<cudaStream_t>(stream)>>>(a);
  check(cudaGetLastError());
}

template <Mode M>
void launch(const Arguments& a, void* stream) {
  if (a.batch == 0) return;
  const int width = a.slots.width;
  if (width == 9 && a.slots.full) return launch_width<9, true, M>(a, stream);
  if (width <= 4) return launch_width<4, false, M>(a, stream);
  if (width <= 9) return launch_width<9, false, M>(a, stream);
  if (width <= 16) return launch_width<16, false, M>(a, stream);
  launch_width<32, false, M>(a, stream);
}

}  // namespace

bool fits(const RegularSlots& slots) {
  return slots.width <= 32 && bytes_per_element(slots) <= kMostShared;
}

void loss(const RegularSlots& slots, std::int64_t batch, const float* beliefs, float* losses, float* gradient,
          void* stream) {
  launch<Mode::kLoss>({slots, batch, 0, beliefs, nullptr, losses, gradient}, stream);
}

void factors(const RegularSlots& slots, std::int64_t batch, const float* beliefs, float* factors,
             void* stream) {
  launch<Mode::kFactors>({slots, batch, 0, beliefs, nullptr, nullptr, factors}, stream);
}

void factors_backward(const RegularSlots& slots, std::int64_t batch, const float* beliefs,
                      const float* upstream, float* gradient, void* stream) {
  launch<Mode::kBackward>({slots, batch, 0, beliefs, upstream, nullptr, gradient}, stream);
}

}  // namespace as2::tp::kernels::cuda
