// The bound on the losses as a propagator: Σ over positions of the least loss left must stay below the cutoff
// (lexicographically over the criteria), and its first criterion must not exceed the cap.
#include <algorithm>
#include <limits>

#include "decode/learner.h"

namespace as2::decode {

bool Learner::propagate_bound() {
  const bool capped = cap_active();
  if (cutoff_.empty() && !capped) return true;
  const std::size_t criteria = loss_.size();
  const auto refused = [&](const std::vector<std::int64_t>& sum) {
    if (capped && sum[0] > cap_) return true;
    return !cutoff_.empty() &&
           !std::lexicographical_compare(sum.begin(), sum.end(), cutoff_.begin(), cutoff_.end());
  };
  if (refused(bound_)) {
    conflict_.clear();
    explain_bound(-1, std::numeric_limits<int>::max(), conflict_);
    return false;
  }
  std::int64_t least = cutoff_.empty() ? std::numeric_limits<std::int64_t>::max() : cutoff_[0];
  if (capped) least = std::min(least, cap_ + 1);
  // The removals made here do not count as reasons for each other.
  const std::vector<std::int64_t> start = bound_;
  for (const int i : costed_list_) {
    const int begin = p_.value_begin[i];
    const int end = p_.value_begin[i + 1];
    const std::int64_t without = start[0] - loss_[0][best_[0][i]];
    if (without + dearest_[i] < least) continue;
    for (std::size_t c = 0; c < criteria; ++c) rest_[c] = start[c] - loss_[c][best_[c][i]];
    const std::vector<std::int64_t> rest = rest_;
    bool left = false;
    for (int v = begin; v < end; ++v) {
      const Literal l = of_literal(v);
      if (is_false(l)) continue;
      for (std::size_t c = 0; c < criteria; ++c) rest_[c] = rest[c] + loss_[c][v];
      if (rest[0] + loss_[0][v] < least || !refused(rest_)) {
        left = true;
      } else if (!assign(l ^ 1, {Kind::kBound, 0})) {
        return false;
      }
    }
    if (!left) return true;  // no value is left: the position's own clause reports the conflict
  }
  return true;
}

// Why the value would have cost too much; with -1, why everything does. As with sums, the amount by which the
// bound exceeds the cutoff is spent on leaving removals out of the explanation.
void Learner::explain_bound(int value, int when, std::vector<Literal>& out) {
  const std::size_t criteria = loss_.size();
  const int gone = value < 0 ? -1 : p_.position_of[value];
  std::vector<std::int64_t> sum(criteria, 0);
  // What a position had to pay at that time: the least loss among the values it still had.
  const auto paid = [&](std::size_t c, int i) {
    if (i == gone) return loss_[c][value];
    if (loss_[c][best_[c][i]] == 0) return std::int64_t{0};
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
      if (loss_[c][v] < least && !false_before(of_literal(v), when)) least = loss_[c][v];
    }
    return least;
  };
  for (std::size_t c = 0; c < criteria; ++c) {
    for (const int i : costed_list_) sum[c] += paid(c, i);
  }
  const auto collect = [&](std::size_t c, std::int64_t slack) {
    for (const int i : costed_list_) {
      if (i == gone) continue;
      const std::int64_t due = paid(c, i);
      if (due == 0) continue;
      if (due <= slack) {
        slack -= due;
        continue;
      }
      std::int64_t floor = due;  // values with at least this loss may be left out of the explanation
      for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
        if (loss_[c][v] >= due - slack) floor = std::min(floor, loss_[c][v]);
      }
      slack -= due - floor;
      needed_.clear();
      for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
        if (loss_[c][v] < floor && false_before(of_literal(v), when)) needed_.push_back(v);
      }
      add_removals(i, when, needed_, out);
    }
  };
  const bool by_cutoff = !cutoff_.empty() && !std::lexicographical_compare(sum.begin(), sum.end(),
                                                                           cutoff_.begin(), cutoff_.end());
  if (!by_cutoff) {
    out.push_back(selector_ ^ 1);
    collect(0, sum[0] - cap_ - 1);
    return;
  }
  for (std::size_t c = 0; c < criteria; ++c) {
    const bool last = c + 1 == criteria;
    const bool decides = sum[c] > cutoff_[c] || last;
    collect(c, decides ? sum[c] - cutoff_[c] - (last ? 0 : 1) : 0);
    if (decides) return;
  }
}

}  // namespace as2::decode
