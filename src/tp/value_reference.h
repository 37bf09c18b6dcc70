// A place in the vector of values that soft T_P is computed from (see tp/index_tables.h for what stands in
// it).
#pragma once

#include <cstdint>

namespace as2::tp {

// A value of the vector, or 1 − it.
struct Reference {
  std::int64_t index = 0;
  bool complement = false;
  friend bool operator<(const Reference& a, const Reference& b) {
    return a.index != b.index ? a.index < b.index : a.complement < b.complement;
  }
  friend bool operator==(const Reference& a, const Reference& b) {
    return a.index == b.index && a.complement == b.complement;
  }
};

}  // namespace as2::tp
