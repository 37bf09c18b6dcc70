#include "prob/residual.h"

#include <algorithm>
#include <map>

#include "decode/value_sets.h"

namespace as2::prob {
namespace {

enum Item : std::uint64_t { kPosition = 1, kNogood, kLinear, kRead, kRequired, kConjunction, kLiterals };

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

Residual::Residual(const decode::Problem& problem, const decode::State& state,
                   const std::vector<char>& observed)
    : problem_(problem),
      state_(state),
      nogoods_of_literal_(problem.nogoods.transposed(problem.literals())),
      members_of_position_(static_cast<std::size_t>(problem.positions)),
      observed_(observed),
      is_member_(static_cast<std::size_t>(problem.positions), 0),
      position_seen_(static_cast<std::size_t>(problem.positions), 0),
      slot_seen_(static_cast<std::size_t>(problem.slots.rows()), 0),
      nogood_seen_(static_cast<std::size_t>(problem.nogoods.rows()), 0),
      linear_seen_(problem.linears.size(), 0),
      component_seen_(problem.components.size(), 0),
      exposed_(static_cast<std::size_t>(problem.positions), 0) {
  for (std::size_t c = 0; c < problem.components.size(); ++c) {
    const auto& members = problem.components[c].members;
    users_.emplace_back(members.size());
    established_.emplace_back(members.size(), 0);
    member_seen_.emplace_back(members.size(), 0);
    source_seen_.emplace_back(members.size(), 0);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const MemberRef ref{static_cast<int>(c), static_cast<int>(m)};
      members_of_position_[members[m].position].push_back({ref, -1});
      is_member_[members[m].position] = 1;
      for (const int input : members[m].inputs) {
        if (input < 0) {
          users_[c][~input].push_back(ref.member);
        } else {
          members_of_position_[problem.position_of_literal(input)].push_back({ref, input});
        }
      }
    }
  }
  find_owners();
}

// A nogood that says no more than how a member follows from its inputs: recognised by its literals, so one
// that a user wrote beside it counts too, and says the same.
void Residual::find_owners() {
  std::map<std::vector<int>, MemberRef> completions;
  const auto negated = [&](int literal) {
    // Only of Boolean positions and of values: others are left unrecognised.
    const int position = problem_.position_of_literal(literal);
    const int begin = problem_.value_begin[position];
    const bool two = problem_.value_begin[position + 1] - begin == 2 && literal < problem_.values;
    return two ? 2 * begin + 1 - literal : -1;
  };
  for (std::size_t c = 0; c < problem_.components.size(); ++c) {
    const auto& members = problem_.components[c].members;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const MemberRef ref{static_cast<int>(c), static_cast<int>(m)};
      const int fails = problem_.value_begin[members[m].position];
      const bool conjunction = members[m].conjunction;
      std::vector<int> all{conjunction ? fails : fails + 1};
      bool complete = true;
      for (const int input : members[m].inputs) {
        const int literal = input < 0 ? problem_.value_begin[members[~input].position] + 1 : input;
        const int opposite = negated(literal);
        const int weak = conjunction ? opposite : literal;
        const int strong = conjunction ? literal : opposite;
        complete = complete && strong >= 0;
        all.push_back(strong);
        if (weak < 0) continue;
        std::vector<int> pair{conjunction ? fails + 1 : fails, weak};
        std::sort(pair.begin(), pair.end());
        completions.emplace(std::move(pair), ref);
      }
      std::sort(all.begin(), all.end());
      if (complete) completions.emplace(std::move(all), ref);
    }
  }
  for (int n = 0; n < problem_.nogoods.rows(); ++n) {
    std::vector<int> literals(problem_.nogoods.first(n), problem_.nogoods.last(n));
    std::sort(literals.begin(), literals.end());
    const auto found = completions.find(literals);
    owner_.push_back(found == completions.end() ? MemberRef{-1, -1} : found->second);
  }
}

bool Residual::silent(int position) const {
  return is_member_[position] && exposed_[position] != call_ && !observed_[position];
}

