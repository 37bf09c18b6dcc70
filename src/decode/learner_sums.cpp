// Bounds of sums. A removal follows from what pushed the sum's least or largest value past the allowed ones.
// How much further than necessary they were pushed is slack, which is spent on leaving removals out of the
// explanation.
#include <algorithm>
#include <limits>

#include "decode/learner.h"
#include "decode/value_sets.h"

namespace as2::decode {

// Updates least and largest values: a position that has lost an extreme value looks for the next. One that
// has lost all its values keeps its last extreme, because its own clause is about to be in conflict.
void Learner::narrow_sums(int value) {
  const int i = p_.position_of[value];
  const int begin = p_.value_begin[i];
  for (const Summand& at : summands_of_[i]) {
    Sum& sum = sums_[at.sum];
    if (!sum_queued_[at.sum]) {
      sum_queued_[at.sum] = 1;
      sum_queue_.push_back(at.sum);
    }
    if (at.place < 0) continue;
    const std::vector<std::int64_t>& values = sum.source->values[at.place];
    const std::int64_t x = values[value - begin];
    if (x != sum.least[at.place] && x != sum.most[at.place]) continue;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (std::size_t s = 0; s < values.size(); ++s) {
      if (is_false(of_literal(begin + static_cast<int>(s)))) continue;
      least = std::min(least, values[s]);
      most = std::max(most, values[s]);
    }
    if (least > most) continue;
    sum.low += least - sum.least[at.place];
    sum.high += most - sum.most[at.place];
    sum.least[at.place] = least;
    sum.most[at.place] = most;
  }
}

void Learner::widen_sums(int value) {
  const int i = p_.position_of[value];
  for (const Summand& at : summands_of_[i]) {
    if (at.place < 0) continue;
    Sum& sum = sums_[at.sum];
    const std::int64_t x = sum.source->values[at.place][value - p_.value_begin[i]];
    if (x < sum.least[at.place]) {
      sum.low -= sum.least[at.place] - x;
      sum.least[at.place] = x;
    }
    if (x > sum.most[at.place]) {
      sum.high += x - sum.most[at.place];
      sum.most[at.place] = x;
    }
  }
}

bool Learner::propagate_sum(int index) {
  const Sum& sum = sums_[index];
  const LinearConstraint& linear = *sum.source;
  // The removals made for this sum do not count as reasons for each other.
  const std::int64_t low = sum.low;
  const std::int64_t high = sum.high;
  const Reason because{Kind::kSum, static_cast<std::uint32_t>(index)};
  const int guard = linear.guard;
  const int guard_begin = guard >= 0 ? p_.value_begin[guard] : 0;
  if (guard < 0) {
    const compile::ValueSet& allowed = linear.allowed[0];
    if (!meets(allowed, low, high)) {
      conflict_.clear();
      explain_sum(index, -1, std::numeric_limits<int>::max(), conflict_);
      return false;
    }
    // Nothing can be removed: no position's range is wide enough to take the sum from one of its ends past
    // the far end of the allowed interval.
    if (allowed.intervals.size() == 1 && allowed.intervals[0].second - sum.widest >= low &&
        allowed.intervals[0].first <= high - sum.widest) {
      return true;
    }
  } else {
    std::size_t open = 0;
    for (std::size_t g = 0; g < linear.allowed.size(); ++g) {
      const Literal l = of_literal(guard_begin + static_cast<int>(g));
      if (is_false(l)) continue;
      if (meets(linear.allowed[g], low, high)) {
        ++open;
      } else if (!assign(l ^ 1, because)) {
        return false;
      }
    }
    if (open == linear.allowed.size() && sum.total) return true;
  }
  const auto possible = [&](std::int64_t from, std::int64_t to) {
    if (guard < 0) return meets(linear.allowed[0], from, to);
    for (std::size_t g = 0; g < linear.allowed.size(); ++g) {
      if (is_false(of_literal(guard_begin + static_cast<int>(g)))) continue;
      if (meets(linear.allowed[g], from, to)) return true;
    }
    return false;
  };
  for (std::size_t k = 0; k < linear.positions.size(); ++k) {
    const std::int64_t least = sum.least[k];
    const std::int64_t most = sum.most[k];
    if (least == most) continue;
    const int begin = p_.value_begin[linear.positions[k]];
    bool left = false;
    for (std::size_t s = 0; s < linear.values[k].size(); ++s) {
      const Literal l = of_literal(begin + static_cast<int>(s));
      if (is_false(l)) continue;
      const std::int64_t x = linear.values[k][s];
      if (possible(low - least + x, high - most + x)) {
        left = true;
      } else if (!assign(l ^ 1, because)) {
        return false;
      }
    }
    if (!left) return true;  // its own clause reports the conflict; no explanation may rest on it
  }
  return true;
}

// Why a value of the guard or of a summand was removed; with -1, why nothing was left.
void Learner::explain_sum(int index, int value, int when, std::vector<Literal>& out) {
  const LinearConstraint& linear = *sums_[index].source;
  const std::size_t count = linear.positions.size();
  const int gone = value < 0 ? -1 : p_.position_of[value];
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const int begin = p_.value_begin[linear.positions[k]];
    if (linear.positions[k] == gone) {
      least_[k] = most_[k] = linear.values[k][static_cast<std::size_t>(value - begin)];
    } else {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      std::int64_t most = std::numeric_limits<std::int64_t>::min();
      for (std::size_t s = 0; s < linear.values[k].size(); ++s) {
        if (false_before(of_literal(begin + static_cast<int>(s)), when)) continue;
        least = std::min(least, linear.values[k][s]);
        most = std::max(most, linear.values[k][s]);
      }
      least_[k] = least;
      most_[k] = most;
    }
    low += least_[k];
    high += most_[k];
  }
  // The widest interval around [low, high] that no symbol the guard had left allows.
  const int guard = linear.guard;
  const int guard_begin = guard >= 0 ? p_.value_begin[guard] : 0;
  const auto guard_literal = [&](std::size_t g) { return of_literal(guard_begin + static_cast<int>(g)); };
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
  for (std::size_t g = 0; g < linear.allowed.size(); ++g) {
    if (guard >= 0 && guard == gone && guard_begin + static_cast<int>(g) != value) continue;
    if (guard >= 0 && guard != gone && false_before(guard_literal(g), when)) continue;
    const auto [below, above] = gap_around(linear.allowed[g], low);
    from = std::max(from, below);
    to = std::min(to, above);
  }
  // The gap may be unbounded, so differences are computed without overflow.
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
  std::int64_t low_slack = from == std::numeric_limits<std::int64_t>::min() ? kEndless : low - from;
  std::int64_t high_slack = to == std::numeric_limits<std::int64_t>::max() ? kEndless : to - high;
  const std::int64_t low_start = low_slack;
  const std::int64_t high_start = high_slack;
  for (std::size_t k = 0; k < count; ++k) {
    if (linear.positions[k] != gone) explain_least(sums_[index], k, when, low_slack, high_slack, out);
  }
  if (guard < 0 || guard == gone) return;
  const bool open_low = low_start == kEndless;
  const bool open_high = high_start == kEndless;
  const std::int64_t reach_low =
      open_low ? std::numeric_limits<std::int64_t>::min() : low - (low_start - low_slack);
  const std::int64_t reach_high = open_high ? kEndless : high + (high_start - high_slack);
  needed_.clear();
  for (std::size_t g = 0; g < linear.allowed.size(); ++g) {
    if (false_before(guard_literal(g), when) && meets(linear.allowed[g], reach_low, reach_high)) {
      needed_.push_back(guard_begin + static_cast<int>(g));
    }
  }
  add_removals(guard, when, needed_, out);
}

