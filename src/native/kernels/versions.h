// Which versions of the kernels there are, and how matrices are packed for them.
#pragma once

#include <vector>

#include "native/kernels/kernels.h"

namespace as2::native::kernels {

// The versions this processor runs, the fastest first; the last one runs everywhere.
const std::vector<const Version*>& versions();

// Numbers a packed matrix takes.
std::int64_t packed_size(const Version& version, std::int64_t taps, std::int64_t depth, std::int64_t columns);
// Packs [taps, depth, columns] with these strides: a panel of columns holds its taps and depths one after
// another; columns beyond the last are 0.
void pack(const Version& version, std::int64_t taps, std::int64_t depth, std::int64_t columns,
          const float* from, std::int64_t tap_stride, std::int64_t depth_stride, std::int64_t column_stride,
          float* to);

}  // namespace as2::native::kernels
