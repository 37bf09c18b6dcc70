#include "compile/dump.h"

#include <cstdlib>

#include "compile/residual_terms.h"
#include "overloaded.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::Lit;

std::string atom_text(const asp::GroundProgram& ground, Atom atom) {
  const bool named = atom < ground.names.size() && !ground.names[atom].empty();
  return named ? ground.names[atom] : "#" + std::to_string(atom);
}

std::string literal_text(const asp::GroundProgram& ground, Lit lit) {
  return (lit < 0 ? "not " : "") + atom_text(ground, static_cast<Atom>(std::abs(lit)));
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (std::size_t k = 0; k < parts.size(); ++k) text += (k > 0 ? separator : "") + parts[k];
  return text;
}

// For asp::Rule and NormalRule alike.
template <class AnyRule>
std::string rule_text(const asp::GroundProgram& ground, const AnyRule& rule) {
  std::vector<std::string> head;
  for (const Atom atom : rule.head) head.push_back(atom_text(ground, atom));
  std::string text = join(head, "; ");
  if (rule.choice) text = "{ " + text + " }";
  if (!rule.body.empty() || rule.sum || rule.head.empty()) {
    std::vector<std::string> body;
    for (const asp::WeightedLit& literal : rule.body) {
      body.push_back((rule.sum ? std::to_string(literal.weight) + ": " : "") +
                     literal_text(ground, literal.lit));
    }
    text += (text.empty() ? ":- " : " :- ");
    text += rule.sum ? std::to_string(rule.bound) + " <= sum{ " + join(body, "; ") + " }" : join(body, ", ");
  }
  text += ".";
  if (rule.statement >= 0) text += "  % " + ground.statements[static_cast<std::size_t>(rule.statement)].name;
  return text + "\n";
}

std::string formula_text(const Compilation& c, Formula formula, bool open = true);

std::string sum_text(const Compilation& c, int index) {
  const Sum& sum = c.definitions.formulas.sum(index);
  std::vector<std::string> parts;
  if (sum.constant != 0) parts.push_back(std::to_string(sum.constant));
  for (const WeightedFormula& input : sum.inputs) {
    parts.push_back(std::to_string(input.weight) + "*[" + formula_text(c, input.formula, false) + "]");
  }
  return join(parts, " + ");
}

// A formula as text; definitions inside it are written by number (f12) unless `open`.
std::string formula_text(const Compilation& c, Formula formula, bool open) {
  if (formula.id == 0) return formula == kTrue ? "true" : "false";
  const FormulaBody& body = c.definitions.formulas[formula.id];
  const std::string sign = formula.negated ? "not " : "";
  switch (body.kind) {
    case FormulaKind::kSet:
      return describe(c.result.program, body.set);
    case FormulaKind::kTest:
      return (open ? sum_text(c, body.sum) : "sum" + std::to_string(body.sum)) + " in " + str(body.values);
    case FormulaKind::kRecursive:
      return sign + "r" + std::to_string(body.component) + "." + std::to_string(body.member);
    default:
      break;
  }
  if (!open) return sign + "f" + std::to_string(formula.id);
  std::vector<std::string> inputs;
  for (const Formula input : body.inputs) inputs.push_back(formula_text(c, input, false));
  return sign + "(" + join(inputs, body.kind == FormulaKind::kConjunction ? " and " : " or ") + ")";
}

std::string body_text(const Compilation& c, const std::vector<Formula>& body) {
  std::vector<std::string> parts;
  for (const Formula formula : body) parts.push_back(formula_text(c, formula));
  return parts.empty() ? "always" : join(parts, ", ");
}

std::string set_list(const Compilation& c, const std::vector<int>& sets, const std::string& separator) {
  std::vector<std::string> parts;
  for (const int set : sets) parts.push_back(formula_text(c, {set, false}));
  return parts.empty() ? "always" : join(parts, separator);
}

std::string node_text(const ConstraintProgram& program, const NodeRef& ref) {
  if (ref.node < 0) return ref.negated ? "false" : "true";
  const Node& node = program.nodes[static_cast<std::size_t>(ref.node)];
  const auto* set = std::get_if<SetLiteral>(&node.content);
  const std::string name = set                 ? describe(program, *set)
                           : node.atom.empty() ? "n" + std::to_string(ref.node)
                                               : node.atom;
  return (ref.negated ? "not " : "") + name;
}

std::vector<std::string> node_texts(const ConstraintProgram& program, const std::vector<NodeRef>& refs) {
  std::vector<std::string> texts;
  for (const NodeRef& ref : refs) texts.push_back(node_text(program, ref));
  return texts;
}

std::string literals_text(const ConstraintProgram& program, const std::vector<SetLiteral>& literals,
                          const std::string& separator) {
  std::vector<std::string> parts;
  for (const SetLiteral& literal : literals) parts.push_back(describe(program, literal));
  return parts.empty() ? "always violated" : join(parts, separator);
}

