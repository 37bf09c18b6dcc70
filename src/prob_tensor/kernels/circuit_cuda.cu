// A block takes kLanes batch elements through the whole circuit, layer by layer, with a barrier between
// layers: one launch instead of two per layer. Threads that lie next to each other take neighbouring batch
// elements of one node, so that every access is whole sectors of the [items, batch] scratch, which stays in
// the L2 cache.
//
// Downward an item gathers from its parents instead of being added to by them: no atomics, and the same
// result on every run. Few lanes per block make many blocks of small batches.
//
// Rejected: one launch per layer (a circuit of N = 100 digits has 205 of them, each too small to fill the
// device); values in shared memory, which circuits of more than some thousand items outgrow.
#include <cuda_runtime.h>

#include <cmath>

#include "cuda_check.h"
#include "prob_tensor/kernels/circuit_cuda.h"

namespace as2::prob_tensor::kernels::cuda {
namespace {

constexpr int kLanes = 8;      // batch elements of a block: a sector of 32 bytes in float32
constexpr int kThreads = 512;  // of a block

template <class T>
struct Arguments {
  CircuitArrays arrays;
  std::int64_t batch;
  const T* weights;
  T* logs;
  T* shares;
  T* lost;  // per node: what rounding took from a sum's logarithm
  T* values;
  T* gradient;
};

template <class T>
__device__ T least_normal();
template <>
__device__ float least_normal<float>() {
  return 1.17549435e-38f;
}
template <>
__device__ double least_normal<double>() {
  return 2.2250738585072014e-308;
}

// A number with fewer bits than others counts as the least one that has all: neither its logarithm nor what
// is divided by it is infinite.
template <class T>
__device__ T raised(T weight) {
  return weight < least_normal<T>() ? least_normal<T>() : weight;
}

template <class T>
__global__ void __launch_bounds__(kThreads) evaluate_kernel(const Arguments<T> a) {
  const CircuitArrays& c = a.arrays;
  const int lane = threadIdx.x % kLanes;
  const int worker = threadIdx.x / kLanes;
  const int workers = kThreads / kLanes;
  const std::int64_t element = std::int64_t{blockIdx.x} * kLanes + lane;
  const bool used = element < a.batch;  // every thread meets the barriers
  T* logs = a.logs + element;
  T* shares = a.shares + element;

  for (int i = worker; used && i < c.inputs; i += workers) {
    const T weight = a.weights[element * c.inputs + i];
    logs[std::int64_t{i} * a.batch] = weight <= 0 ? T(kNothing) : log(raised(weight));
  }
  __syncthreads();
  for (int layer = 0; layer < c.layers; ++layer) {
    const bool sum = c.layer_sum[layer] != 0;
    for (int n = c.layer_begin[layer] + worker; used && n < c.layer_begin[layer + 1]; n += workers) {
      const int first = c.child_begin[n];
      const int last = c.child_begin[n + 1];
      T result = 0;
      if (sum) {
        T greatest = logs[std::int64_t{c.children[first]} * a.batch];
        for (int e = first + 1; e < last; ++e)
          greatest = max(greatest, logs[std::int64_t{c.children[e]} * a.batch]);
        for (int e = first; e < last; ++e)
          result += exp(logs[std::int64_t{c.children[e]} * a.batch] - greatest);
        const T rest = log(result);
        result = greatest + rest;
        if (a.lost) a.lost[std::int64_t{n} * a.batch + element] = (greatest - result) + rest;
      } else {
        for (int e = first; e < last; ++e) result += logs[std::int64_t{c.children[e]} * a.batch];
      }
      logs[(std::int64_t{c.inputs} + n) * a.batch] = result;
    }
    __syncthreads();
  }
  const T root = !used || c.root < 0 ? T(kNothing) : logs[std::int64_t{c.root} * a.batch];
  const bool alive = root >= T(kAlmostNothing);
  if (used && worker == 0) a.values[element] = alive ? root : -T(INFINITY);
  if (!a.gradient) return;

  // The share of an item, from those of its parents, which are complete.
  const auto gather = [&](std::int64_t item) {
    T share = item == c.root && alive ? T(1) : T(0);
    const T own = logs[item * a.batch];
    for (int e = c.parent_begin[item]; e < c.parent_begin[item + 1]; ++e) {
      const std::int64_t parent = std::int64_t{c.inputs} + c.parents[e] / 2;
      const T above = shares[parent * a.batch];
      const std::int64_t node = c.parents[e] / 2;
      share += c.parents[e] % 2 ? above * exp(own - logs[parent * a.batch] - a.lost[node * a.batch + element])
                                : above;
    }
    return share;
  };
  for (int layer = c.layers - 1; layer >= 0; --layer) {
    for (int n = c.layer_begin[layer] + worker; used && n < c.layer_begin[layer + 1]; n += workers) {
      const std::int64_t item = std::int64_t{c.inputs} + n;
      shares[item * a.batch] = gather(item);
    }
    __syncthreads();
  }
  for (int i = worker; used && i < c.inputs; i += workers) {
    const T weight = a.weights[element * c.inputs + i];
    a.gradient[element * c.inputs + i] = weight <= 0 ? T(0) : gather(i) / raised(weight);
  }
}

}  // namespace

template <class T>
void evaluate(const CircuitArrays& arrays, std::int64_t batch, const T* weights, T* logs, T* shares, T* lost,
              T* values, T* gradient, void* stream) {
  if (batch == 0) return;
  const Arguments<T> arguments{arrays, batch, weights, logs, shares, lost, values, gradient};
  const unsigned blocks = static_cast<unsigned>((batch + kLanes - 1) / kLanes);
  evaluate_kernel<T><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(arguments);
  cuda_check(cudaGetLastError(), "the circuit");
}

template void evaluate<float>(const CircuitArrays&, std::int64_t, const float*, float*, float*, float*,
                              float*, float*, void*);
template void evaluate<double>(const CircuitArrays&, std::int64_t, const double*, double*, double*, double*,
                               double*, double*, void*);

}  // namespace as2::prob_tensor::kernels::cuda
