// How a bound on memory becomes a number of workers and of items each takes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace as2::native {

// A count as the standard library's containers have it.
inline std::size_t elements(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

// Memory that begins where a line of the cache does: a vector of AVX-512 that straddles two lines costs two
// accesses.
template <class T>
struct AtLines {
  using value_type = T;
  AtLines() = default;
  template <class U>
  AtLines(const AtLines<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  bool operator==(const AtLines&) const { return true; }
  bool operator!=(const AtLines&) const { return false; }
  static constexpr std::align_val_t kLine{64};
};
// What the kernels work on.
using Floats = std::vector<float, AtLines<float>>;

struct Share {
  int workers = 1;
  std::int64_t at_once = 1;
};

// Workers take `each_worker` bytes and `each_item` more per item at once. As many workers as there are
// threads and items, then as many items at once as fit, `most_at_once` at most, and few enough that every
// worker gets some. InputError where `memory` bytes do not hold one worker with one item; `what` names the
// items there.
Share share_memory(std::size_t memory, std::size_t each_worker, std::size_t each_item, int threads,
                   std::int64_t items, std::int64_t most_at_once, const char* what);

}  // namespace as2::native