std::vector<Part> Residual::split(const std::vector<int>& scope) {
  ++call_;
  std::vector<Part> parts;
  for (const int start : scope) {
    if (!open(start) || position_seen_[start] == call_) continue;
    part_ = {};
    visited_members_.clear();
    reach(start);
    while (!stack_.empty()) {
      const int position = stack_.back();
      stack_.pop_back();
      part_.positions.push_back(position);
      for (int v = state_.first_value(position); v >= 0; v = state_.next_value(position, v)) visit_literal(v);
      const decode::Table& wide = problem_.wide_of_position;
      for (const int* k = wide.first(position); k != wide.last(position); ++k) {
        const int literal = problem_.values + *k;
        if (undecided(literal)) visit_literal(literal);
      }
      const decode::Table& linears = problem_.linears_of_position;
      for (const int* k = linears.first(position); k != linears.last(position); ++k) {
        if (varies_in(*k, position)) visit_linear(*k);
      }
      for (const MemberUse& use : members_of_position_[position]) {
        if (use.literal >= 0 && !undecided(use.literal)) continue;
        find_established(use.ref.component);
        visit_member(use.ref);
      }
    }
    std::sort(part_.positions.begin(), part_.positions.end());
    for (const int position : part_.positions) {
      if (silent(position)) continue;
      Fingerprint item;
      item.append(kPosition);
      item.append(static_cast<std::uint64_t>(position));
      for (int w = problem_.word_begin[position]; w < problem_.word_begin[position + 1]; ++w) {
        item.append(state_.word(w));
      }
      part_.fingerprint.add(item);
    }
    std::sort(visited_members_.begin(), visited_members_.end());
    std::vector<int> members;
    for (std::size_t k = 0; k < visited_members_.size(); ++k) {
      members.push_back(visited_members_[k].second);
      const int component = visited_members_[k].first;
      if (k + 1 < visited_members_.size() && visited_members_[k + 1].first == component) continue;
      add_component(component, members);
      members.clear();
    }
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
  const MemberRef owner = owner_[nogood];
  if (owner.component >= 0) find_established(owner.component);
  const bool defines = owner.component >= 0 && unsettled(owner);
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
    if (!defines) expose(problem_.position_of_literal(*literal));
  }
  if (!partly || defines) return;  // what defines a member is said by its sources
  item.append(kNogood);
  add_item(item);
}

