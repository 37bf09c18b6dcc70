// What a compiled program says about one total assignment, by the definitions in its header: plain loops, no
// state, nothing shared with the decoder.
#include "as2/constraint_program.h"

#include <algorithm>

#include "overloaded.h"
#include "text.h"

namespace as2::compile {
namespace {

bool holds(const SetLiteral& literal, const Assignment& assignment) {
  return std::binary_search(literal.symbols.begin(), literal.symbols.end(), assignment[literal.position]);
}

bool holds(const NodeRef& ref, const std::vector<char>& truth) {
  return (truth[ref.node] != 0) != ref.negated;
}

bool evaluate(const NodeContent& content, const Assignment& assignment, const std::vector<char>& truth) {
  const auto input_holds = [&](const NodeRef& ref) { return holds(ref, truth); };
  return std::visit(Overloaded{[&](const SetLiteral& set) { return holds(set, assignment); },
                               [&](const Conjunction& node) {
                                 return std::all_of(node.inputs.begin(), node.inputs.end(), input_holds);
                               },
                               [&](const Disjunction& node) {
                                 return std::any_of(node.inputs.begin(), node.inputs.end(), input_holds);
                               },
                               [&](const Bound& node) {
                                 std::int64_t sum = 0;
                                 for (std::size_t k = 0; k < node.inputs.size(); ++k) {
                                   if (holds(node.inputs[k], truth)) sum += node.weights[k];
                                 }
                                 return node.allowed.contains(sum);
                               }},
                    content);
}

bool violated(const Slot& slot, const Assignment& assignment) {
  return std::count_if(slot.members.begin(), slot.members.end(),
                       [&](const SetLiteral& member) { return holds(member, assignment); }) > 1;
}

bool violated(const Nogood& nogood, const Assignment& assignment) {
  return std::all_of(nogood.literals.begin(), nogood.literals.end(),
                     [&](const SetLiteral& literal) { return holds(literal, assignment); });
}

bool violated(const Linear& linear, const ConstraintProgram& program, const Assignment& assignment) {
  const Aggregate& aggregate = program.aggregates[linear.aggregate];
  std::int64_t value = aggregate.constant;
  for (std::size_t k = 0; k < aggregate.positions.size(); ++k) {
    value += aggregate.values[k][assignment[aggregate.positions[k]]];
  }
  return !linear.allowed[linear.guard < 0 ? 0 : assignment[linear.guard]].contains(value);
}

bool violated(const Group& group, const ConstraintProgram& program, const Assignment& assignment,
              const std::vector<char>& truth) {
  const auto some = [](const auto& list, const auto& is_violated) {
    return std::any_of(list.begin(), list.end(), is_violated);
  };
  return std::visit(
      Overloaded{[&](const Slots& slots) {
                   return some(slots, [&](const Slot& slot) { return violated(slot, assignment); });
                 },
                 [&](const Linears& linears) {
                   return some(linears,
                               [&](const Linear& linear) { return violated(linear, program, assignment); });
                 },
                 [&](const Nogoods& nogoods) {
                   return some(nogoods, [&](const Nogood& nogood) { return violated(nogood, assignment); });
                 },
                 [&](const DerivedNogoods& nogoods) {
                   return some(nogoods, [&](const DerivedNogood& nogood) {
                     return std::all_of(nogood.body.begin(), nogood.body.end(),
                                        [&](const NodeRef& ref) { return holds(ref, truth); });
                   });
                 }},
      group.content);
}

}  // namespace

const std::vector<NodeRef>& Node::inputs() const {
  using Inputs = const std::vector<NodeRef>&;
  static const std::vector<NodeRef> kNone;
  return std::visit(Overloaded{[](const SetLiteral&) -> Inputs { return kNone; },
                               [](const Conjunction& node) -> Inputs { return node.inputs; },
                               [](const Disjunction& node) -> Inputs { return node.inputs; },
                               [](const Bound& node) -> Inputs { return node.inputs; }},
                    content);
}

const char* Group::kind() const {
  return std::visit(
      Overloaded{[](const Slots&) { return "exclusive"; }, [](const Linears&) { return "linear"; },
                 [](const Nogoods&) { return "nogood"; }, [](const DerivedNogoods&) { return "derived"; }},
      content);
}

const char* name_of(GuessReason reason) {
  switch (reason) {
    case GuessReason::kNegation:
      return "negation";
    case GuessReason::kChosenAndDerived:
      return "chosen and derived";
    case GuessReason::kChoiceInLoop:
      return "choice in a loop";
  }
  return "";
}

bool ValueSet::contains(std::int64_t value) const {
  const auto after =
      std::upper_bound(intervals.begin(), intervals.end(), value,
                       [](std::int64_t v, const auto& interval) { return v < interval.first; });
  return after != intervals.begin() && value <= std::prev(after)->second;
}

int ConstraintProgram::max_symbols() const {
  std::size_t largest = 1;
  for (const Position& position : positions) largest = std::max(largest, position.symbols.size());
  return static_cast<int>(largest);
}

int ConstraintProgram::find_position(const std::string& name) const {
  const std::string wanted = as_printed(name);
  const auto found = std::find_if(positions.begin(), positions.end(),
                                  [&](const Position& position) { return position.name == wanted; });
  return found == positions.end() ? -1 : static_cast<int>(found - positions.begin());
}

int ConstraintProgram::find_symbol(int position, const std::string& symbol) const {
  const std::vector<std::string>& symbols = positions[position].symbols;
  const auto found = std::find(symbols.begin(), symbols.end(), as_printed(symbol));
  return found == symbols.end() ? -1 : static_cast<int>(found - symbols.begin());
}

std::vector<char> evaluate_nodes(const ConstraintProgram& program, const Assignment& assignment) {
  AS2_REQUIRE(assignment.size() == program.positions.size(), "an assignment has one symbol per position");
  std::vector<char> truth(program.nodes.size(), 0);
  for (const Component& component : program.components) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (int node = component.begin; node < component.end; ++node) {
        const char value = evaluate(program.nodes[node].content, assignment, truth) ? 1 : 0;
        changed |= value != truth[node];
        truth[node] = value;
      }
      changed &= component.recursive;
    }
  }
  return truth;
}

std::vector<int> violated_groups(const ConstraintProgram& program, const Assignment& assignment) {
  const std::vector<char> truth = evaluate_nodes(program, assignment);
  std::vector<int> result;
  for (std::size_t index = 0; index < program.groups.size(); ++index) {
    if (violated(program.groups[index], program, assignment, truth))
      result.push_back(static_cast<int>(index));
  }
  return result;
}

std::vector<std::int64_t> cost_of(const ConstraintProgram& program, const Assignment& assignment) {
  const std::vector<char> truth = evaluate_nodes(program, assignment);
  std::vector<std::int64_t> costs;
  for (const ObjectiveLevel& level : program.objectives) {
    std::int64_t total = 0;
    for (const Cost& cost : level.costs) {
      if (cost.condition.node < 0 || holds(cost.condition, truth)) total += cost.weight;
    }
    costs.push_back(total);
  }
  return costs;
}

std::vector<std::string> shown_atoms(const ConstraintProgram& program, const Assignment& assignment) {
  const std::vector<char> truth = evaluate_nodes(program, assignment);
  std::vector<std::string> atoms;
  for (const ShownAtom& shown : program.shown) {
    if (shown.condition.node < 0 || holds(shown.condition, truth)) atoms.push_back(shown.atom);
  }
  return atoms;
}

}  // namespace as2::compile
