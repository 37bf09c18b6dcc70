#include "compile/value_set.h"

#include <algorithm>

namespace as2::compile {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

// Sorts and joins overlapping or adjacent intervals.
ValueSet normal(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  ValueSet result;
  for (const Interval& next : intervals) {
    if (!result.intervals.empty() && next.first <= result.intervals.back().second + 1) {
      result.intervals.back().second = std::max(result.intervals.back().second, next.second);
    } else {
      result.intervals.push_back(next);
    }
  }
  return result;
}

}  // namespace

ValueSet interval(std::int64_t low, std::int64_t high) {
  ValueSet set;
  if (low <= high) set.intervals.emplace_back(low, high);
  return set;
}

ValueSet at_least(std::int64_t low) {
  return interval(low, kNoUpperBound);
}

ValueSet intersection(const ValueSet& a, const ValueSet& b) {
  ValueSet result;
  auto left = a.intervals.begin();
  auto right = b.intervals.begin();
  while (left != a.intervals.end() && right != b.intervals.end()) {
    const std::int64_t low = std::max(left->first, right->first);
    const std::int64_t high = std::min(left->second, right->second);
    if (low <= high) result.intervals.emplace_back(low, high);
    if (left->second < right->second) {
      ++left;
    } else {
      ++right;
    }
  }
  return result;
}

ValueSet unite(const ValueSet& a, const ValueSet& b) {
  std::vector<Interval> all = a.intervals;
  all.insert(all.end(), b.intervals.begin(), b.intervals.end());
  return normal(std::move(all));
}

ValueSet complement(const ValueSet& set) {
  ValueSet result;
  std::int64_t next = kNoLowerBound;
  for (const Interval& taken : set.intervals) {
    if (next < taken.first) result.intervals.emplace_back(next, taken.first - 1);
    next = taken.second + 1;
  }
  if (next <= kNoUpperBound) result.intervals.emplace_back(next, kNoUpperBound);
  return result;
}

ValueSet affine(const ValueSet& set, int sign, std::int64_t offset) {
  std::vector<Interval> moved;
  for (const auto& [low, high] : set.intervals) {
    moved.emplace_back(sign > 0 ? low + offset : -high + offset, sign > 0 ? high + offset : -low + offset);
  }
  return normal(std::move(moved));
}

ValueSet simplified(const ValueSet& set, const ValueSet& reachable) {
  ValueSet result;
  auto missing = reachable.intervals.begin();
  for (const Interval& part : intersection(set, reachable).intervals) {
    if (!result.intervals.empty()) {
      const std::int64_t gap_begin = result.intervals.back().second + 1;
      while (missing != reachable.intervals.end() && missing->second < gap_begin) ++missing;
      if (missing == reachable.intervals.end() || missing->first >= part.first) {
        result.intervals.back().second = part.second;
        continue;
      }
    }
    result.intervals.push_back(part);
  }
  return result;
}

std::string str(const ValueSet& set) {
  if (set.intervals.empty()) return "nothing";
  std::string text;
  for (const auto& [low, high] : set.intervals) {
    if (!text.empty()) text += ' ';
    if (low == high) {
      text += std::to_string(low);
    } else {
      text += (low <= kNoLowerBound / 2 ? "" : std::to_string(low)) + ".." +
              (high >= kNoUpperBound / 2 ? "" : std::to_string(high));
    }
  }
  return text;
}

}  // namespace as2::compile
