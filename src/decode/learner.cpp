#include "decode/learner.h"

#include <algorithm>

namespace as2::decode {
namespace {

constexpr std::int64_t kRestartUnit = 64;       // conflicts
constexpr std::int64_t kFirstReduction = 2000;  // conflicts
constexpr std::int64_t kReductionGrowth = 300;

// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 …, from k = 0.
std::int64_t luby(std::int64_t k) {
  std::int64_t size = 1;
  while (size < k + 1) size = 2 * size + 1;
  while (size - 1 != k) {
    size = (size - 1) / 2;
    k %= size;
  }
  return (size + 1) / 2;
}

}  // namespace

Learner::Outcome Learner::advance() {
  if (refuted_) return Outcome::kRefuted;
  if (restart_at_ == 0) {
    restart_at_ = kRestartUnit;
    reduce_at_ = kFirstReduction;
  }
  if (!propagate()) {
    ++conflicts_;
    const int target = analyze();
    if (target < 0) {
      refuted_ = true;
      return Outcome::kRefuted;
    }
    backtrack(target);
    install();
    return Outcome::kStopped;
  }
  if (selector_ >= 0 && is_false(selector_)) return Outcome::kCapRefuted;
  if (conflicts_ >= restart_at_) {
    restart_at_ = conflicts_ + kRestartUnit * luby(++restarts_);
    backtrack(0);
    if (conflicts_ >= reduce_at_) {
      reduce();
      reduce_at_ = conflicts_ + kFirstReduction + kReductionGrowth * ++reductions_;
    }
  }
  const Literal next = selector_ >= 0 && is_open(selector_) ? selector_ : choose();
  if (next < 0) return Outcome::kModel;
  ++decisions_;
  decide(next);
  return Outcome::kStopped;
}

// The most active open variable. If it is a symbol of a position with several, the position takes the symbol
// it last had, or its cheapest: "not this one" would decide little.
Literal Learner::choose() {
  while (!order_.empty()) {
    const int variable = order_.pop();
    if (!is_open(2 * variable)) continue;
    const int value = value_of_[2 * variable];
    const int i = value >= 0 ? p_.position_of[value] : -1;
    if (i < 0 || p_.value_begin[i + 1] - p_.value_begin[i] == 2)
      return 2 * variable + (phase_[variable] ? 0 : 1);
    int best = last_value_[i];
    if (best < 0 || !is_open(of_literal(best))) {
      best = value;
      for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
        if (is_open(of_literal(v)) && loss_[0][v] < loss_[0][best]) best = v;
      }
    }
    if (best != value) order_.insert(variable);
    return of_literal(best);
  }
  return -1;
}

void Learner::decide(Literal l) {
  level_begin_.push_back(static_cast<int>(trail_.size()));
  assign(l, {});
}

bool Learner::assign(Literal l, Reason reason) {
  if (is_true(l)) return true;
  if (is_false(l)) {
    // The conflict: what explains l, together with the fact that l is false.
    conflict_.clear();
    const int variable = l >> 1;
    const Reason kept = reason_[variable];
    const int place = trail_place_[variable];
    reason_[variable] = reason;
    trail_place_[variable] = static_cast<int>(trail_.size());
    truth_[l] = 1;
    truth_[l ^ 1] = -1;
    explain(l, conflict_);
    truth_[l] = -1;
    truth_[l ^ 1] = 1;
    reason_[variable] = kept;
    trail_place_[variable] = place;
    conflict_.push_back(l);
    return false;
  }
  const int variable = l >> 1;
  truth_[l] = 1;
  truth_[l ^ 1] = -1;
  level_of_[variable] = level();
  trail_place_[variable] = static_cast<int>(trail_.size());
  reason_[variable] = reason;
  trail_.push_back(l);
  if (value_of_[l ^ 1] >= 0) removed(value_of_[l ^ 1]);
  for (const int c : components_of_[l ^ 1]) {
    if (!component_queued_[c]) {
      component_queued_[c] = 1;
      component_queue_.push_back(c);
    }
  }
  return true;
}

void Learner::removed(int value) {
  const int i = p_.position_of[value];
  const auto wake = [i](const Table& of_position, std::vector<int>& queue, std::vector<char>& queued) {
    for (const int* k = of_position.first(i); k != of_position.last(i); ++k) {
      if (queued[*k]) continue;
      queued[*k] = 1;
      queue.push_back(*k);
    }
  };
  if (!summands_of_[i].empty()) narrow_sums(value);
  wake(p_.tables_of_position, table_queue_, table_queued_);
  if (!costed_[i]) return;
  for (std::size_t c = 0; c < loss_.size(); ++c) {
    int& best = best_[c][i];
    if (best != value) continue;
    int next = -1;
    for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
      if (!is_false(of_literal(v)) && (next < 0 || loss_[c][v] < loss_[c][next])) next = v;
    }
    if (next < 0) continue;  // no value is left: the position's own clause will report the conflict
    bound_[c] += loss_[c][next] - loss_[c][best];
    best = next;
    bound_due_ = true;
  }
}

void Learner::restored(int value) {
  const int i = p_.position_of[value];
  if (!summands_of_[i].empty()) widen_sums(value);
  if (!costed_[i]) return;
  for (std::size_t c = 0; c < loss_.size(); ++c) {
    int& best = best_[c][i];
    if (loss_[c][value] >= loss_[c][best]) continue;
    bound_[c] -= loss_[c][best] - loss_[c][value];
    best = value;
  }
}

