// One step of the CPU kernel: a block of up to W batch elements. Included only by lanes.cpp, which is
// compiled once per instruction set, and by the dispatcher.
#pragma once

#include "prob_tensor/kernels/kernels.h"

namespace as2::prob_tensor::kernels {

// What a block reads and writes; pointers are at the block's first batch element.
template <class T>
struct Block {
  std::int64_t lanes = 0;  // batch elements in this block, at most the width
  const T* weights = nullptr;
  T* values = nullptr;
  T* gradient = nullptr;
  T* scratch = nullptr;  // 2 · items + nodes per lane
};

// Blocks are this wide: a cache line, whatever the instruction set.
template <class T>
constexpr std::int64_t block_width() {
  return 64 / static_cast<std::int64_t>(sizeof(T));
}

// One compiled version. `narrow` runs one batch element at a time.
template <class T>
struct Version {
  void (*wide)(const CircuitArrays& arrays, const Block<T>& block);
  void (*narrow)(const CircuitArrays& arrays, const Block<T>& block);
};

#define AS2_DECLARE_VERSION(isa) \
  namespace isa {                \
  template <class T>             \
  Version<T> version();          \
  }
AS2_DECLARE_VERSION(baseline)
AS2_DECLARE_VERSION(avx2)
AS2_DECLARE_VERSION(avx512)
#undef AS2_DECLARE_VERSION

}  // namespace as2::prob_tensor::kernels
