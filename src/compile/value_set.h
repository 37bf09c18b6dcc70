// The small algebra of integer sets that bounds of aggregates need.
#pragma once

#include <cstdint>
#include <string>

#include "as2/constraint_program.h"

namespace as2::compile {

// Stand for "no lower bound" and "no upper bound"; no sum of 32-bit weights comes near them.
constexpr std::int64_t kNoLowerBound = -(std::int64_t{1} << 60);
constexpr std::int64_t kNoUpperBound = std::int64_t{1} << 60;

ValueSet interval(std::int64_t low, std::int64_t high);  // empty if low > high
ValueSet at_least(std::int64_t low);
ValueSet intersection(const ValueSet& a, const ValueSet& b);
ValueSet unite(const ValueSet& a, const ValueSet& b);
ValueSet complement(const ValueSet& set);
// { sign·v + offset : v in the set }, sign 1 or -1.
ValueSet affine(const ValueSet& set, int sign, std::int64_t offset);
// A simpler set with the same members among `reachable`: gaps without a reachable value are closed, and the
// ends are trimmed to the reachable range.
ValueSet simplified(const ValueSet& set, const ValueSet& reachable);

inline bool operator==(const ValueSet& a, const ValueSet& b) {
  return a.intervals == b.intervals;
}

// `{1}`, `0..3 5`, `..2`, `nothing`.
std::string str(const ValueSet& set);

}  // namespace as2::compile
