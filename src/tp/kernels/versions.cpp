// Picks the version of the CPU kernels for this processor.
#include "tp/kernels/lanes.h"

namespace as2::tp::kernels {

std::int64_t scratch_per_lane(const ExclusiveLayout& layout, Task task) {
  return layout.cells * 2 + (uses_sums(task) ? layout.families * layout.cells : 0) + 4 * layout.widest_slot;
}

std::int64_t scratch_per_lane(const LinearLayout& layout, Task task) {
  return layout.cells * 2 + (uses_sums(task) ? layout.families * layout.cells : 0) +
         2 * layout.most_chain_states + 3 * layout.most_chain_classes + 4 * layout.most_states +
         layout.most_guards;
}

template <class T, class Layout>
Version<T, Layout> best_version() {
#if AS2_X86
  if (__builtin_cpu_supports("avx512f")) return avx512::version<T, Layout>();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::version<T, Layout>();
#endif
  return baseline::version<T, Layout>();
}

template Version<float, ExclusiveLayout> best_version();
template Version<double, ExclusiveLayout> best_version();
template Version<float, LinearLayout> best_version();
template Version<double, LinearLayout> best_version();

}  // namespace as2::tp::kernels
