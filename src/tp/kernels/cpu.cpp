// Cuts the batch into blocks and gives them to threads.
#include "lane_blocks.h"
#include "tp/kernels/lanes.h"

namespace as2::tp::kernels {

namespace cpu {
namespace {

// A block's scratch memory should stay in the processor's caches; a block that needs more than this is run
// one lane at a time.
constexpr std::int64_t kMostScratchBytes = std::int64_t{64} << 20;

template <class T, class Layout>
void run(const Layout& layout, std::int64_t batch, const Block<T>& whole) {
  const Version<T, Layout> version = best_version<T, Layout>();
  for_each_block<T>(batch, scratch_per_lane(layout, whole.task), kMostScratchBytes,
                    [&](std::int64_t first, std::int64_t lanes, bool narrow, T* scratch) {
                      Block<T> block = whole;
                      block.lanes = lanes;
                      block.scratch = scratch;
                      block.beliefs += first * layout.cells;
                      if (block.losses) block.losses += first;
                      if (block.gradient) block.gradient += first * layout.cells;
                      if (block.sums) block.sums += first * layout.families * layout.cells;
                      if (block.upstream) block.upstream += first * layout.families * layout.cells;
                      (narrow ? version.narrow : version.wide)(layout, block);
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