// The removals of the position's values beyond its extremes at that time, except those that the slack makes
// unnecessary.
void Learner::explain_least(const Sum& sum, std::size_t k, int when, std::int64_t& low_slack,
                            std::int64_t& high_slack, std::vector<Literal>& out) {
  const int position = sum.source->positions[k];
  const std::vector<std::int64_t>& values = sum.source->values[k];
  const int begin = p_.value_begin[position];
  // The explanation still holds if values within these limits come back.
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
  std::int64_t floor = sum.full_least[k];
  std::int64_t ceiling = sum.full_most[k];
  const auto gone = [&](std::size_t s) {
    return false_before(of_literal(begin + static_cast<int>(s)), when);
  };
  if (low_slack != kEndless && least_[k] - floor > low_slack) {
    const std::int64_t wanted = least_[k] - low_slack;
    floor = least_[k];
    for (const std::int64_t x : values) {
      if (x >= wanted) floor = std::min(floor, x);
    }
  }
  if (high_slack != kEndless && ceiling - most_[k] > high_slack) {
    const std::int64_t wanted = most_[k] + high_slack;
    ceiling = most_[k];
    for (const std::int64_t x : values) {
      if (x <= wanted) ceiling = std::max(ceiling, x);
    }
  }
  if (low_slack != kEndless) low_slack -= least_[k] - floor;
  if (high_slack != kEndless) high_slack -= ceiling - most_[k];
  needed_.clear();
  for (std::size_t s = 0; s < values.size(); ++s) {
    if ((values[s] < floor || values[s] > ceiling) && gone(s)) needed_.push_back(begin + static_cast<int>(s));
  }
  add_removals(position, when, needed_, out);
}

}  // namespace as2::decode
