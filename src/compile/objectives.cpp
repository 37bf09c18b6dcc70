#include "compile/objectives.h"

#include <algorithm>
#include <map>
#include <numeric>
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
  // gringo merges equal tuples of different statements; the twin rules say which statement each belongs to.
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
                                                           Definitions& definitions,
                                                           std::vector<std::string>& hidden) {
  struct Shown {
    asp::Symbol symbol;
    const std::string* text;
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
    if (name.empty() || (ground.show_all && definitions.of_atom[atom] == kFalse)) continue;
    asp::Symbol symbol = asp::parse_symbol(name);
    if (!listed(symbol)) {
      hidden.push_back(name);
    } else if (definitions.of_atom[atom] != kFalse) {
      shown.push_back({std::move(symbol), &name, definitions.of_atom[atom]});
    }
  }
  for (const std::string& fact : ground.facts) {
    asp::Symbol symbol = asp::parse_symbol(fact);
    if (listed(symbol)) {
      shown.push_back({std::move(symbol), &fact, kTrue});
    } else {
      hidden.push_back(fact);
    }
  }
  std::sort(hidden.begin(), hidden.end());
  for (const auto& [term, lit] : ground.shown_terms) {
    const Formula condition = lit == 0 ? kTrue : definitions.of(lit);
    if (condition != kFalse) shown.push_back({asp::parse_symbol(term), &term, condition});
  }
  std::vector<std::size_t> order(shown.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) { return shown[a].symbol < shown[b].symbol; };
  if (!std::is_sorted(order.begin(), order.end(), before)) {  // gringo often has them in this order
    std::stable_sort(order.begin(), order.end(), before);
  }
  std::vector<std::pair<std::string, Formula>> result;
  result.reserve(shown.size());
  for (const std::size_t k : order) {
    const Shown& entry = shown[k];
    // An atom and a shown term may print alike; clingo prints it once if either holds.
    if (!result.empty() && result.back().first == *entry.text) {
      result.back().second = definitions.formulas.disjunction({result.back().second, entry.condition});
    } else {
      result.emplace_back(*entry.text, entry.condition);
    }
  }
  return result;
}

}  // namespace as2::compile
