#include "decode/state.h"

#include <algorithm>
#include <limits>

namespace as2::decode {
State::State(const Problem& problem)
    : p_(problem),
      domain_(problem.full_domain),
      reason_(static_cast<std::size_t>(problem.values), 0),
      linear_queued_(problem.linears.size(), 0),
      component_queued_(problem.components.size(), 0),
      words_(std::max(1, (problem.real + 63) / 64)),
      gathering_(static_cast<std::size_t>(words_), 0),
      conflict_(static_cast<std::size_t>(words_), 0),
      costed_(static_cast<std::size_t>(problem.positions), 0) {
  arena_.assign(static_cast<std::size_t>(words_), 0);
  trail_.reserve(static_cast<std::size_t>(p_.values));
  for (int i = 0; i < p_.positions; ++i) size_.push_back(p_.value_begin[i + 1] - p_.value_begin[i]);
  for (int e = 0; e < p_.exact.rows(); ++e) open_.push_back(p_.exact.size(e));
  watch_head_.assign(static_cast<std::size_t>(p_.literals()), -1);
  watch_next_.resize(static_cast<std::size_t>(p_.nogoods.rows()) * 2);
  watched_.resize(watch_next_.size());
  for (int n = 0; n < p_.nogoods.rows(); ++n) {
    for (int side = 0; side < 2; ++side) {
      const int watch = 2 * n + side;
      watched_[watch] = p_.nogoods.first(n)[side];
      watch_next_[watch] = watch_head_[watched_[watch]];
      watch_head_[watched_[watch]] = watch;
    }
  }

  base_consistent_ = !p_.impossible;
  for (int i = 0; i < p_.positions && base_consistent_; ++i) {
    if (size_[i] == 0) base_consistent_ = false;
    if (size_[i] == 1) literal_queue_.push_back(p_.value_begin[i]);
  }
  for (int e = 0; e < p_.exact.rows(); ++e) {
    if (open_[e] <= 1) exact_queue_.push_back(e);
  }
  for (const int literal : p_.units) base_consistent_ = base_consistent_ && refute(literal, 0);
  for (std::size_t k = 0; k < p_.linears.size(); ++k) linear_queue_.push_back(static_cast<int>(k));
  std::fill(linear_queued_.begin(), linear_queued_.end(), 1);
  for (std::size_t k = 0; k < p_.components.size(); ++k) component_queue_.push_back(static_cast<int>(k));
  std::fill(component_queued_.begin(), component_queued_.end(), 1);
  base_consistent_ = base_consistent_ && propagate();
  base_ = {domain_, size_, open_, watch_head_, watch_next_, watched_};
  clear_queues();
}

void State::reset() {
  std::copy(base_.domain.begin(), base_.domain.end(), domain_.begin());
  std::copy(base_.size.begin(), base_.size.end(), size_.begin());
  std::copy(base_.open.begin(), base_.open.end(), open_.begin());
  std::copy(base_.watch_head.begin(), base_.watch_head.end(), watch_head_.begin());
  std::copy(base_.watch_next.begin(), base_.watch_next.end(), watch_next_.begin());
  std::copy(base_.watched.begin(), base_.watched.end(), watched_.begin());
  std::fill(reason_.begin(), reason_.end(), 0);
  trail_.clear();
  levels_.clear();
  arena_.resize(static_cast<std::size_t>(words_));
  for (const int i : costed_list_) costed_[i] = 0;
  costed_list_.clear();
  loss_.clear();
  bound_.clear();
  cutoff_.clear();
  direct_ = false;
  clear_queues();
}

void State::set_most_levels(std::size_t levels) {
  words_ = static_cast<int>(std::max<std::size_t>(1, (levels + 63) / 64));
  arena_.assign(static_cast<std::size_t>(words_), 0);
  gathering_.assign(static_cast<std::size_t>(words_), 0);
  conflict_.assign(static_cast<std::size_t>(words_), 0);
}

void State::set_losses(const std::vector<std::vector<std::int64_t>>& losses) {
  const std::size_t criteria = losses.size();
  loss_.clear();
  for (const auto& row : losses) loss_.push_back(row.data());
  bound_.assign(criteria, 0);
  rest_.resize(criteria);
  best_.resize(criteria);
  for (auto& row : best_) row.resize(static_cast<std::size_t>(p_.positions));
  for (int i = 0; i < p_.positions; ++i) {
    const int begin = p_.value_begin[i];
    const int end = p_.value_begin[i + 1];
    bool differs = false;
    for (std::size_t c = 0; c < criteria; ++c) {
      for (int v = begin; v < end; ++v) differs |= loss_[c][v] != 0;
    }
    if (!differs) continue;
    costed_[i] = 1;
    costed_list_.push_back(i);
    for (std::size_t c = 0; c < criteria; ++c) {
      int best = first_value(i);
      for (int v = best; v >= 0; v = next_value(i, v)) best = loss_[c][v] < loss_[c][best] ? v : best;
      best_[c][i] = best;
      bound_[c] += loss_[c][best];
    }
  }
  least_refused_ = std::numeric_limits<std::int64_t>::max();
}

void State::set_cutoff(const std::vector<std::int64_t>& cutoff) {
  cutoff_ = cutoff;
  filter_due_ = true;
}

int State::first_value(int position) const {
  for (int w = p_.word_begin[position]; w < p_.word_begin[position + 1]; ++w) {
    if (domain_[w]) {
      return p_.value_begin[position] + 64 * (w - p_.word_begin[position]) + __builtin_ctzll(domain_[w]);
    }
  }
  return -1;
}

int State::next_value(int position, int value) const {
  int w = p_.value_word[value];
  // The bits above the value's own; none if that is bit 63.
  std::uint64_t rest = domain_[w] & ~(p_.value_bit[value] | (p_.value_bit[value] - 1));
  for (;;) {
    if (rest) {
      return p_.value_begin[position] + 64 * (w - p_.word_begin[position]) + __builtin_ctzll(rest);
    }
    if (++w == p_.word_begin[position + 1]) return -1;
    rest = domain_[w];
  }
}

bool State::holds(int literal) const {
  if (literal < p_.values) return size_[p_.position_of[literal]] == 1 && has(literal);
  const int position = p_.wide_position[literal - p_.values];
  const auto& words = p_.wide_words[literal - p_.values];
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (domain_[p_.word_begin[position] + static_cast<int>(w)] & ~words[w]) return false;
  }
  return true;
}

