// Questions about sets of integers that propagation asks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

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

// Every integer of [low, high] is a member of one of the sets.
inline bool together_cover(const std::vector<compile::ValueSet>& sets, std::int64_t low, std::int64_t high) {
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
  for (const compile::ValueSet& set : sets) {
    intervals.insert(intervals.end(), set.intervals.begin(), set.intervals.end());
  }
  std::sort(intervals.begin(), intervals.end());
  for (const auto& [first, last] : intervals) {
    if (first > low) return false;
    if (last >= high) return true;
    low = std::max(low, last + 1);
  }
  return low > high;
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
