// The propagators of State: slots, watched nogoods, exactly-one rows (hidden singles), bounds of linear
// constraints, and unfounded sets of recursive components.
#include <algorithm>

#include "decode/state.h"
#include "decode/value_sets.h"

namespace as2::decode {
bool State::propagate() {
  for (;;) {
    if (literal_next_ < literal_queue_.size()) {
      if (!propagate_literal(literal_queue_[literal_next_++])) return false;
    } else if (!exact_queue_.empty()) {
      const int row = exact_queue_.back();
      exact_queue_.pop_back();
      if (!direct_ && !propagate_exact(row)) return false;
    } else if (!linear_queue_.empty()) {
      const int linear = linear_queue_.back();
      linear_queue_.pop_back();
      linear_queued_[linear] = 0;
      if (!propagate_linear(linear)) return false;
    } else if (!component_queue_.empty()) {
      const int component = component_queue_.back();
      component_queue_.pop_back();
      component_queued_[component] = 0;
      if (!propagate_component(component)) return false;
    } else {
      literal_queue_.clear();
      literal_next_ = 0;
      const std::size_t before = trail_.size();
      if (!check_bound()) return false;
      if (trail_.size() == before) return true;
    }
  }
}

bool State::propagate_literal(int literal) {
  Reason reason = 0;
  bool have_reason = levels_.empty();
  for (const int* s = p_.slots_of_literal.first(literal); s != p_.slots_of_literal.last(literal); ++s) {
    for (const int* m = p_.slots.first(*s); m != p_.slots.last(*s); ++m) {
      if (*m == literal || (*m < p_.values ? !has(*m) : fails(*m))) continue;
      if (!have_reason) {
        gather_start();
        gather_holds(literal);
        reason = gathered();
        have_reason = true;
      }
      if (!refute(*m, reason)) return false;
    }
  }
  return watch_head_[literal] < 0 || propagate_watches(literal);
}

bool State::propagate_watches(int literal) {
  int* link = &watch_head_[literal];
  while (*link >= 0) {
    const int watch = *link;
    const int other = watched_[watch ^ 1];
    if (fails(other)) {
      link = &watch_next_[watch];
      continue;
    }
    const int nogood = watch / 2;
    int replacement = -1;
    for (const int* l = p_.nogoods.first(nogood); l != p_.nogoods.last(nogood); ++l) {
      if (*l != other && *l != literal && !holds(*l)) {
        replacement = *l;
        break;
      }
    }
    if (replacement >= 0) {
      *link = watch_next_[watch];
      watched_[watch] = replacement;
      watch_next_[watch] = watch_head_[replacement];
      watch_head_[replacement] = watch;
      continue;
    }
    gather_start();
    for (const int* l = p_.nogoods.first(nogood); l != p_.nogoods.last(nogood); ++l) {
      if (*l != other) gather_holds(*l);
    }
    if (holds(other)) {
      gather_holds(other);
      gathered_conflict(p_.position_of_literal(other));
      return false;
    }
    if (!refute(other, gathered())) return false;
    link = &watch_next_[watch];
  }
  return true;
}

bool State::propagate_exact(int row) {
  if (open_[row] > 1) return true;
  int last = -1;
  for (const int* v = p_.exact.first(row); v != p_.exact.last(row); ++v) last = has(*v) ? *v : last;
  if (last >= 0 && size_[p_.position_of[last]] == 1) return true;
  gather_start();
  for (const int* v = p_.exact.first(row); v != p_.exact.last(row) && !levels_.empty(); ++v) {
    if (*v != last) gather(reason_[*v]);
  }
  if (last < 0) {
    gathered_conflict(p_.position_of[*p_.exact.first(row)]);
    return false;
  }
  return fix(last, gathered());
}

void State::gather_linear(const LinearConstraint& linear) {
  gather_start();
  for (std::size_t k = 0; k < linear.positions.size(); ++k) {
    const int begin = p_.value_begin[linear.positions[k]];
    for (std::size_t s = 0; s < linear.values[k].size(); ++s) {
      // Only the removal of values beyond the remaining extremes has moved a bound.
      const std::int64_t x = linear.values[k][s];
      if ((x < least_[k] || x > most_[k]) && !has(begin + static_cast<int>(s))) {
        gather(reason_[begin + static_cast<int>(s)]);
      }
    }
  }
  if (linear.guard >= 0) gather_removed(linear.guard);
}

bool State::propagate_linear(int index) {
  const LinearConstraint& linear = p_.linears[index];
  const std::size_t count = linear.positions.size();
  least_.resize(std::max(least_.size(), count));
  most_.resize(std::max(most_.size(), count));
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const int i = linear.positions[k];
    const int begin = p_.value_begin[i];
    int v = first_value(i);
    std::int64_t least = linear.values[k][v - begin];
    std::int64_t most = least;
    for (v = next_value(i, v); v >= 0; v = next_value(i, v)) {
      least = std::min(least, linear.values[k][v - begin]);
      most = std::max(most, linear.values[k][v - begin]);
    }
    least_[k] = least;
    most_[k] = most;
    low += least;
    high += most;
  }
  Reason reason = 0;
  bool have_reason = levels_.empty();
  const auto because = [&] {
    if (!have_reason) {
      gather_linear(linear);
      reason = gathered();
      have_reason = true;
    }
    return reason;
  };
  const int guard = linear.guard;
  const int guard_begin = guard >= 0 ? p_.value_begin[guard] : 0;
  bool entailed = guard < 0 && covers(linear.allowed[0], low, high);
  if (guard < 0 && !meets(linear.allowed[0], low, high)) {
    gather_linear(linear);
    gathered_conflict(count ? linear.positions[0] : -1);
    return false;
  }
  if (guard >= 0) {
    for (int g = first_value(guard); g >= 0; g = next_value(guard, g)) {
      const auto& allowed = linear.allowed[g - guard_begin];
      if (!meets(allowed, low, high) && !remove(g, because())) return false;
      entailed = entailed || covers(allowed, low, high);
    }
  }
  if (entailed) return true;
  const auto possible = [&](std::int64_t from, std::int64_t to) {
    if (guard < 0) return meets(linear.allowed[0], from, to);
    for (int g = first_value(guard); g >= 0; g = next_value(guard, g)) {
      if (meets(linear.allowed[g - guard_begin], from, to)) return true;
    }
    return false;
  };
  // The guard may just have shrunk, so the reason has to be gathered again, with its new removals.
  if (guard >= 0 && !levels_.empty()) have_reason = false;
  for (std::size_t k = 0; k < count; ++k) {
    const int i = linear.positions[k];
    if (size_[i] == 1 || least_[k] == most_[k]) continue;
    const int begin = p_.value_begin[i];
    for (int v = first_value(i); v >= 0; v = next_value(i, v)) {
      const std::int64_t x = linear.values[k][v - begin];
      if (!possible(low - least_[k] + x, high - most_[k] + x) && !remove(v, because())) return false;
    }
  }
  return true;
}

