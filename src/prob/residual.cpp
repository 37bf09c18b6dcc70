#include "prob/residual.h"

#include <algorithm>

#include "decode/value_sets.h"

namespace as2::prob {
namespace {

enum Item : std::uint64_t { kPosition = 1, kNogood, kLinear, kMember };

// The part of the set that lies in [low, high].
void clip(const compile::ValueSet& set, std::int64_t low, std::int64_t high,
          std::vector<std::pair<std::int64_t, std::int64_t>>& result) {
  result.clear();
  for (auto interval = decode::first_reaching(set, low);
       interval != set.intervals.end() && interval->first <= high; ++interval) {
    result.emplace_back(std::max(low, interval->first), std::min(high, interval->second));
  }
}

bool is_all(const std::vector<std::pair<std::int64_t, std::int64_t>>& clipped, std::int64_t low,
            std::int64_t high) {
  return clipped.size() == 1 && clipped[0].first == low && clipped[0].second == high;
}

}  // namespace

Residual::Residual(const decode::Problem& problem, const decode::State& state)
    : problem_(problem),
      state_(state),
      nogoods_of_literal_(problem.nogoods.transposed(problem.literals())),
      members_of_position_(static_cast<std::size_t>(problem.positions)),
      position_seen_(static_cast<std::size_t>(problem.positions), 0),
      slot_seen_(static_cast<std::size_t>(problem.slots.rows()), 0),
      nogood_seen_(static_cast<std::size_t>(problem.nogoods.rows()), 0),
      linear_seen_(problem.linears.size(), 0),
      component_seen_(problem.components.size(), 0) {
  for (std::size_t c = 0; c < problem.components.size(); ++c) {
    const auto& members = problem.components[c].members;
    users_.emplace_back(members.size());
    established_.emplace_back(members.size(), 0);
    member_seen_.emplace_back(members.size(), 0);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const MemberRef ref{static_cast<int>(c), static_cast<int>(m)};
      members_of_position_[members[m].position].push_back(ref);
      for (const int input : members[m].inputs) {
        if (input < 0) {
          users_[c][~input].push_back(ref.member);
        } else {
          members_of_position_[problem.position_of_literal(input)].push_back(ref);
        }
      }
    }
  }
}

std::vector<Part> Residual::split(const std::vector<int>& scope) {
  ++call_;
  std::vector<Part> parts;
  for (const int start : scope) {
    if (!open(start) || position_seen_[start] == call_) continue;
    part_ = {};
    reach(start);
    while (!stack_.empty()) {
      const int position = stack_.back();
      stack_.pop_back();
      part_.positions.push_back(position);
      Fingerprint item;
      item.append(kPosition);
      item.append(static_cast<std::uint64_t>(position));
      for (int w = problem_.word_begin[position]; w < problem_.word_begin[position + 1]; ++w) {
        item.append(state_.word(w));
      }
      part_.fingerprint.add(item);
      for (int v = state_.first_value(position); v >= 0; v = state_.next_value(position, v)) visit_literal(v);
      const decode::Table& wide = problem_.wide_of_position;
      for (const int* k = wide.first(position); k != wide.last(position); ++k) {
        const int literal = problem_.values + *k;
        if (!state_.fails(literal) && !state_.holds(literal)) visit_literal(literal);
      }
      const decode::Table& linears = problem_.linears_of_position;
      for (const int* k = linears.first(position); k != linears.last(position); ++k) visit_linear(*k);
      for (const MemberRef& ref : members_of_position_[position]) {
        find_established(ref.component);
        visit_member(ref);
      }
    }
    std::sort(part_.positions.begin(), part_.positions.end());
    parts.push_back(std::move(part_));
  }
  return parts;
}

void Residual::reach(int position) {
  if (position_seen_[position] == call_) return;
  position_seen_[position] = call_;
  stack_.push_back(position);
}

void Residual::add_item(const Fingerprint& item) {
  part_.fingerprint.add(item);
  part_.constrained = true;
}

void Residual::visit_literal(int literal) {
  const decode::Table& slots = problem_.slots_of_literal;
  for (const int* s = slots.first(literal); s != slots.last(literal); ++s) visit_slot(*s);
  for (const int* n = nogoods_of_literal_.first(literal); n != nogoods_of_literal_.last(literal); ++n) {
    visit_nogood(*n);
  }
}

void Residual::visit_slot(int slot) {
  if (slot_seen_[slot] == call_) return;
  slot_seen_[slot] = call_;
  // Where a member holds, propagation has refuted the others.
  for (const int* m = problem_.slots.first(slot); m != problem_.slots.last(slot); ++m) {
    if (!state_.fails(*m) && open(problem_.position_of_literal(*m))) reach(problem_.position_of_literal(*m));
  }
}

