// A block takes a few batch elements into shared memory and handles them one after another, with one thread
// per slot.
//
// With q_j = 1 − p_j over a slot's members and P their product, the factor of member i is L_i = ∏_{j≠i} q_j =
// P / q_i. For the gradient, with g_i the derivative with respect to L_i,
//   ∂/∂p_k Σ_i g_i L_i = −L_k · Σ_{i≠k} g_i / q_i,
// where the sum is made of running sums from both sides: subtracting the member's own part from the whole sum
// would cancel catastrophically where q_k is small. What the slots contribute to a cell is stored per
// (family, cell) in shared memory and added in the order of the families, so the result does not depend on
// how threads are scheduled.
//
// Rejected: products from both sides for the gradient too, which need no division but half as many operations
// again; several elements side by side, whose registers leave room for only half the threads; persistent
// blocks that fetch their next elements themselves, whose second buffer leaves no room for the fourth block
// on a multiprocessor; one wait per element; atomics; members ordered for distinct banks (2 % faster).
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "cuda_check.h"
#include "tp/kernels/exclusive_cuda.h"

namespace as2::tp::kernels::cuda {
namespace {

constexpr int kThreads = 256;     // at most, per block
constexpr int kMostElements = 4;  // at most, batch elements per block
constexpr int kBlocks = 4;        // blocks that share a multiprocessor

enum class Mode { kLoss, kFactors, kBackward };

struct Arguments {
  RegularSlots slots;
  std::int64_t batch;
  const float* beliefs;
  const float* upstream;
  float scale;
  float* parts;  // partial sums of the loss, one per block
  float* output;
  int elements = 1;        // batch elements per block
  std::int64_t ahead = 0;  // batch elements in flight at a time, over all blocks
};

// Calls `move(first index, number type)` over `count` floats, four at a time where `wide`.
template <class Move>
__device__ void by_pieces(int count, bool wide, Move move) {
  const int done = wide ? count & ~3 : 0;
#pragma unroll 1
  for (int i = 4 * threadIdx.x; i < done; i += 4 * blockDim.x) move(i, float4{});
#pragma unroll 1
  for (int i = done + threadIdx.x; i < count; i += blockDim.x) move(i, float{});
}

template <class T>
__device__ T& piece(float* at) {
  return *reinterpret_cast<T*>(at);
}
template <class T>
__device__ const T& piece(const float* at) {
  return *reinterpret_cast<const T*>(at);
}

__device__ void add(float& to, float what) {
  to += what;
}
__device__ void add(float4& to, float4 what) {
  to = {to.x + what.x, to.y + what.y, to.z + what.z, to.w + what.w};
}
__device__ float times(float value, float by) {
  return value * by;
}
__device__ float4 times(float4 value, float by) {
  return {value.x * by, value.y * by, value.z * by, value.w * by};
}

// Never zero for p up to the number after 1, and exactly 1 for p = 0: a division by it is safe. It is off by
// at most 1.2e-7.
__device__ float complement(float p) {
  constexpr float kNearlyOne = 1.f - 1.f / (1 << 23);
  return fmaf(p, -kNearlyOne, 1.f);
}

// One slot in registers. Full: it has exactly W members, so no test for padding is needed.
template <int W, bool Full>
struct Slot {
  int at[W];  // the members' cells, in bytes; negative for padding
  int family;

  __device__ void load(const RegularSlots& slots, int slot) {
    const std::int32_t* member = slots.members + slot;
#pragma unroll
    for (int j = 0; j < W; ++j, member += slots.slots) {
      at[j] = Full || j < slots.width ? __ldg(member) : -1;
    }
    family = __ldg(slots.slot_family + slot);
  }
  __device__ bool has(int j) const {
    return Full || at[j] >= 0;
  }
  __device__ void get(const float* from, float (&values)[W]) const {
    const char* bytes = reinterpret_cast<const char*>(from);
#pragma unroll
    for (int j = 0; j < W; ++j) values[j] = has(j) ? *reinterpret_cast<const float*>(bytes + at[j]) : 0.f;
  }
  __device__ void put(float* to, const float (&values)[W]) const {
    char* bytes = reinterpret_cast<char*>(to);
#pragma unroll
    for (int j = 0; j < W; ++j) {
      if (has(j)) *reinterpret_cast<float*>(bytes + at[j]) = values[j];
    }
  }
};

// Beliefs in, factors out. No division, so zeros are exact.
template <int W>
__device__ void factors_of(float (&p)[W]) {
  float before[W], product = 1.f;
#pragma unroll
  for (int j = 0; j < W; ++j) {
    before[j] = product;
    product *= 1.f - p[j];
  }
  product = 1.f;
#pragma unroll
  for (int j = W - 1; j >= 0; --j) {
    const float q = 1.f - p[j];
    p[j] = before[j] * product;
    product *= q;
  }
}

// One instruction; `__fdividef` adds five for denormal numbers, which a complement never is.
__device__ float inverse_of(float value) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(value));
  return inverse;
}

