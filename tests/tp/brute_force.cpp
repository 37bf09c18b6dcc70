#include "tp/brute_force.h"

#include <algorithm>

#include "overloaded.h"

namespace as2::test {

using namespace as2::compile;

namespace {

bool holds(const SetLiteral& literal, const Assignment& assignment) {
  return std::count(literal.symbols.begin(), literal.symbols.end(), assignment[literal.position]) > 0;
}

// One instance of a group, the (position, symbols) it has terms at, and whether an assignment satisfies it.
struct Instance {
  int family = 0;
  int group = 0;
  std::vector<SetLiteral> terms;
  std::function<bool(const Assignment&, const std::vector<char>&)> satisfied;
};

SetLiteral whole(const ConstraintProgram& program, int position) {
  SetLiteral literal{position, {}};
  for (std::size_t s = 0; s < program.positions[position].symbols.size(); ++s) {
    literal.symbols.push_back(static_cast<int>(s));
  }
  return literal;
}

void collect_support(const ConstraintProgram& program, int node, std::vector<char>& seen,
                     std::vector<char>& positions) {
  if (seen[node]) return;
  seen[node] = 1;
  const Node& source = program.nodes[node];
  if (const auto* set = std::get_if<SetLiteral>(&source.content)) positions[set->position] = 1;
  for (const NodeRef& in : source.inputs()) collect_support(program, in.node, seen, positions);
}

bool linear_holds(const ConstraintProgram& program, const Linear& linear, const Assignment& y) {
  const Aggregate& aggregate = program.aggregates[linear.aggregate];
  std::int64_t sum = aggregate.constant;
  for (std::size_t k = 0; k < aggregate.positions.size(); ++k) {
    sum += aggregate.values[k][y[aggregate.positions[k]]];
  }
  for (const auto& [low, high] : linear.allowed[linear.guard < 0 ? 0 : y[linear.guard]].intervals) {
    if (low <= sum && sum <= high) return true;
  }
  return false;
}

std::vector<Instance> instances_of(const ConstraintProgram& program) {
  std::vector<Instance> instances;
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const Group& group = program.groups[g];
    const auto add = [&](std::vector<SetLiteral> terms, auto satisfied) {
      if (terms.empty()) {
        for (std::size_t i = 0; i < program.positions.size(); ++i)
          terms.push_back(whole(program, static_cast<int>(i)));
      }
      instances.push_back({group.family, static_cast<int>(g), std::move(terms), satisfied});
    };
    const auto add_slot = [&](const Slot& slot) {
      add(slot.members, [&slot](const Assignment& y, const std::vector<char>&) {
        int held = 0;
        for (const SetLiteral& member : slot.members) held += holds(member, y);
        return held <= 1;
      });
    };
    const auto add_nogood = [&](const Nogood& nogood) {
      add(nogood.literals, [&nogood](const Assignment& y, const std::vector<char>&) {
        return !std::all_of(nogood.literals.begin(), nogood.literals.end(),
                            [&](const SetLiteral& literal) { return holds(literal, y); });
      });
    };
    const auto add_linear = [&](const Linear& linear) {
      std::vector<SetLiteral> terms;
      for (const int at : program.aggregates[linear.aggregate].positions) terms.push_back(whole(program, at));
      if (linear.guard >= 0) terms.push_back(whole(program, linear.guard));
      add(terms, [&program, &linear](const Assignment& y, const std::vector<char>&) {
        return linear_holds(program, linear, y);
      });
    };
    const auto add_derived = [&](const DerivedNogood& derived) {
      std::vector<char> seen(program.nodes.size()), used(program.positions.size());
      for (const NodeRef& node : derived.body) collect_support(program, node.node, seen, used);
      std::vector<SetLiteral> terms;
      for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) terms.push_back(whole(program, static_cast<int>(i)));
      }
      add(terms, [&derived](const Assignment&, const std::vector<char>& truth) {
        return !std::all_of(derived.body.begin(), derived.body.end(),
                            [&](const NodeRef& node) { return (truth[node.node] != 0) != node.negated; });
      });
    };
    const auto each = [](const auto& parts, const auto& add_part) {
      std::for_each(parts.begin(), parts.end(), add_part);
    };
    std::visit(Overloaded{[&](const Slots& slots) { each(slots, add_slot); },
                          [&](const Linears& linears) { each(linears, add_linear); },
                          [&](const Nogoods& nogoods) { each(nogoods, add_nogood); },
                          [&](const DerivedNogoods& nogoods) { each(nogoods, add_derived); }},
               group.content);
  }
  return instances;
}

}  // namespace

void for_each_assignment(const ConstraintProgram& program,
                         const std::function<void(const Assignment&)>& visit) {
  Assignment y(program.positions.size());
  while (true) {
    visit(y);
    std::size_t i = 0;
    while (i < y.size() && ++y[i] == static_cast<int>(program.positions[i].symbols.size())) y[i++] = 0;
    if (i == y.size()) return;
  }
}

std::vector<BruteTerm> brute_force_terms(const ConstraintProgram& program,
                                         const std::vector<double>& beliefs) {
  const std::vector<Instance> instances = instances_of(program);
  const int stride = program.max_symbols();
  std::vector<BruteTerm> terms;
  for (const Instance& instance : instances) {
    for (const SetLiteral& literal : instance.terms) {
      for (const int symbol : literal.symbols) {
        terms.push_back({instance.family, instance.group, literal.position, symbol, 0});
      }
    }
  }
  for_each_assignment(program, [&](const Assignment& y) {
    const std::vector<char> truth = evaluate_nodes(program, y);
    std::vector<double> others(y.size(), 1);  // ∏_{j≠i} p_j(y_j)
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < y.size(); ++j) {
        if (j != i) others[i] *= beliefs[j * stride + y[j]];
      }
    }
    std::size_t t = 0;
    for (const Instance& instance : instances) {
      const bool satisfied = instance.satisfied(y, truth);
      for (const SetLiteral& literal : instance.terms) {
        for (const int symbol : literal.symbols) {
          if (satisfied && y[literal.position] == symbol) terms[t].factor += others[literal.position];
          ++t;
        }
      }
    }
  });
  return terms;
}

std::vector<double> brute_force_linear(const ConstraintProgram& program, const std::vector<double>& beliefs) {
  std::vector<const Linear*> linears;
  for (const Group& group : program.groups) {
    const auto* parts = std::get_if<Linears>(&group.content);
    if (parts == nullptr) continue;
    for (const Linear& linear : *parts) linears.push_back(&linear);
  }
  std::vector<double> probability(linears.size());
  for_each_assignment(program, [&](const Assignment& y) {
    double p = 1;
    for (std::size_t i = 0; i < y.size(); ++i) p *= beliefs[i * program.max_symbols() + y[i]];
    for (std::size_t l = 0; l < linears.size(); ++l) {
      if (linear_holds(program, *linears[l], y)) probability[l] += p;
    }
  });
  return probability;
}

}  // namespace as2::test