std::string linear_text(const ConstraintProgram& program, const Linear& linear) {
  const Aggregate& aggregate = program.aggregates[static_cast<std::size_t>(linear.aggregate)];
  std::string text = "  aggregate " + std::to_string(linear.aggregate) + " (" +
                     std::to_string(aggregate.min) + ".." + std::to_string(aggregate.max) + ") in";
  for (std::size_t symbol = 0; symbol < linear.allowed.size(); ++symbol) {
    if (linear.guard >= 0) {
      const Position& guard = program.positions[static_cast<std::size_t>(linear.guard)];
      text += std::string(symbol > 0 ? ";" : "") + " " + guard.name + "=" + guard.symbols[symbol] + ":";
    }
    text += " " + str(linear.allowed[symbol]);
  }
  return text + "\n";
}

std::string content_text(const ConstraintProgram& program, const GroupContent& content) {
  std::string text;
  std::visit(Overloaded{[&](const Slots& slots) {
                          for (const Slot& slot : slots)
                            text += "  at most one of " + literals_text(program, slot.members, " ") + "\n";
                        },
                        [&](const Linears& linears) {
                          for (const Linear& linear : linears) text += linear_text(program, linear);
                        },
                        [&](const Nogoods& nogoods) {
                          for (const Nogood& nogood : nogoods)
                            text += "  not " + literals_text(program, nogood.literals, ", ") + "\n";
                        },
                        [&](const DerivedNogoods& nogoods) {
                          for (const DerivedNogood& nogood : nogoods)
                            text += "  not " + join(node_texts(program, nogood.body), ", ") + "\n";
                        }},
             content);
  return text;
}

std::string content_text(const ConstraintProgram& program, const NodeContent& content) {
  return std::visit(
      Overloaded{[&](const SetLiteral& set) { return describe(program, set); },
                 [&](const Conjunction& all) {
                   return all.inputs.empty() ? "true" : join(node_texts(program, all.inputs), " and ");
                 },
                 [&](const Disjunction& some) {
                   return some.inputs.empty() ? "false" : join(node_texts(program, some.inputs), " or ");
                 },
                 [&](const Bound& sum) {
                   std::vector<std::string> summands = node_texts(program, sum.inputs);
                   for (std::size_t k = 0; k < summands.size(); ++k)
                     summands[k] = std::to_string(sum.weights[k]) + "*[" + summands[k] + "]";
                   return join(summands, " + ") + " in " + str(sum.allowed);
                 }},
      content);
}

}  // namespace

std::string describe(const ConstraintProgram& program, const SetLiteral& literal) {
  const Position& position = program.positions[static_cast<std::size_t>(literal.position)];
  if (position.boolean) return (literal.symbols.front() == 0 ? "not " : "") + position.name;
  std::vector<std::string> symbols;
  for (const int symbol : literal.symbols)
    symbols.push_back(position.symbols[static_cast<std::size_t>(symbol)]);
  return position.name + "=" + join(symbols, "|");
}

std::string list_groups(const ConstraintProgram& program) {
  const std::vector<std::int64_t> terms = residual_terms(program);
  std::string text;
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const Group& group = program.groups[g];
    std::vector<std::string> names;
    for (const int position : group.positions)
      names.push_back(program.positions[static_cast<std::size_t>(position)].name);
    text += program.families[static_cast<std::size_t>(group.family)].name + ": " + group.kind() + ", " +
            std::to_string(terms[g]) + " terms, over " + (names.empty() ? "no position" : join(names, " ")) +
            "\n" + content_text(program, group.content);
  }
  return text;
}

std::string dump_ground(const asp::GroundProgram& ground) {
  std::string text;
  for (const std::string& fact : ground.facts) text += fact + ".\n";
  for (const asp::Rule& rule : ground.rules) text += rule_text(ground, rule);
  for (const asp::Minimize& minimize : ground.minimize) {
    std::vector<std::string> parts;
    for (const asp::WeightedLit& literal : minimize.literals) {
      parts.push_back(std::to_string(literal.weight) + "@" + std::to_string(minimize.priority) + ": " +
                      literal_text(ground, literal.lit));
    }
    text += "#minimize{ " + join(parts, "; ") + " }.\n";
  }
  return text;
}

std::string dump_normal(const Compilation& c) {
  std::string text;
  for (const NormalRule& rule : c.normal.choices) text += rule_text(c.ground, rule);
  for (const NormalRule& rule : c.normal.rules) text += rule_text(c.ground, rule);
  for (const NormalRule& rule : c.normal.disjunctions) text += rule_text(c.ground, rule);
  for (const NormalRule& rule : c.normal.constraints) text += rule_text(c.ground, rule);
  for (const auto& [atom, statement] : c.normal.clues) text += "clue " + atom_text(c.ground, atom) + "\n";
  return text;
}