// What cannot be derived from inputs that may still hold, does not hold. Least fixpoint of "possible".
bool State::propagate_component(int index) {
  const auto& members = p_.components[index].members;
  founded_.assign(members.size(), 0);
  const auto may_hold = [&](int input) { return input < 0 ? founded_[~input] != 0 : !fails(input); };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto& member = members[m];
      if (founded_[m] || !has(p_.value_begin[member.position] + 1)) continue;
      const bool derivable = member.conjunction
                                 ? std::all_of(member.inputs.begin(), member.inputs.end(), may_hold)
                                 : std::any_of(member.inputs.begin(), member.inputs.end(), may_hold);
      if (derivable) {
        founded_[m] = 1;
        changed = true;
      }
    }
  }
  Reason reason = 0;
  bool have_reason = levels_.empty();
  for (std::size_t m = 0; m < members.size(); ++m) {
    const int holds_value = p_.value_begin[members[m].position] + 1;
    if (founded_[m] || !has(holds_value)) continue;
    if (!have_reason) {
      gather_start();
      for (const auto& member : members) {
        if (!has(p_.value_begin[member.position] + 1)) gather(reason_[p_.value_begin[member.position] + 1]);
        for (const int input : member.inputs) {
          if (input >= 0 && fails(input)) gather_fails(input);
        }
      }
      reason = gathered();
      have_reason = true;
    }
    if (!remove(holds_value, reason)) return false;
  }
  return true;
}

}  // namespace as2::decode