void Learner::backtrack(int target) {
  if (target < level()) {
    const std::size_t keep = static_cast<std::size_t>(level_begin_[target]);
    while (trail_.size() > keep) {
      const Literal l = trail_.back();
      trail_.pop_back();
      truth_[l] = truth_[l ^ 1] = 0;
      phase_[l >> 1] = !(l & 1);
      if (value_of_[l] >= 0) last_value_[p_.position_of[value_of_[l]]] = value_of_[l];
      if (value_of_[l ^ 1] >= 0) restored(value_of_[l ^ 1]);
      order_.insert(l >> 1);
    }
    level_begin_.resize(static_cast<std::size_t>(target));
    while (!stored_.empty() && stored_.back().trail >= keep) {
      stored_literals_.resize(stored_.back().begin);
      stored_.pop_back();
    }
    next_ = keep;
  }
  bound_due_ = true;
}

bool Learner::propagate() {
  for (;;) {
    if (next_ < trail_.size()) {
      if (!propagate_literal(trail_[next_++])) return false;
    } else if (!table_queue_.empty()) {
      const int table = table_queue_.back();
      table_queue_.pop_back();
      table_queued_[table] = 0;
      if (!propagate_table(table)) return false;
    } else if (!sum_queue_.empty()) {
      const int sum = sum_queue_.back();
      sum_queue_.pop_back();
      sum_queued_[sum] = 0;
      if (!propagate_sum(sum)) return false;
    } else if (!component_queue_.empty()) {
      const int component = component_queue_.back();
      component_queue_.pop_back();
      component_queued_[component] = 0;
      if (!propagate_component(component)) return false;
    } else if (bound_due_) {
      bound_due_ = false;
      if (!propagate_bound()) return false;
    } else {
      return true;
    }
  }
}

bool Learner::propagate_literal(Literal l) {
  const Reason because{Kind::kImplied, static_cast<std::uint32_t>(l)};
  for (const Literal other : implies_[l]) {
    if (!is_true(other) && !assign(other, because)) return false;
  }
  for (const int row : rows_of_[l]) {
    for (const Literal other : rows_[row]) {
      if (other != l && !is_false(other) && !assign(other ^ 1, because)) return false;
    }
  }
  const Literal failed = l ^ 1;
  std::vector<Watch>& watches = watches_[failed];
  std::size_t kept = 0;
  for (std::size_t k = 0; k < watches.size(); ++k) {
    const Watch watch = watches[k];
    if (is_true(watch.blocker)) {
      watches[kept++] = watch;
      continue;
    }
    const std::uint32_t size = clauses_[watch.clause];
    std::uint32_t* literals = clauses_.data() + watch.clause + 1;
    if (static_cast<Literal>(literals[0]) == failed) std::swap(literals[0], literals[1]);
    const Literal first = static_cast<Literal>(literals[0]);
    if (is_true(first)) {
      watches[kept++] = {watch.clause, first};
      continue;
    }
    std::uint32_t other = 2;
    while (other < size && is_false(static_cast<Literal>(literals[other]))) ++other;
    if (other < size) {
      std::swap(literals[1], literals[other]);
      watches_[static_cast<Literal>(literals[1])].push_back({watch.clause, first});
      continue;
    }
    watches[kept++] = {watch.clause, first};
    if (!assign(first, {Kind::kClause, watch.clause})) {
      for (++k; k < watches.size(); ++k) watches[kept++] = watches[k];
      watches.resize(kept);
      return false;
    }
  }
  watches.resize(kept);
  return true;
}

compile::Assignment Learner::assignment() const {
  compile::Assignment result(static_cast<std::size_t>(p_.real), 0);
  for (int i = 0; i < p_.real; ++i) {
    for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
      if (is_true(of_literal(v))) result[i] = v - p_.value_begin[i];
    }
  }
  return result;
}

void Learner::set_cutoff(const std::vector<std::int64_t>& cutoff) {
  backtrack(0);
  cutoff_ = cutoff;
}

void Learner::set_cap(std::int64_t cap) {
  backtrack(0);
  // A lower cap keeps what was learned under the higher one.
  if (selector_ < 0 || cap > cap_ || is_false(selector_)) {
    drop_cap();
    selector_ = 2 * add_variable();
  }
  cap_ = cap;
}

void Learner::drop_cap() {
  backtrack(0);
  if (selector_ >= 0 && is_open(selector_)) assign(selector_ ^ 1, {});
  selector_ = -1;
}

void Learner::exclude(const compile::Assignment& assignment, const std::vector<int>& positions) {
  backtrack(0);
  std::vector<Literal> clause;
  for (const int i : positions) clause.push_back(of_literal(p_.value_begin[i] + assignment[i]) ^ 1);
  add_clause(std::move(clause));
}

void Learner::suggest(const compile::Assignment& assignment) {
  backtrack(0);
  for (int i = 0; i < p_.real; ++i) {
    const int value = p_.value_begin[i] + assignment[i];
    last_value_[i] = value;
    const Literal l = of_literal(value);
    if (l > 1) phase_[l >> 1] = !(l & 1);
  }
}

}  // namespace as2::decode
