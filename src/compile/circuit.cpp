#include "compile/circuit.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "asp/symbol.h"

namespace as2::compile {

using asp::Atom;

Objectives collect_objectives(const asp::GroundProgram& ground, Definitions& definitions) {
  Objectives result;
  std::map<int, int> index_of;
  for (std::size_t k = 0; k < ground.statements.size(); ++k) {
    const asp::Statement& statement = ground.statements[k];
    if (statement.kind != asp::StatementKind::kWeak && statement.kind != asp::StatementKind::kMinimize)
      continue;
    index_of[static_cast<int>(k)] = static_cast<int>(result.statements.size());
    result.statements.push_back({statement.name, statement.location, statement.text});
  }
  // gringo merges equal tuples of different statements; the twins say who they belong to.
  std::map<std::tuple<std::int32_t, std::int32_t, Formula>, int> statement_of;
  std::map<std::pair<std::int32_t, std::int32_t>, int> statement_of_weight;
  for (const asp::CostTuple& tuple : ground.cost_tuples) {
    const auto found = index_of.find(tuple.statement);
    if (found == index_of.end()) continue;
    const Formula condition = tuple.lit == 0 ? kTrue : definitions.of(tuple.lit);
    statement_of.emplace(std::make_tuple(tuple.priority, tuple.weight, condition), found->second);
    statement_of_weight.emplace(std::make_pair(tuple.priority, tuple.weight), found->second);
  }
  std::map<std::int32_t, std::vector<FormulaCost>, std::greater<>> levels;
  for (const asp::Minimize& minimize : ground.minimize) {
    std::vector<FormulaCost>& costs = levels[minimize.priority];
    for (const asp::WeightedLit& literal : minimize.literals) {
      FormulaCost cost;
      cost.weight = literal.weight;
      cost.condition = definitions.of(literal.lit);
      if (cost.weight == 0 || cost.condition == kFalse) continue;
      const auto exact = statement_of.find({minimize.priority, literal.weight, cost.condition});
      const auto near = statement_of_weight.find({minimize.priority, literal.weight});
      if (exact != statement_of.end()) {
        cost.statement = exact->second;
      } else if (near != statement_of_weight.end()) {
        cost.statement = near->second;
      }
      costs.push_back(cost);
    }
  }
  for (auto& [priority, costs] : levels) result.levels.emplace_back(priority, std::move(costs));
  return result;
}

std::vector<std::pair<std::string, Formula>> collect_shown(const asp::GroundProgram& ground,
                                                           Definitions& definitions) {
  struct Shown {
    asp::Symbol symbol;
    std::string text;
    Formula condition;
  };
  std::vector<Shown> shown;
  const auto listed = [&](const asp::Symbol& symbol) {
    const auto& signatures = ground.shown_signatures;
    return ground.show_all ||
           std::find(signatures.begin(), signatures.end(), symbol.signature()) != signatures.end();
  };
  for (Atom atom = 1; atom < ground.names.size(); ++atom) {
    const std::string& name = ground.names[atom];
    if (name.empty() || definitions.of_atom[atom] == kFalse) continue;
    asp::Symbol symbol = asp::parse_symbol(name);
    if (listed(symbol)) shown.push_back({std::move(symbol), name, definitions.of_atom[atom]});
  }
  for (const std::string& fact : ground.facts) {
    asp::Symbol symbol = asp::parse_symbol(fact);
    if (listed(symbol)) shown.push_back({std::move(symbol), fact, kTrue});
  }
  for (const auto& [term, lit] : ground.shown_terms) {
    const Formula condition = lit == 0 ? kTrue : definitions.of(lit);
    if (condition != kFalse) shown.push_back({asp::parse_symbol(term), term, condition});
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const Shown& a, const Shown& b) { return a.symbol < b.symbol; });
  std::vector<std::pair<std::string, Formula>> result;
  for (Shown& entry : shown) {
    // An atom and a shown term may print alike; clingo prints it once if either holds.
    if (!result.empty() && result.back().first == entry.text) {
      result.back().second = definitions.formulas.disjunction({result.back().second, entry.condition});
    } else {
      result.emplace_back(std::move(entry.text), entry.condition);
    }
  }
  return result;
}