std::string dump_guesses(const Compilation& c) {
  std::string text;
  for (const GuessedAtom& guess : c.guesses.atoms) {
    text += atom_text(c.ground, guess.atom) + "  (" + name_of(guess.reason) + ")";
    for (const Lit lit : guess.cycle) text += " <- " + literal_text(c.ground, lit);
    text += "\n";
  }
  return text;
}

std::string dump_choices(const Compilation& c) {
  std::string text;
  for (const ChoiceGroup& group : c.choices.groups) {
    std::vector<std::string> atoms;
    for (const Atom atom : group.atoms) atoms.push_back(atom_text(c.ground, atom));
    text += (group.boolean ? "free " : "exactly one of ") + join(atoms, " ");
    for (std::size_t k = 0; k < group.body.size(); ++k) {
      text += (k > 0 ? ", " : " if ") + literal_text(c.ground, group.body[k]);
    }
    text += "\n";
  }
  return text;
}

std::string dump_positions(const Compilation& c) {
  std::string text;
  for (const Position& position : c.result.program.positions) {
    text += position.name + ": " + join(position.symbols, " ") + "\n";
  }
  return text;
}

std::string dump_strata(const Compilation& c) {
  std::string text;
  for (const Stratum& stratum : c.strata) {
    std::vector<std::string> atoms;
    for (const Atom atom : stratum.atoms) atoms.push_back(atom_text(c.ground, atom));
    text += join(atoms, " ") + (stratum.recursive ? "  (recursive)" : "") + "\n";
  }
  return text;
}

std::string dump_definitions(const Compilation& c) {
  std::string text;
  for (const Stratum& stratum : c.strata) {
    for (const Atom atom : stratum.atoms) {
      text += atom_text(c.ground, atom) + " = " + formula_text(c, c.definitions.of_atom[atom]) + "\n";
    }
  }
  for (int sum = 0; sum < c.definitions.formulas.sums(); ++sum) {
    text += "sum" + std::to_string(sum) + " = " + sum_text(c, sum) + " in " +
            str(c.definitions.formulas.sum(sum).reachable) + "\n";
  }
  return text;
}

std::string dump_constraints(const Compilation& c) {
  std::string text;
  for (const Instance& instance : c.constraints.instances) {
    text += c.constraints.families[static_cast<std::size_t>(instance.family)].name + ": not " +
            body_text(c, instance.body) + "\n";
  }
  return text;
}

std::string dump_kinds(const Compilation& c) {
  std::string text;
  for (std::size_t k = 0; k < c.kinds.size(); ++k) {
    const Kinds& kinds = c.kinds[k];
    text += c.constraints.families[k].name + ":\n";
    for (const auto& nogood : kinds.nogoods) text += "  not " + set_list(c, nogood, ", ") + "\n";
    if (kinds.exclusive.empty()) {
      for (const auto& instance : kinds.at_most_one)
        text += "  at most one of " + set_list(c, instance.members, " ") + "\n";
      for (const auto& instance : kinds.exactly_one)
        text += "  exactly one of " + set_list(c, instance.members, " ") + "\n";
    }
    for (const ExclusiveGroup& group : kinds.exclusive) {
      text += "  group\n";
      for (const auto& instance : group.instances)
        text += "    at most one of " + set_list(c, instance.members, " ") + "\n";
    }
    for (const auto& [key, allowed] : kinds.linears) {
      text += "  sum" + std::to_string(key.first) + " in";
      for (std::size_t symbol = 0; symbol < allowed.size(); ++symbol) {
        if (key.second >= 0)
          text += " " + describe(c.result.program, SetLiteral{key.second, {static_cast<int>(symbol)}}) + ":";
        text += " " + str(allowed[symbol]);
      }
      text += "\n";
    }
    for (const auto& body : kinds.deriveds) text += "  not " + body_text(c, body) + "\n";
  }
  return text;
}

std::string dump_objectives(const Compilation& c) {
  std::string text;
  for (const auto& [priority, costs] : c.objectives.levels) {
    for (const FormulaCost& cost : costs) {
      text += std::to_string(cost.weight) + "@" + std::to_string(priority) + " if " +
              formula_text(c, cost.condition) + "  % " +
              c.objectives.statements[static_cast<std::size_t>(cost.statement)].name + "\n";
    }
  }
  return text;
}

std::string dump_shown(const Compilation& c) {
  std::string text;
  for (const auto& [atom, condition] : c.shown) text += atom + " if " + formula_text(c, condition) + "\n";
  return text;
}

std::string dump_circuit(const Compilation& c) {
  const ConstraintProgram& program = c.result.program;
  std::string text;
  for (const Component& component : program.components) {
    if (component.recursive) text += "least solution of\n";
    for (int index = component.begin; index < component.end; ++index) {
      const Node& node = program.nodes[static_cast<std::size_t>(index)];
      text += "n" + std::to_string(index) + (node.atom.empty() ? "" : " " + node.atom) + " = " +
              content_text(program, node.content) + "\n";
    }
  }
  return text;
}

std::string dump_groups(const Compilation& c) {
  return list_groups(c.result.program);
}

}  // namespace as2::compile