bool State::fails(int literal) const {
  if (literal < p_.values) return !has(literal);
  const int position = p_.wide_position[literal - p_.values];
  const auto& words = p_.wide_words[literal - p_.values];
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (domain_[p_.word_begin[position] + static_cast<int>(w)] & words[w]) return false;
  }
  return true;
}

void State::announce(int value) {
  if (!direct_ || p_.position_of[value] >= p_.real) literal_queue_.push_back(value);
}

void State::commit(int value) {
  literal_queue_.push_back(value);
  const int position = p_.position_of[value];
  for (const int* k = p_.wide_of_position.first(position); k != p_.wide_of_position.last(position); ++k) {
    if (p_.literal_has(p_.values + *k, value)) literal_queue_.push_back(p_.values + *k);
  }
}

bool State::remove(int value, Reason reason) {
  std::uint64_t& word = domain_[p_.value_word[value]];
  if (!(word & p_.value_bit[value])) return true;
  word &= ~p_.value_bit[value];
  trail_.push_back(value);
  reason_[value] = reason;
  const int position = p_.position_of[value];
  const int left = --size_[position];
  for (const int* e = p_.exact_of_value.first(value); e != p_.exact_of_value.last(value); ++e) {
    if (--open_[*e] <= 1) exact_queue_.push_back(*e);
  }
  if (left == 0) {
    gather_start();
    gather_removed(position);
    gathered_conflict(position);
    return false;
  }
  if (left == 1) announce(first_value(position));
  if (!p_.only_slots[position]) wake(position, value);
  if (costed_[position]) {
    for (std::size_t c = 0; c < loss_.size(); ++c) {
      if (best_[c][position] != value) continue;
      int best = first_value(position);
      for (int v = best; v >= 0; v = next_value(position, v)) best = loss_[c][v] < loss_[c][best] ? v : best;
      best_[c][position] = best;
      bound_[c] += loss_[c][best] - loss_[c][value];
      filter_due_ = true;
    }
  }
  return true;
}