void Residual::visit_nogood(int nogood) {
  if (nogood_seen_[nogood] == call_) return;
  nogood_seen_[nogood] = call_;
  const int* first = problem_.nogoods.first(nogood);
  const int* last = problem_.nogoods.last(nogood);
  if (std::any_of(first, last, [&](int literal) { return state_.fails(literal); })) return;
  bool partly = false;
  Fingerprint item;
  for (const int* literal = first; literal != last; ++literal) {
    if (state_.holds(*literal)) {
      partly = true;
      continue;
    }
    Fingerprint one;
    one.append(static_cast<std::uint64_t>(*literal));
    item.add(one);
    reach(problem_.position_of_literal(*literal));
  }
  if (!partly) return;
  item.append(kNogood);
  add_item(item);
}

void Residual::visit_linear(int index) {
  if (linear_seen_[index] == call_) return;
  linear_seen_[index] = call_;
  const decode::LinearConstraint& linear = problem_.linears[index];
  const auto range = [&](std::size_t k) {
    const int position = linear.positions[k];
    const int begin = problem_.value_begin[position];
    std::pair<std::int64_t, std::int64_t> bounds{linear.values[k][state_.first_value(position) - begin], 0};
    bounds.second = bounds.first;
    for (int v = state_.first_value(position); v >= 0; v = state_.next_value(position, v)) {
      bounds.first = std::min(bounds.first, linear.values[k][v - begin]);
      bounds.second = std::max(bounds.second, linear.values[k][v - begin]);
    }
    return bounds;
  };
  std::int64_t settled = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t k = 0; k < linear.positions.size(); ++k) {
    const auto [least, most] = range(k);
    if (least == most) {
      settled += least;
    } else {
      low += least;
      high += most;
    }
  }
  const int guard = linear.guard;
  const bool guard_open = guard >= 0 && open(guard);
  Fingerprint item;
  item.append(kLinear);
  item.append(static_cast<std::uint64_t>(index));
  bool entailed = true;
  const auto meet = [&](const compile::ValueSet& allowed) {
    clip(allowed, settled + low, settled + high, clipped_);
    entailed = entailed && is_all(clipped_, settled + low, settled + high);
  };
  if (guard_open) {
    for (int g = state_.first_value(guard); g >= 0 && entailed; g = state_.next_value(guard, g)) {
      meet(linear.allowed[g - problem_.value_begin[guard]]);
    }
    item.append(static_cast<std::uint64_t>(settled));
  } else {
    meet(linear.allowed[guard < 0 ? 0 : state_.first_value(guard) - problem_.value_begin[guard]]);
    for (const auto& [from, to] : clipped_) {
      item.append(static_cast<std::uint64_t>(from - settled));
      item.append(static_cast<std::uint64_t>(to - settled));
    }
  }
  if (entailed) return;
  add_item(item);
  if (guard_open) reach(guard);
  for (std::size_t k = 0; k < linear.positions.size(); ++k) {
    const int position = linear.positions[k];
    if (!open(position) || position_seen_[position] == call_) continue;
    const auto [least, most] = range(k);
    if (least != most) reach(position);
  }
}

// Members that follow from inputs that hold already.
void Residual::find_established(int component) {
  if (component_seen_[component] == call_) return;
  component_seen_[component] = call_;
  const auto& members = problem_.components[component].members;
  std::vector<int>& founded = established_[component];
  const auto certain = [&](int input) { return input < 0 ? founded[~input] == call_ : state_.holds(input); };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto& inputs = members[m].inputs;
      if (founded[m] == call_) continue;
      if (members[m].conjunction ? std::all_of(inputs.begin(), inputs.end(), certain)
                                 : std::any_of(inputs.begin(), inputs.end(), certain)) {
        founded[m] = call_;
        changed = true;
      }
    }
  }
}

bool Residual::unsettled(const MemberRef& ref) const {
  const int position = problem_.components[ref.component].members[ref.member].position;
  return state_.has(problem_.value_begin[position] + 1) && !established(ref);
}

void Residual::visit_member(const MemberRef& ref) {
  int& seen = member_seen_[ref.component][ref.member];
  if (seen == call_ || !unsettled(ref)) return;
  seen = call_;
  const auto& member = problem_.components[ref.component].members[ref.member];
  if (open(member.position)) {
    reach(member.position);
  } else {
    Fingerprint item;
    item.append(kMember);
    item.append(static_cast<std::uint64_t>(ref.component));
    item.append(static_cast<std::uint64_t>(ref.member));
    add_item(item);
  }
  for (const int input : member.inputs) {
    if (input < 0) {
      visit_member({ref.component, ~input});
    } else if (!state_.fails(input) && !state_.holds(input)) {
      reach(problem_.position_of_literal(input));
    }
  }
  for (const int user : users_[ref.component][ref.member]) visit_member({ref.component, user});
}

}  // namespace as2::prob