// Is the position the sum's guard, or do its values left differ in the sum? One that is neither has no part
// in it.
bool Residual::varies_in(int index, int position) const {
  const decode::LinearConstraint& linear = problem_.linears[index];
  if (linear.guard == position) return true;
  const auto found = std::find(linear.positions.begin(), linear.positions.end(), position);
  const std::vector<std::int64_t>& values =
      linear.values[static_cast<std::size_t>(found - linear.positions.begin())];
  const int begin = problem_.value_begin[position];
  const int first = state_.first_value(position);
  for (int v = first; v >= 0; v = state_.next_value(position, v)) {
    if (values[v - begin] != values[first - begin]) return true;
  }
  return false;
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
  if (guard_open) {
    reach(guard);
    expose(guard);
  }
  for (std::size_t k = 0; k < linear.positions.size(); ++k) {
    const int position = linear.positions[k];
    if (!open(position)) continue;
    const auto [least, most] = range(k);
    if (least == most) continue;
    reach(position);
    expose(position);
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

// With a list of those to come: a component can be longer than the stack is deep.
void Residual::visit_member(const MemberRef& ref) {
  std::vector<int> pending;
  const auto pass = [&](int member) {
    int& seen = member_seen_[ref.component][member];
    if (seen == call_ || !unsettled({ref.component, member})) return;
    seen = call_;
    visited_members_.emplace_back(ref.component, member);
    pending.push_back(member);
  };
  pass(ref.member);
  while (!pending.empty()) {
    const int at = pending.back();
    pending.pop_back();
    const auto& member = problem_.components[ref.component].members[at];
    if (open(member.position)) reach(member.position);
    for (const int input : member.inputs) {
      if (input < 0) {
        pass(~input);
      } else if (undecided(input)) {
        reach(problem_.position_of_literal(input));
        expose(problem_.position_of_literal(input));
      }
    }
    for (const int user : users_[ref.component][at]) pass(user);
  }
}

// Members whose truth something else reads, and those that must still be derived, with all that they follow
// from.
void Residual::add_component(int component, const std::vector<int>& members) {
  const auto& all = problem_.components[component].members;
  std::vector<int> pending;  // conjunctions that some source names
  std::vector<Fingerprint> items;
  const auto describe = [&](Fingerprint item, int member) {
    const Sources sources = sources_of(component, member);
    pending.insert(pending.end(), sources.conjunctions.begin(), sources.conjunctions.end());
    const Fingerprint from = fingerprint_of(sources);
    item.append(from.first);
    item.append(from.second);
    return item;
  };
  for (const int member : members) {
    const int position = all[member].position;
    Fingerprint item;
    if (!open(position)) {
      item.append(kRequired);
    } else if (!silent(position)) {
      item.append(kRead);
      item.append(static_cast<std::uint64_t>(position));
    } else {
      continue;
    }
    items.push_back(describe(item, member));
  }
  std::vector<int> done;
  while (!pending.empty()) {
    const int member = pending.back();
    pending.pop_back();
    if (std::find(done.begin(), done.end(), member) != done.end()) continue;
    done.push_back(member);
    Fingerprint item;
    item.append(kConjunction);
    item.append(static_cast<std::uint64_t>(component));
    item.append(static_cast<std::uint64_t>(member));
    for (const int input : all[member].inputs) {
      if (input >= 0) {
        if (!state_.holds(input)) item.append(static_cast<std::uint64_t>(input));
      } else if (unsettled({component, ~input})) {
        item = describe(item, ~input);
      }
    }
    items.push_back(item);
  }
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  for (const Fingerprint& item : items) add_item(item);
}

// Everything that leads to the member without a condition: open literals, conjunctions of open literals, and
// conjunctions with members in them, which stand for themselves.
Residual::Sources Residual::sources_of(int component, int member) {
  const auto& members = problem_.components[component].members;
  std::vector<int>& seen = source_seen_[component];
  ++walk_;
  Sources sources;
  std::vector<int> stack{member};
  seen[member] = walk_;
  const auto pass = [&](int input) {
    if (seen[~input] == walk_ || !unsettled({component, ~input})) return;
    seen[~input] = walk_;
    stack.push_back(~input);
  };
  while (!stack.empty()) {
    const int at = stack.back();
    stack.pop_back();
    std::vector<int> literals;
    std::vector<int> inner;
    for (const int input : members[at].inputs) {
      if (input < 0) {
        if (unsettled({component, ~input})) inner.push_back(input);
      } else if (undecided(input)) {
        literals.push_back(input);
      }
    }
    std::sort(literals.begin(), literals.end());
    literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
    std::sort(inner.begin(), inner.end());
    inner.erase(std::unique(inner.begin(), inner.end()), inner.end());
    Fingerprint token;
    token.append(kLiterals);
    if (!members[at].conjunction) {
      for (const int literal : literals) {
        Fingerprint one = token;
        one.append(static_cast<std::uint64_t>(literal));
        sources.tokens.push_back(one);
      }
      for (const int input : inner) pass(input);
    } else if (literals.empty() && inner.size() == 1) {
      pass(inner.front());
    } else if (inner.empty()) {
      for (const int literal : literals) token.append(static_cast<std::uint64_t>(literal));
      sources.tokens.push_back(token);
    } else {
      token.append(kConjunction);
      token.append(static_cast<std::uint64_t>(component));
      token.append(static_cast<std::uint64_t>(at));
      sources.tokens.push_back(token);
      sources.conjunctions.push_back(at);
    }
  }
  std::sort(sources.tokens.begin(), sources.tokens.end());
  sources.tokens.erase(std::unique(sources.tokens.begin(), sources.tokens.end()), sources.tokens.end());
  return sources;
}

Fingerprint Residual::fingerprint_of(const Sources& sources) const {
  Fingerprint result;
  for (const Fingerprint& token : sources.tokens) {
    result.append(token.first);
    result.append(token.second);
  }
  return result;
}

}  // namespace as2::prob