// 1 / q of each member, and the product of q.
template <int W>
__device__ float inverses(const float (&p)[W], float (&inverse)[W]) {
  float product = 1.f;
#pragma unroll
  for (int j = 0; j < W; ++j) {
    const float q = complement(p[j]);
    inverse[j] = inverse_of(q);
    product *= q;
  }
  return product;
}

// Beliefs in, halves of the derivatives of Σ r² with r_i = p_i (1 − L_i) out; adds Σ r² to `total`. The two
// ways p_k enters make r_k (1 − L_k) + L_k Σ_{i≠k} r_i p_i / q_i.
template <int W>
__device__ void residual_gradient(float (&p)[W], float& total) {
  float inverse[W], odds[W], others[W], sum = 0.f;
  const float product = inverses(p, inverse);
#pragma unroll
  for (int j = W - 1; j >= 0; --j) {
    odds[j] = p[j] * inverse[j];
    const float residual = fmaf(-product, odds[j], p[j]);
    p[j] = residual;
    total = fmaf(residual, residual, total);
    others[j] = sum - residual;
    sum = fmaf(residual, odds[j], sum);
  }
  sum = 0.f;
#pragma unroll
  for (int j = 0; j < W; ++j) {
    const float residual = p[j];
    p[j] = fmaf(product * inverse[j], sum + others[j], residual);
    sum = fmaf(residual, odds[j], sum);
  }
}

// Derivatives with respect to the factors in, with respect to the beliefs out.
template <int W>
__device__ void factors_gradient(const float (&p)[W], float (&g)[W]) {
  float inverse[W], others[W], sum = 0.f;
  const float product = inverses(p, inverse);
#pragma unroll
  for (int j = W - 1; j >= 0; --j) {
    others[j] = sum;
    sum = fmaf(g[j], inverse[j], sum);
  }
  sum = 0.f;
#pragma unroll
  for (int j = 0; j < W; ++j) {
    const float own = g[j];
    g[j] = -product * inverse[j] * (sum + others[j]);
    sum = fmaf(own, inverse[j], sum);
  }
}

__device__ float sum_of_warp(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  return value;
}

// The sum over a block's threads, in thread 0.
__device__ float sum_of_block(float value) {
  __shared__ float warps[32];
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return 0.f;
  return sum_of_warp(threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.f);
}

template <int W, bool Full, Mode M>
__global__ void __launch_bounds__(kThreads, W <= 9 ? kBlocks : 1) slots_kernel(Arguments a) {
  extern __shared__ __align__(16) float beliefs[];
  const int cells = a.slots.cells, families = a.slots.families, room = a.elements * cells;
  const std::int64_t first = std::int64_t{blockIdx.x} * a.elements;
  const int here = static_cast<int>(min(std::int64_t{a.elements}, a.batch - first));
  const bool wide = room % 4 == 0;
  // The terms lie as they are moved: [element, family, cell] where they come or go one by one, else [family,
  // element, cell], so that sums over families are wide as well.
  constexpr bool kByElement = M != Mode::kLoss;
  float* const terms = beliefs + room;
  const int per_element = kByElement ? families * cells : cells, per_family = kByElement ? cells : room;

  // Into shared memory without waiting: the slots are loaded meanwhile.
  const auto fetch = [&](float* to, const float* from, int count) {
    by_pieces(count, wide, [&](int i, auto type) { __pipeline_memcpy_async(to + i, from + i, sizeof type); });
  };
  fetch(beliefs, a.beliefs + first * cells, here * cells);
  if constexpr (M == Mode::kBackward) fetch(terms, a.upstream + first * per_element, here * per_element);
  __pipeline_commit();
  Slot<W, Full> slot;
  if (threadIdx.x < a.slots.slots) slot.load(a.slots, threadIdx.x);
  __pipeline_wait_prior(0);
  __syncthreads();
  // The beliefs that the block in this one's place will read next come into the cache meanwhile.
  if (const std::int64_t next = first + a.ahead; next + a.elements <= a.batch) {
    constexpr int kLine = 128 / sizeof(float);
    for (int i = kLine * threadIdx.x; i < room; i += kLine * blockDim.x) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(a.beliefs + next * cells + i));
    }
  }

  float total = 0.f;
