// How the CPU kernels share a batch among threads.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

namespace as2 {

// Cuts the batch into blocks of one cache line of T per item and calls
//   run(first batch element, elements, narrow, scratch)
// for each, on all threads. `narrow`: one element at a time, where a block's scratch would pass `most_bytes`
// or the batch has only one. `scratch` has room for `per_lane` T per element.
template <class T, class Run>
void for_each_block(std::int64_t batch, std::int64_t per_lane, std::int64_t most_bytes, const Run& run) {
  constexpr std::int64_t kWidth = 64 / static_cast<std::int64_t>(sizeof(T));
  const bool narrow = batch == 1 || per_lane * kWidth * static_cast<std::int64_t>(sizeof(T)) > most_bytes;
  const std::int64_t width = narrow ? 1 : kWidth;
  const std::int64_t blocks = (batch + width - 1) / width;
  const std::int64_t tasks = std::min<std::int64_t>(at::get_num_threads(), blocks);
  if (tasks == 0) return;
  // One allocation by the calling thread, so that a meter of LibTorch's allocations counts it. Lanes start on
  // a cache line.
  const std::int64_t stride = (per_lane * width + kWidth - 1) / kWidth * kWidth;
  const at::Tensor scratch = at::empty({tasks, stride}, c10::CppTypeToScalarType<T>::value);
  T* memory = scratch.data_ptr<T>();
  at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      for (std::int64_t b = blocks * task / tasks; b < blocks * (task + 1) / tasks; ++b) {
        run(b * width, std::min(width, batch - b * width), narrow, memory + task * stride);
      }
    }
  });
}

}  // namespace as2
