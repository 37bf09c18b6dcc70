// Questions about sets of integers that propagation asks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "as2/constraint_program.h"

namespace as2::decode {

// The first interval that does not end before `low`.
inline auto first_reaching(const compile::ValueSet& set, std::int64_t low) {
  return std::lower_bound(set.intervals.begin(), set.intervals.end(), low,
                          [](const auto& interval, std::int64_t x) { return interval.second < x; });
}

// Some member lies in [low, high].
inline bool meets(const compile::ValueSet& set, std::int64_t low, std::int64_t high) {
  const auto it = first_reaching(set, low);
  return it != set.intervals.end() && it->first <= high;
}

// All of [low, high] are members.
inline bool covers(const compile::ValueSet& set, std::int64_t low, std::int64_t high) {
  const auto it = first_reaching(set, low);
  return it != set.intervals.end() && it->first <= low && it->second >= high;
}

// The widest interval around `x` without a member; the extreme integers stand for "without end".
inline std::pair<std::int64_t, std::int64_t> gap_around(const compile::ValueSet& set, std::int64_t x) {
  std::pair<std::int64_t, std::int64_t> gap{std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max()};
  const auto it = first_reaching(set, x);
  if (it != set.intervals.begin()) gap.first = (it - 1)->second + 1;
  if (it != set.intervals.end()) gap.second = it->first - 1;
  return gap;
}

}  // namespace as2::decode