Circuit::Circuit(const asp::GroundProgram& ground, const Positions& positions, const Definitions& definitions)
    : formulas_(definitions.formulas),
      needed_(static_cast<std::size_t>(formulas_.size()), 0),
      node_of_(static_cast<std::size_t>(formulas_.size()), -1),
      atom_of_(static_cast<std::size_t>(formulas_.size())) {
  // A position's own atom names its node rather than a definition that says the same.
  for (const bool chosen : {true, false}) {
    for (Atom atom = 1; atom < ground.names.size(); ++atom) {
      const Formula formula = definitions.of_atom[atom];
      const bool is_chosen = atom < positions.place.size() && positions.place[atom].position >= 0;
      if (is_chosen != chosen || ground.names[atom].empty() || formula.id == 0 || formula.negated) continue;
      std::string& name = atom_of_[static_cast<std::size_t>(formula.id)];
      if (name.empty()) name = ground.names[atom];
    }
  }
}

void Circuit::need(Formula formula) {
  std::vector<int> open = {formula.id};
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (id == 0 || needed_[static_cast<std::size_t>(id)]) continue;
    needed_[static_cast<std::size_t>(id)] = 1;
    const FormulaBody& body = formulas_[id];
    for (const Formula input : body.inputs) open.push_back(input.id);
    if (body.kind == FormulaKind::kTest) {
      for (const WeightedFormula& input : formulas_.sum(body.sum).inputs) open.push_back(input.formula.id);
    }
    if (body.kind == FormulaKind::kRecursive) {
      const int first = id - body.member;
      const RecursiveComponent& component = formulas_.component(body.component);
      for (std::size_t member = 0; member < component.size(); ++member) {
        needed_[static_cast<std::size_t>(first) + member] = 1;
        for (const RecursiveRule& rule : component[member]) {
          for (const Formula input : rule.outside) open.push_back(input.id);
        }
      }
    }
  }
}

NodeRef Circuit::ref(Formula formula) const {
  return {formula.id == 0 ? -1 : node_of_[static_cast<std::size_t>(formula.id)], formula.negated};
}

NodeContent Circuit::content_of(const FormulaBody& body) const {
  if (body.kind == FormulaKind::kSet) return body.set;
  if (body.kind == FormulaKind::kTest) {
    const Sum& sum = formulas_.sum(body.sum);
    Bound bound;
    for (const WeightedFormula& input : sum.inputs) {
      bound.inputs.push_back(ref(input.formula));
      bound.weights.push_back(input.weight);
    }
    bound.allowed = affine(body.values, 1, -sum.constant);
    return bound;
  }
  std::vector<NodeRef> inputs;
  for (const Formula input : body.inputs) inputs.push_back(ref(input));
  if (body.kind == FormulaKind::kConjunction) return Conjunction{std::move(inputs)};
  return Disjunction{std::move(inputs)};
}

void Circuit::write_component(int component, int first, ConstraintProgram& program) {
  const RecursiveComponent& members = formulas_.component(component);
  const int begin = static_cast<int>(program.nodes.size());
  for (std::size_t member = 0; member < members.size(); ++member) {
    node_of_[static_cast<std::size_t>(first) + member] = begin + static_cast<int>(member);
    program.nodes.push_back({Disjunction{}, atom_of_[static_cast<std::size_t>(first) + member]});
  }
  for (std::size_t member = 0; member < members.size(); ++member) {
    Disjunction alternatives;
    for (const RecursiveRule& rule : members[member]) {
      Conjunction body;
      for (const Formula input : rule.outside) body.inputs.push_back(ref(input));
      for (const int inside : rule.inside) body.inputs.push_back({begin + inside, false});
      if (body.inputs.size() == 1) {
        alternatives.inputs.push_back(body.inputs.front());
      } else {
        alternatives.inputs.push_back({static_cast<int>(program.nodes.size()), false});
        program.nodes.emplace_back();
        program.nodes.back().content = std::move(body);
      }
    }
    program.nodes[static_cast<std::size_t>(begin) + member].content = std::move(alternatives);
  }
  program.components.push_back({begin, static_cast<int>(program.nodes.size()), true});
}

void Circuit::write(ConstraintProgram& program) {
  for (int id = 1; id < formulas_.size(); ++id) {
    if (!needed_[static_cast<std::size_t>(id)] || node_of_[static_cast<std::size_t>(id)] >= 0) continue;
    const FormulaBody& body = formulas_[id];
    if (body.kind == FormulaKind::kRecursive) {
      write_component(body.component, id, program);
      continue;
    }
    const int index = static_cast<int>(program.nodes.size());
    node_of_[static_cast<std::size_t>(id)] = index;
    program.nodes.push_back({content_of(body), atom_of_[static_cast<std::size_t>(id)]});
    if (program.components.empty() || program.components.back().recursive) {
      program.components.push_back({index, index + 1, false});
    } else {
      program.components.back().end = index + 1;
    }
  }
}

}  // namespace as2::compile