#pragma unroll 1
  for (int s = threadIdx.x; s < a.slots.slots; s += blockDim.x) {
    if (s != threadIdx.x) slot.load(a.slots, s);
    const float* in = beliefs;
    float* out = terms + slot.family * per_family;
#pragma unroll 1
    for (int e = 0; e < here; ++e, in += cells, out += per_element) {
      float p[W];
      slot.get(in, p);
      if constexpr (M == Mode::kFactors) {
        factors_of(p);
        slot.put(out, p);
      } else if constexpr (M == Mode::kLoss) {
        residual_gradient(p, total);
        slot.put(out, p);
      } else {
        float g[W];
        slot.get(out, g);
        factors_gradient(p, g);
        slot.put(out, g);
      }
    }
  }
  if constexpr (M == Mode::kLoss) {
    total = sum_of_block(total);
    if (threadIdx.x == 0) a.parts[blockIdx.x] = a.scale * total;
  }
  __syncthreads();

  const float scale = M == Mode::kLoss ? 2 * a.scale : 1.f;  // half the loss's derivatives were stored
  const int length = kByElement ? cells : here * cells;  // of a run whose families lie a fixed distance apart
  if constexpr (M == Mode::kFactors) {
    by_pieces(here * per_element, wide, [&](int i, auto type) {
      piece<decltype(type)>(a.output + first * per_element + i) = piece<decltype(type)>(terms + i);
    });
  } else {
    for (int begin = 0; begin < here * cells; begin += length) {
      float* const gradient = a.output + first * cells + begin;
      const float* const own = terms + (kByElement ? families * begin : begin);
      by_pieces(length, kByElement ? cells % 4 == 0 : wide, [&](int i, auto sum) {
        const float* term = own + i;
        sum = piece<decltype(sum)>(term);
#pragma unroll 1
        for (int f = 1; f < families; ++f) add(sum, piece<decltype(sum)>(term += per_family));
        piece<decltype(sum)>(gradient + i) = times(sum, scale);
      });
    }
  }
}

__global__ void sum_kernel(const float* values, int count, float* sum) {
  float own = 0.f;
  for (int i = threadIdx.x; i < count; i += kThreads) own += values[i];
  own = sum_of_block(own);
  if (threadIdx.x == 0) *sum = own;
}

// Shared memory: what the kernels declare themselves, at most; what a block gets without asking for more; its
// share when kBlocks of them are on a multiprocessor.
constexpr std::size_t kDeclared = 256, kUnasked = 48 << 10, kShare = 56 << 10;

std::size_t bytes_per_element(const RegularSlots& slots) {
  return sizeof(float) * static_cast<std::size_t>(slots.cells) * (1 + slots.families);
}

int elements_a_block(const RegularSlots& slots) {
  int elements = kMostElements;
  while (elements > 1 && elements * bytes_per_element(slots) > kShare) elements /= 2;
  return elements;
}

template <int W, bool Full, Mode M>
void launch_width(Arguments a, void* stream) {
  a.elements = elements_a_block(a.slots);
  const std::size_t bytes = a.elements * bytes_per_element(a.slots);
  if (bytes + kDeclared > kUnasked) {
    cuda_check(cudaFuncSetAttribute(slots_kernel<W, Full, M>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes)),
               "soft T_P");
  }
  int device = 0, multiprocessors = 1;
  cuda_check(cudaGetDevice(&device), "soft T_P");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "soft T_P");
  a.ahead = std::int64_t{multiprocessors} * kBlocks * a.elements;
  const int threads = std::min(kThreads, (a.slots.slots + 31) / 32 * 32);
  slots_kernel<W, Full, M><<<static_cast<unsigned>(blocks(a.slots, a.batch)), threads, bytes,
                             static_cast<cudaStream_t>(stream)>>>(a);
  cuda_check(cudaGetLastError(), "soft T_P");
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

bool fits(const RegularSlots& slots, int device) {
  int most = 0;
  cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "soft T_P");
  return slots.width <= 32 && bytes_per_element(slots) + kDeclared <= static_cast<std::size_t>(most);
}

std::int64_t blocks(const RegularSlots& slots, std::int64_t batch) {
  const int elements = elements_a_block(slots);
  return (batch + elements - 1) / elements;
}

void loss(const RegularSlots& slots, std::int64_t batch, const float* beliefs, float scale, float* parts,
          float* sum, float* gradient, void* stream) {
  launch<Mode::kLoss>({slots, batch, beliefs, nullptr, scale, parts, gradient}, stream);
  sum_kernel<<<1, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      parts, static_cast<int>(blocks(slots, batch)), sum);
  cuda_check(cudaGetLastError(), "soft T_P");
}

void factors(const RegularSlots& slots, std::int64_t batch, const float* beliefs, float* factors,
             void* stream) {
  launch<Mode::kFactors>({slots, batch, beliefs, nullptr, 1.f, nullptr, factors}, stream);
}

void factors_backward(const RegularSlots& slots, std::int64_t batch, const float* beliefs,
                      const float* upstream, float* gradient, void* stream) {
  launch<Mode::kBackward>({slots, batch, beliefs, upstream, 1.f, nullptr, gradient}, stream);
}

}  // namespace as2::tp::kernels::cuda
