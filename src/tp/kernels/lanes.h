// One step of a CPU kernel: a block of up to W batch elements. Included only by lanes.cpp, which is compiled
// once per instruction set, and by the dispatcher.
#pragma once

#include "tp/kernels/kernels.h"

namespace as2::tp::kernels {

enum class Task : std::uint8_t { kLoss, kLargest, kFactors, kFactorsBackward };

// Does the task read or write an array over families and cells?
constexpr bool uses_sums(Task task) {
  return task == Task::kFactors || task == Task::kFactorsBackward;
}

// What a block reads and writes; pointers are at the block's first batch element.
template <class T>
struct Block {
  Task task = Task::kLoss;
  std::int64_t lanes = 0;  // batch elements in this block, at most the width
  const T* beliefs = nullptr;
  T* losses = nullptr;  // or largest residuals
  T* gradient = nullptr;
  T* sums = nullptr;
  const T* upstream = nullptr;
  T* scratch = nullptr;  // scratch_size() elements
};

// Blocks are this wide: a cache line, whatever the instruction set.
template <class T>
constexpr std::int64_t block_width() {
  return 64 / static_cast<std::int64_t>(sizeof(T));
}

// One compiled version of the kernels. `narrow` runs one batch element at a time.
template <class T, class Layout>
struct Version {
  void (*wide)(const Layout& layout, const Block<T>& block);
  void (*narrow)(const Layout& layout, const Block<T>& block);
};

// Elements of scratch per lane.
std::int64_t scratch_per_lane(const ExclusiveLayout& layout, Task task);
std::int64_t scratch_per_lane(const LinearLayout& layout, Task task);

#define AS2_DECLARE_VERSION(isa)   \
  namespace isa {                  \
  template <class T, class Layout> \
  Version<T, Layout> version();    \
  }
AS2_DECLARE_VERSION(baseline)
AS2_DECLARE_VERSION(avx2)
AS2_DECLARE_VERSION(avx512)
#undef AS2_DECLARE_VERSION

// The fastest version that this processor can run.
template <class T, class Layout>
Version<T, Layout> best_version();

}  // namespace as2::tp::kernels
