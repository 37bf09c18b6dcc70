// Unfounded sets. What cannot be derived from inputs that may still hold does not hold. The explanation of an
// unfounded set names only what cut its members off: every outside input of a disjunction, one failed input
// of a conjunction.
#include <algorithm>

#include "decode/learner.h"

namespace as2::decode {

bool Learner::propagate_component(int index) {
  const RecursiveComponent& component = p_.components[index];
  const auto& members = component.members;
  const auto atom = [&](std::size_t m) { return of_literal(p_.value_begin[members[m].position] + 1); };
  founded_.assign(members.size(), 0);
  waiting_.assign(members.size(), 0);
  ready_.clear();
  const auto found = [&](std::size_t m) {
    if (founded_[m] || is_false(atom(m))) return;
    founded_[m] = 1;
    ready_.push_back(static_cast<int>(m));
  };
  for (std::size_t m = 0; m < members.size(); ++m) {
    bool any = false;
    for (const int input : members[m].inputs) {
      const bool may_hold = input >= 0 && !is_false(of_literal(input));
      any = any || may_hold;
      if (!may_hold) ++waiting_[m];
    }
    if (members[m].conjunction ? waiting_[m] == 0 : any) found(m);
  }
  while (!ready_.empty()) {
    const int m = ready_.back();
    ready_.pop_back();
    for (const int* user = component.users.first(m); user != component.users.last(m); ++user) {
      const std::size_t u = static_cast<std::size_t>(*user);
      if (--waiting_[u] == 0 || !members[u].conjunction) found(u);
    }
  }
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (!founded_[m] && !is_false(atom(m)) && !falsify_unfounded(index, static_cast<int>(m))) return false;
  }
  return true;
}

// Collects the unfounded members that `start` would need, and makes all of them false.
bool Learner::falsify_unfounded(int index, int start) {
  const auto& members = p_.components[index].members;
  const auto atom = [&](int m) { return of_literal(p_.value_begin[members[m].position] + 1); };
  std::vector<int> region{start};
  std::vector<char> inside(members.size(), 0);
  inside[start] = 1;
  const std::size_t begin = stored_literals_.size();
  const auto cut_off_by = [&](int m) {  // m, unfounded, has failed already or is visited
    if (is_false(atom(m))) {
      stored_literals_.push_back(atom(m));
    } else if (!inside[m]) {
      inside[m] = 1;
      region.push_back(m);
    }
  };
  for (std::size_t k = 0; k < region.size(); ++k) {
    const auto& member = members[region[k]];
    if (!member.conjunction) {
      for (const int input : member.inputs) {
        if (input >= 0) {
          stored_literals_.push_back(of_literal(input));
        } else {
          cut_off_by(~input);
        }
      }
      continue;
    }
    // One failed input is enough: the one that failed first, else a member that is being followed anyway.
    int blocker = -1;
    Literal earliest = -1;
    for (const int input : member.inputs) {
      const Literal l = input >= 0 ? of_literal(input) : atom(~input);
      if (is_false(l) && (earliest < 0 || trail_place_[l >> 1] < trail_place_[earliest >> 1])) {
        earliest = l;
      }
      if (input < 0 && !founded_[~input] && !is_false(l) && (blocker < 0 || inside[~input])) blocker = ~input;
    }
    if (earliest >= 0) {
      stored_literals_.push_back(earliest);
    } else {
      cut_off_by(blocker);
    }
  }
  const Reason because{Kind::kStored, static_cast<std::uint32_t>(stored_.size())};
  stored_.push_back({begin, trail_.size()});
  for (const int m : region) {
    if (!is_false(atom(m)) && !assign(atom(m) ^ 1, because)) return false;
  }
  return true;
}

}  // namespace as2::decode
