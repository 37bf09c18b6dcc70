// Cuts the batch into blocks and gives them to threads.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "tp/kernels/lanes.h"

namespace as2::tp::kernels {

namespace cpu {
namespace {

// A block of lanes works on memory that should stay near the processor; past this, one lane at a time.
constexpr std::int64_t kMostScratchBytes = std::int64_t{64} << 20;

template <class T, class Layout>
void run(const Layout& layout, std::int64_t batch, const Block<T>& whole) {
  const Version<T, Layout> version = best_version<T, Layout>();
  const std::int64_t per_lane = scratch_per_lane(layout, whole.task);
  constexpr std::int64_t kWidth = block_width<T>();
  const bool narrow =
      batch == 1 || per_lane * kWidth * static_cast<std::int64_t>(sizeof(T)) > kMostScratchBytes;
  const std::int64_t width = narrow ? 1 : kWidth;
  const std::int64_t blocks = (batch + width - 1) / width;
  const std::int64_t tasks = std::min<std::int64_t>(at::get_num_threads(), blocks);
  if (tasks == 0) return;
  // One allocation by the calling thread, so that whoever counts LibTorch's memory sees it. Lanes start on a
  // cache line.
  const std::int64_t stride = (per_lane * width + kWidth - 1) / kWidth * kWidth;
  const at::Tensor scratch = at::empty({tasks, stride}, c10::CppTypeToScalarType<T>::value);
  T* memory = scratch.data_ptr<T>();
  at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      for (std::int64_t b = blocks * task / tasks; b < blocks * (task + 1) / tasks; ++b) {
        const std::int64_t first = b * width;
        Block<T> block = whole;
        block.lanes = std::min(width, batch - first);
        block.scratch = memory + task * stride;
        block.beliefs += first * layout.cells;
        if (block.losses) block.losses += first;
        if (block.gradient) block.gradient += first * layout.cells;
        if (block.sums) block.sums += first * layout.families * layout.cells;
        if (block.upstream) block.upstream += first * layout.families * layout.cells;
        (narrow ? version.narrow : version.wide)(layout, block);
      }
    }
  });
}

}  // namespace

template <class T, class Layout>
void loss(const Layout& layout, std::int64_t batch, const T* beliefs, T* losses, T* gradient) {
  Block<T> whole;
  whole.task = Task::kLoss;
  whole.beliefs = beliefs;
  whole.losses = losses;
  whole.gradient = gradient;
  run(layout, batch, whole);
}

template <class T, class Layout>
void largest_residual(const Layout& layout, std::int64_t batch, const T* beliefs, T* residuals) {
  Block<T> whole;
  whole.task = Task::kLargest;
  whole.beliefs = beliefs;
  whole.losses = residuals;
  run(layout, batch, whole);
}

template <class T, class Layout>
void factors(const Layout& layout, std::int64_t batch, const T* beliefs, T* sums) {
  Block<T> whole;
  whole.task = Task::kFactors;
  whole.beliefs = beliefs;
  whole.sums = sums;
  run(layout, batch, whole);
}

template <class T, class Layout>
void factors_backward(const Layout& layout, std::int64_t batch, const T* beliefs, const T* upstream,
                      T* gradient) {
  Block<T> whole;
  whole.task = Task::kFactorsBackward;
  whole.beliefs = beliefs;
  whole.upstream = upstream;
  whole.gradient = gradient;
  run(layout, batch, whole);
}

#define AS2_INSTANTIATE(T, Layout)                                                      \
  template void loss<T, Layout>(const Layout&, std::int64_t, const T*, T*, T*);         \
  template void largest_residual<T, Layout>(const Layout&, std::int64_t, const T*, T*); \
  template void factors<T, Layout>(const Layout&, std::int64_t, const T*, T*);          \
  template void factors_backward<T, Layout>(const Layout&, std::int64_t, const T*, const T*, T*);
AS2_INSTANTIATE(float, ExclusiveLayout)
AS2_INSTANTIATE(double, ExclusiveLayout)
AS2_INSTANTIATE(float, LinearLayout)
AS2_INSTANTIATE(double, LinearLayout)
#undef AS2_INSTANTIATE

}  // namespace cpu
}  // namespace as2::tp::kernels
