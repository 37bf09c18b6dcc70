// Random compiled programs, made directly: every kind of group, definitions (recursive ones too) and
// objectives, small enough to enumerate. And the enumeration that decoding is measured against.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/decoder.h"

namespace as2::decode_test {

using Random = std::mt19937_64;

inline int below(Random& random, int bound) {
  return static_cast<int>(random() % static_cast<unsigned>(bound));
}

inline compile::ConstraintProgram positions(const std::vector<int>& sizes) {
  compile::ConstraintProgram program;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    compile::Position position;
    position.name = "x(" + std::to_string(i) + ",_)";
    for (int s = 0; s < sizes[i]; ++s) {
      position.symbols.push_back(std::to_string(s));
      position.atoms.push_back("x(" + std::to_string(i) + "," + std::to_string(s) + ")");
    }
    program.positions.push_back(position);
  }
  return program;
}

class RandomConstraints {
 public:
  explicit RandomConstraints(std::uint64_t seed) : random_(seed) {}

  compile::ConstraintProgram make() {
    std::vector<int> sizes;
    const int count = 1 + below(random_, 6);
    for (int i = 0; i < count; ++i) sizes.push_back(below(random_, 12) == 0 ? 1 : 2 + below(random_, 3));
    program_ = positions(sizes);
    program_.families.emplace_back();
    program_.families.back().name = "family";
    add_nodes();
    const int groups = below(random_, 6);
    for (int g = 0; g < groups; ++g) add_group();
    const int levels = below(random_, 3) == 0 ? 1 + below(random_, 2) : 0;
    for (int level = 0; level < levels; ++level) {
      compile::ObjectiveLevel objective;
      objective.priority = levels - level;
      for (int k = below(random_, 4); k >= 0; --k) {
        compile::Cost cost;
        cost.weight = below(random_, 7) - 2;
        if (!program_.nodes.empty() && below(random_, 6) > 0) cost.condition = any_node();
        objective.costs.push_back(cost);
      }
      program_.objectives.push_back(objective);
    }
    return program_;
  }

 private:
  int size(int position) const { return static_cast<int>(program_.positions[position].symbols.size()); }

  // A set literal at the position: neither empty nor everything.
  compile::SetLiteral set_at(int position) {
    compile::SetLiteral set;
    set.position = position;
    do {
      set.symbols.clear();
      for (int s = 0; s < size(position); ++s) {
        if (below(random_, 3) == 0) set.symbols.push_back(s);
      }
    } while (set.symbols.empty() || static_cast<int>(set.symbols.size()) == size(position));
    return set;
  }

  std::vector<int> some_positions(int least) {
    std::vector<int> chosen;
    for (int i = 0; i < static_cast<int>(program_.positions.size()); ++i) {
      if (size(i) > 1 && below(random_, 3) > 0) chosen.push_back(i);
    }
    while (static_cast<int>(chosen.size()) > 4)
      chosen.erase(chosen.begin() + below(random_, static_cast<int>(chosen.size())));
    return static_cast<int>(chosen.size()) >= least ? chosen : std::vector<int>{};
  }

  compile::NodeRef any_node() {
    return {below(random_, static_cast<int>(program_.nodes.size())), below(random_, 3) == 0};
  }

  compile::ValueSet value_set(std::int64_t low, std::int64_t high) {
    compile::ValueSet set;
    for (std::int64_t x = low; x <= high; ++x) {
      if (below(random_, 2) == 0) continue;
      if (!set.intervals.empty() && set.intervals.back().second == x - 1) {
        set.intervals.back().second = x;
      } else {
        set.intervals.emplace_back(x, x);
      }
    }
    return set;
  }

  void add_nodes() {
    const auto component = [&](int begin, bool recursive) {
      program_.components.push_back({begin, static_cast<int>(program_.nodes.size()), recursive});
    };
    for (int i = 0; i < static_cast<int>(program_.positions.size()); ++i) {
      if (size(i) < 2) continue;
      for (int k = below(random_, 3); k > 0; --k) {
        program_.nodes.push_back({set_at(i), ""});
        component(static_cast<int>(program_.nodes.size()) - 1, false);
      }
    }
    if (program_.nodes.empty()) return;
    for (int k = below(random_, 5); k > 0; --k) {
      const int begin = static_cast<int>(program_.nodes.size());
      if (below(random_, 3) == 0) {
        // A recursive component: conjunctions and disjunctions over each other and what stands before.
        const int count = 2 + below(random_, 4);
        for (int m = 0; m < count; ++m) {
          const bool conjunction = below(random_, 2) != 0;
          std::vector<compile::NodeRef> refs;
          for (int inputs = 1 + below(random_, 3); inputs > 0; --inputs) {
            if (below(random_, 2)) {
              refs.push_back({begin + below(random_, count), false});
            } else {
              const int outside = below(random_, begin);
              refs.push_back({outside, below(random_, 3) == 0});
            }
          }
          if (conjunction) {
            program_.nodes.push_back({compile::Conjunction{refs}, ""});
          } else {
            program_.nodes.push_back({compile::Disjunction{refs}, ""});
          }
        }
        component(begin, true);
        continue;
      }
      const int kind = below(random_, 3);
      const int inputs = below(random_, 4);
      std::vector<compile::NodeRef> refs;
      for (int j = 0; j < inputs; ++j) refs.push_back(any_node());
      compile::NodeContent content = compile::Conjunction{refs};
      if (kind == 1) content = compile::Disjunction{refs};
      if (kind == 2) {
        compile::Bound bound{refs, {}, {}};
        for (int j = 0; j < inputs; ++j) bound.weights.push_back(below(random_, 7) - 3);
        bound.allowed = value_set(-6, 6);
        content = bound;
      }
      program_.nodes.push_back({content, ""});
      component(begin, false);
    }
  }

