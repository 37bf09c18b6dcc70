// Picks the version of the kernel for this processor and shares the batch among threads.
#include "lane_blocks.h"
#include "prob_tensor/kernels/lanes.h"

namespace as2::prob_tensor::kernels::cpu {
namespace {

// A block's scratch should stay in the processor's caches; one that needs more is run lane by lane.
constexpr std::int64_t kMostScratchBytes = std::int64_t{256} << 20;

template <class T>
Version<T> best_version() {
#if AS2_X86
  if (__builtin_cpu_supports("avx512f")) return avx512::version<T>();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::version<T>();
#endif
  return baseline::version<T>();
}

}  // namespace

template <class T>
void evaluate(const CircuitArrays& arrays, std::int64_t batch, const T* weights, T* values, T* gradient) {
  const Version<T> version = best_version<T>();
  const std::int64_t per_lane = 2 * std::int64_t{arrays.inputs} + 3 * std::int64_t{arrays.nodes};
  for_each_block<T>(batch, per_lane, kMostScratchBytes,
                    [&](std::int64_t first, std::int64_t lanes, bool narrow, T* scratch) {
                      Block<T> block;
                      block.lanes = lanes;
                      block.scratch = scratch;
                      block.weights = weights + first * arrays.inputs;
                      block.values = values + first;
                      if (gradient) block.gradient = gradient + first * arrays.inputs;
                      (narrow ? version.narrow : version.wide)(arrays, block);
                    });
}

template void evaluate<float>(const CircuitArrays&, std::int64_t, const float*, float*, float*);
template void evaluate<double>(const CircuitArrays&, std::int64_t, const double*, double*, double*);

}  // namespace as2::prob_tensor::kernels::cpu
