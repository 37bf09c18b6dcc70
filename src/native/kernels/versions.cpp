// Which versions of the kernels this processor runs, and packing, which is the same for all.
#include "native/kernels/versions.h"

namespace as2::native::kernels {

namespace portable {
extern const Version kVersion;
}
#if AS2_X86
namespace avx2 {
extern const Version kVersion;
}
namespace avx512 {
extern const Version kVersion;
}
#endif

const std::vector<const Version*>& versions() {
  static const std::vector<const Version*> known = [] {
    std::vector<const Version*> list;
#if AS2_X86
    if (__builtin_cpu_supports("avx512f")) list.push_back(&avx512::kVersion);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list.push_back(&avx2::kVersion);
#endif
    list.push_back(&portable::kVersion);
    return list;
  }();
  return known;
}

std::int64_t packed_size(const Version& version, std::int64_t taps, std::int64_t depth,
                         std::int64_t columns) {
  return (columns + version.panel - 1) / version.panel * version.panel * taps * depth;
}

void pack(const Version& version, std::int64_t taps, std::int64_t depth, std::int64_t columns,
          const float* from, std::int64_t tap_stride, std::int64_t depth_stride, std::int64_t column_stride,
          float* to) {
  for (std::int64_t first = 0; first < columns; first += version.panel) {
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const float* row = from + t * tap_stride + k * depth_stride;
        for (std::int64_t n = first; n < first + version.panel; ++n)
          *to++ = n < columns ? row[n * column_stride] : 0.f;
      }
    }
  }
}

}  // namespace as2::native::kernels