  void add_group() {
    compile::Group group;
    switch (below(random_, 4)) {
      case 0: {
        const std::vector<int> members = some_positions(2);
        if (members.empty()) return;
        const bool by_symbol = below(random_, 2) == 0;
        compile::Slots slots;
        for (int s = 0; s < (by_symbol ? 4 : 1); ++s) {
          compile::Slot slot;
          for (const int i : members) {
            if (by_symbol && s < size(i)) slot.members.push_back({i, {s}});
            if (!by_symbol) slot.members.push_back(set_at(i));
          }
          if (!slot.members.empty()) slots.push_back(slot);
        }
        group.content = slots;
        group.positions = members;
        break;
      }
      case 1: {
        std::vector<int> members = some_positions(1);
        if (members.empty()) return;
        compile::Linear linear;
        linear.aggregate = static_cast<int>(program_.aggregates.size());
        group.positions = members;
        if (members.size() > 1 && below(random_, 2)) {
          linear.guard = members.back();
          members.pop_back();
        }
        compile::Aggregate aggregate;
        aggregate.positions = members;
        aggregate.constant = below(random_, 5) - 2;
        for (const int i : members) {
          std::vector<std::int64_t> row;
          for (int s = 0; s < size(i); ++s) row.push_back(below(random_, 9) - 3);
          aggregate.values.push_back(row);
        }
        program_.aggregates.push_back(aggregate);
        const int sets = linear.guard < 0 ? 1 : size(linear.guard);
        for (int s = 0; s < sets; ++s) linear.allowed.push_back(value_set(-4, 12));
        group.content = compile::Linears{linear};
        break;
      }
      case 2: {
        const std::vector<int> members = some_positions(1);
        if (members.empty()) return;
        compile::Nogoods nogoods;
        for (int k = 1 + below(random_, 3); k > 0; --k) {
          compile::Nogood nogood;
          for (const int i : members) nogood.literals.push_back(set_at(i));
          nogoods.push_back(nogood);
        }
        group.content = nogoods;
        group.positions = members;
        break;
      }
      default: {
        if (program_.nodes.empty()) return;
        compile::DerivedNogood nogood;
        for (int k = 1 + below(random_, 2); k > 0; --k) nogood.body.push_back(any_node());
        group.content = compile::DerivedNogoods{nogood};
        for (int i = 0; i < static_cast<int>(program_.positions.size()); ++i) group.positions.push_back(i);
        break;
      }
    }
    program_.groups.push_back(group);
  }

  Random random_;
  compile::ConstraintProgram program_;
};

// Beliefs with what goes wrong in practice: zeros, exact ties, near-certainty.
inline decode::Beliefs random_beliefs(Random& random, const compile::ConstraintProgram& program) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  decode::Beliefs beliefs(program.positions.size() * stride, 0.0);
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const std::size_t count = program.positions[i].symbols.size();
    const int style = below(random, 4);
    double sum = 0;
    for (std::size_t s = 0; s < count; ++s) {
      double p = 1;
      if (style == 1) p = below(random, 1000) / 1000.0;
      if (style == 2) p = below(random, 3);
      if (style == 3) p = s == 0 ? 1 : 1e-5;
      beliefs[i * stride + s] = p;
      sum += p;
    }
    if (sum == 0) beliefs[i * stride] = sum = 1;
    for (std::size_t s = 0; s < count; ++s) beliefs[i * stride + s] /= sum;
  }
  return beliefs;
}

// One answer as the definitions give it.
struct Enumerated {
  compile::Assignment assignment;
  double log_probability = 0;
  std::vector<std::int64_t> cost;
  double guide = 0;
};

inline double log_of(const decode::Beliefs& beliefs, std::size_t stride,
                     const compile::Assignment& assignment) {
  double sum = 0;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    sum += std::log(std::max(beliefs[i * stride + static_cast<std::size_t>(assignment[i])], 1e-30));
  }
  return sum;
}

// Every assignment that satisfies the program and the pins.
inline std::vector<Enumerated> enumerate(const compile::ConstraintProgram& program,
                                         const decode::Beliefs& beliefs,
                                         const std::vector<decode::Pin>& pins) {
  std::vector<Enumerated> answers;
  compile::Assignment assignment(program.positions.size(), 0);
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  for (;;) {
    const bool pinned = std::all_of(pins.begin(), pins.end(), [&](const decode::Pin& pin) {
      return assignment[pin.position] == pin.symbol;
    });
    if (pinned && compile::violated_groups(program, assignment).empty()) {
      answers.push_back(
          {assignment, log_of(beliefs, stride, assignment), compile::cost_of(program, assignment), 0});
    }
    std::size_t i = 0;
    while (i < assignment.size() &&
           ++assignment[i] == static_cast<int>(program.positions[i].symbols.size())) {
      assignment[i++] = 0;
    }
    if (i == assignment.size()) return answers;
  }
}

}  // namespace as2::decode_test