// Queues what depends on the position: wide literals that now hold, sums, recursive components.
void State::wake(int position, int removed) {
  if (!direct_ || position >= p_.real) {
    for (const int* k = p_.wide_of_position.first(position); k != p_.wide_of_position.last(position); ++k) {
      const int literal = p_.values + *k;
      if (!p_.literal_has(literal, removed) && holds(literal)) literal_queue_.push_back(literal);
    }
  }
  for (const int* k = p_.linears_of_position.first(position); k != p_.linears_of_position.last(position);
       ++k) {
    if (!linear_queued_[*k]) {
      linear_queued_[*k] = 1;
      linear_queue_.push_back(*k);
    }
  }
  for (const int* k = p_.components_of_position.first(position);
       k != p_.components_of_position.last(position); ++k) {
    if (!component_queued_[*k]) {
      component_queued_[*k] = 1;
      component_queue_.push_back(*k);
    }
  }
}

void State::restore(int value) {
  const int position = p_.position_of[value];
  domain_[p_.value_word[value]] |= p_.value_bit[value];
  ++size_[position];
  for (const int* e = p_.exact_of_value.first(value); e != p_.exact_of_value.last(value); ++e) ++open_[*e];
  if (!costed_[position]) return;
  for (std::size_t c = 0; c < loss_.size(); ++c) {
    int& best = best_[c][position];
    if (loss_[c][value] < loss_[c][best]) {
      bound_[c] -= loss_[c][best] - loss_[c][value];
      best = value;
    }
  }
}

bool State::fix(int value, Reason reason) {
  const int position = p_.position_of[value];
  if (!has(value)) {
    gather_start();
    gather(reason);
    gather(reason_[value]);
    gathered_conflict(position);
    return false;
  }
  for (int v = first_value(position); v >= 0; v = next_value(position, v)) {
    if (v != value && !remove(v, reason)) return false;
  }
  return true;
}

bool State::refute(int literal, Reason reason) {
  if (literal < p_.values) return remove(literal, reason);
  const int position = p_.wide_position[literal - p_.values];
  for (int v = first_value(position); v >= 0; v = next_value(position, v)) {
    if (p_.literal_has(literal, v) && !remove(v, reason)) return false;
  }
  return true;
}

void State::decide(int value) {
  levels_.push_back({value, trail_.size(), arena_.size()});
  const int bit = level() - 1;
  const Reason reason = static_cast<Reason>(arena_.size() / static_cast<std::size_t>(words_));
  arena_.resize(arena_.size() + static_cast<std::size_t>(words_), 0);
  arena_[arena_.size() - static_cast<std::size_t>(words_) + static_cast<std::size_t>(bit / 64)] =
      std::uint64_t{1} << (bit % 64);
  fix(value, reason);
}

void State::backtrack(int target) {
  if (target >= level()) {
    clear_queues();
    return;
  }
  const Level mark = levels_[target];
  while (trail_.size() > mark.trail) {
    restore(trail_.back());
    trail_.pop_back();
  }
  arena_.resize(mark.arena);
  levels_.resize(static_cast<std::size_t>(target));
  filter_due_ = true;
  clear_queues();
}

void State::clear_queues() {
  literal_queue_.clear();
  literal_next_ = 0;
  exact_queue_.clear();
  for (const int k : linear_queue_) linear_queued_[k] = 0;
  linear_queue_.clear();
  for (const int k : component_queue_) component_queued_[k] = 0;
  component_queue_.clear();
}

void State::gather_start() {
  gathered_one_ = 0;
  gathered_many_ = false;
}

void State::gather(Reason reason) {
  if (reason == 0 || reason == gathered_one_) return;
  const std::size_t words = static_cast<std::size_t>(words_);
  if (!gathered_many_) {
    if (gathered_one_ == 0) {
      gathered_one_ = reason;
      return;
    }
    gathered_many_ = true;
    std::copy_n(arena_.begin() + static_cast<std::ptrdiff_t>(gathered_one_ * words), words,
                gathering_.begin());
  }
  for (std::size_t w = 0; w < words; ++w) gathering_[w] |= arena_[reason * words + w];
}

void State::gather_removed(int position) {
  for (int v = p_.value_begin[position]; v < p_.value_begin[position + 1]; ++v) {
    if (!has(v)) gather(reason_[v]);
  }
}

void State::gather_holds(int literal) {
  // What lies outside the literal's set has been removed.
  const int position = p_.position_of_literal(literal);
  for (int v = p_.value_begin[position]; v < p_.value_begin[position + 1]; ++v) {
    if (!p_.literal_has(literal, v)) gather(reason_[v]);
  }
}

void State::gather_fails(int literal) {
  const int position = p_.position_of_literal(literal);
  for (int v = p_.value_begin[position]; v < p_.value_begin[position + 1]; ++v) {
    if (p_.literal_has(literal, v)) gather(reason_[v]);
  }
}

State::Reason State::gathered() {
  if (!gathered_many_) return gathered_one_;
  const Reason reason = static_cast<Reason>(arena_.size() / static_cast<std::size_t>(words_));
  arena_.insert(arena_.end(), gathering_.begin(), gathering_.end());
  return reason;
}

void State::gathered_conflict(int position) {
  conflict_position_ = position;
  if (gathered_many_) {
    conflict_ = gathering_;
  } else {
    std::copy_n(arena_.begin() + static_cast<std::ptrdiff_t>(gathered_one_) * words_, words_,
                conflict_.begin());
  }
}

int State::deepest_conflict_level() const {
  for (int w = words_ - 1; w >= 0; --w) {
    if (conflict_[w]) return 64 * w + 64 - __builtin_clzll(conflict_[w]);
  }
  return 0;
}

State::Reason State::reason_without(int conflict_level) {
  const int bit = conflict_level - 1;
  conflict_[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
  if (deepest_conflict_level() == 0) return 0;
  const Reason reason = static_cast<Reason>(arena_.size() / static_cast<std::size_t>(words_));
  arena_.insert(arena_.end(), conflict_.begin(), conflict_.end());
  return reason;
}

void State::conflict_with_all() {
  std::fill(conflict_.begin(), conflict_.end(), 0);
  for (int bit = 0; bit < level(); ++bit) conflict_[bit / 64] |= std::uint64_t{1} << (bit % 64);
}

void State::conflict_with(const std::vector<int>& positions) {
  gather_start();
  for (const int position : positions) gather_removed(position);
  gathered_conflict(-1);
}

void State::conflict_with_bound() {
  gather_start();
  gather_bound();
  gathered_conflict(-1);
}

void State::gather_bound() {
  for (const int i : costed_list_) {
    for (std::size_t c = 0; c < loss_.size(); ++c) {
      const std::int64_t paid = loss_[c][best_[c][i]];
      if (paid == 0) continue;
      for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
        if (loss_[c][v] < paid && !has(v)) gather(reason_[v]);
      }
    }
  }
}

bool State::refused(const std::vector<std::int64_t>& bound) const {
  return !std::lexicographical_compare(bound.begin(), bound.end(), cutoff_.begin(), cutoff_.end());
}

// Refuses a branch whose bound reaches the cutoff, and removes every value that would take it there.
bool State::check_bound() {
  if (cutoff_.empty()) return true;
  if (refused(bound_)) {
    least_refused_ = std::min(least_refused_, bound_[0]);
    conflict_with_bound();
    return false;
  }
  if (!filter_due_) return true;
  filter_due_ = false;
  Reason reason = 0;
  bool have_reason = false;
  start_ = bound_;
  for (const int i : costed_list_) {
    if (size_[i] == 1) continue;
    for (std::size_t c = 0; c < loss_.size(); ++c) rest_[c] = start_[c] - loss_[c][best_[c][i]];
    for (int v = first_value(i); v >= 0; v = next_value(i, v)) {
      if (rest_[0] + loss_[0][v] < cutoff_[0]) continue;
      bool refuse = true;
      for (std::size_t c = 0; c < loss_.size(); ++c) {
        const std::int64_t with = rest_[c] + loss_[c][v];
        if (with == cutoff_[c]) continue;
        refuse = with > cutoff_[c];
        break;
      }
      if (!refuse) continue;
      least_refused_ = std::min(least_refused_, rest_[0] + loss_[0][v]);
      if (!have_reason) {
        gather_start();
        gather_bound();
        reason = gathered();
        have_reason = true;
      }
      if (!remove(v, reason)) return false;
    }
  }
  return true;
}

}  // namespace as2::decode
