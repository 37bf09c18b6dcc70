#include "decode/problem.h"

#include <algorithm>

#include "compile/value_set.h"
#include "overloaded.h"

namespace as2::decode {
namespace {

using compile::Bound;
using compile::Conjunction;
using compile::ConstraintProgram;
using compile::Disjunction;
using compile::Group;
using compile::Node;
using compile::NodeRef;
using compile::SetLiteral;

// Nodes that some enabled group, an objective or an observed node depends on.
std::vector<char> needed_nodes(const ConstraintProgram& program, const std::vector<char>& enabled,
                               const std::vector<int>& observed) {
  std::vector<char> needed(program.nodes.size(), 0);
  for (const int node : observed) needed[node] = 1;
  const auto need = [&](const NodeRef& ref) {
    if (ref.node >= 0) needed[ref.node] = 1;
  };
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    if (!enabled.empty() && !enabled[g]) continue;
    std::visit(Overloaded{[](const compile::Slots&) {}, [](const compile::Linears&) {},
                          [](const compile::Nogoods&) {},
                          [&](const compile::DerivedNogoods& nogoods) {
                            for (const auto& nogood : nogoods) {
                              for (const NodeRef& ref : nogood.body) need(ref);
                            }
                          }},
               program.groups[g].content);
  }
  for (const auto& level : program.objectives) {
    for (const auto& cost : level.costs) need(cost.condition);
  }
  // Inputs stand in earlier components; a recursive component is kept or left out as a whole.
  for (auto component = program.components.rbegin(); component != program.components.rend(); ++component) {
    const auto begin = needed.begin() + component->begin;
    const auto end = needed.begin() + component->end;
    if (component->recursive && std::find(begin, end, 1) != end) std::fill(begin, end, 1);
    for (int node = component->end - 1; node >= component->begin; --node) {
      if (!needed[node]) continue;
      for (const NodeRef& ref : program.nodes[node].inputs()) need(ref);
    }
  }
  return needed;
}

}  // namespace

void Table::push_row(const std::vector<int>& row) {
  items.insert(items.end(), row.begin(), row.end());
  begin.push_back(static_cast<int>(items.size()));
}

Table Table::transposed(int count) const {
  Table result;
  result.begin.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const int item : items) ++result.begin[item + 1];
  for (int i = 0; i < count; ++i) result.begin[i + 1] += result.begin[i];
  result.items.resize(items.size());
  std::vector<int> next(result.begin.begin(), result.begin.end() - 1);
  for (int row = 0; row < rows(); ++row) {
    for (const int* item = first(row); item != last(row); ++item) result.items[next[*item]++] = row;
  }
  return result;
}

Problem::Problem(const ConstraintProgram& program, const std::vector<char>& enabled,
                 const std::vector<int>& observed) {
  value_begin.push_back(0);
  word_begin.push_back(0);
  for (const auto& position : program.positions) add_position(static_cast<int>(position.symbols.size()));
  real = positions;
  add_definitions(program, needed_nodes(program, enabled, observed));
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    if (!enabled.empty() && !enabled[g]) continue;
    add_group(program, program.groups[g]);
  }
  add_costs(program);
  recognise_tables(program);

  Table table_positions;
  for (const TupleTable& table : tables) table_positions.push_row(table.positions);
  tables_of_position = table_positions.transposed(positions);
  slots_of_literal = slots.transposed(literals());
  exact_of_value = exact.transposed(values);
  Table linear_positions;
  for (const LinearConstraint& linear : linears) {
    std::vector<int> row = linear.positions;
    if (linear.guard >= 0) row.push_back(linear.guard);
    linear_positions.push_row(row);
  }
  linears_of_position = linear_positions.transposed(positions);
  Table component_positions;
  for (const RecursiveComponent& component : components) {
    std::vector<int> row;
    for (const auto& member : component.members) {
      row.push_back(member.position);
      for (const int input : member.inputs) {
        if (input >= 0) row.push_back(position_of_literal(input));
      }
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    component_positions.push_row(row);
  }
  components_of_position = component_positions.transposed(positions);
  Table wide;
  for (const int position : wide_position) wide.push_row({position});
  wide_of_position = wide.transposed(positions);
  for (int i = 0; i < positions; ++i) {
    only_slots.push_back(
        wide_of_position.size(i) + linears_of_position.size(i) + components_of_position.size(i) == 0);
  }
  find_loose();
}

void Problem::find_loose() {
  std::vector<char> is_tied(static_cast<std::size_t>(positions), 0);
  for (const Table* table : {&slots, &nogoods}) {
    for (const int item : table->items) is_tied[position_of_literal(item)] = 1;
  }
  for (const int value : exact.items) is_tied[position_of[value]] = 1;
  for (int i = 0; i < real; ++i) {
    const bool alone =
        !is_tied[i] &&
        linears_of_position.size(i) + components_of_position.size(i) + tables_of_position.size(i) == 0;
    (alone ? loose : tied).push_back(i);
  }
}

int Problem::add_position(int symbols) {
  const int words = (symbols + 63) / 64;
  for (int s = 0; s < symbols; ++s) {
    position_of.push_back(positions);
    value_word.push_back(word_begin.back() + s / 64);
    value_bit.push_back(std::uint64_t{1} << (s % 64));
  }
  for (int w = 0; w < words; ++w) {
    const int left = symbols - 64 * w;
    full_domain.push_back(left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1);
  }
  value_begin.push_back(value_begin.back() + symbols);
  word_begin.push_back(word_begin.back() + words);
  return positions++;
}

void Problem::add_group(const ConstraintProgram& program, const Group& group) {
  std::visit(Overloaded{[&](const compile::Slots& rows) { add_exclusive(group.positions, rows); },
                        [&](const compile::Linears& rows) {
                          for (const compile::Linear& linear : rows) add_linear(program, linear);
                        },
                        [&](const compile::Nogoods& rows) {
                          for (const compile::Nogood& nogood : rows) {
                            std::vector<int> body;
                            for (const SetLiteral& set : nogood.literals)
                              body.push_back(literal(set.position, set.symbols));
                            add_nogood(body);
                          }
                        },
                        [&](const compile::DerivedNogoods& rows) {
                          for (const compile::DerivedNogood& nogood : rows) {
                            std::vector<int> body;
                            for (const NodeRef& ref : nogood.body) body.push_back(literal_of(ref));
                            add_nogood(body);
                          }
                        }},
             group.content);
}

void Problem::add_linear(const ConstraintProgram& program, const compile::Linear& linear) {
  const auto& aggregate = program.aggregates[linear.aggregate];
  LinearConstraint constraint{aggregate.positions, aggregate.values, linear.guard, linear.allowed};
  // The constant moves to the other side.
  for (compile::ValueSet& set : constraint.allowed) set = compile::affine(set, 1, -aggregate.constant);
  linears.push_back(std::move(constraint));
}

void Problem::add_definitions(const ConstraintProgram& program, const std::vector<char>& needed) {
  const auto set_of = [&](std::size_t n) { return std::get_if<SetLiteral>(&program.nodes[n].content); };
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    if (needed[n] && !set_of(n)) add_position(2);
  }
  // Literals are numbered after the values, so every position exists before the first literal does.
  values = value_begin.back();
  node_literal_.assign(program.nodes.size(), -1);
  int auxiliary = real;
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    if (!needed[n]) continue;
    const SetLiteral* set = set_of(n);
    node_literal_[n] = set ? literal(set->position, set->symbols) : value_begin[auxiliary++] + 1;
  }
  for (const auto& component : program.components) {
    for (int n = component.begin; n < component.end; ++n) {
      if (needed[n]) add_node(program, n);
    }
    if (component.recursive && needed[component.begin]) add_component(program, component);
  }
}

bool Problem::literal_has(int literal, int value) const {
  if (literal < values) return literal == value;
  const int position = wide_position[literal - values];
  if (position_of[value] != position) return false;
  return (wide_words[literal - values][value_word[value] - word_begin[position]] & value_bit[value]) != 0;
}

std::vector<int> Problem::symbols_of(int literal) const {
  const int position = position_of_literal(literal);
  std::vector<int> symbols;
  for (int v = value_begin[position]; v < value_begin[position + 1]; ++v) {
    if (literal_has(literal, v)) symbols.push_back(v - value_begin[position]);
  }
  return symbols;
}

int Problem::literal(int position, std::vector<int> symbols) {
  if (symbols.size() == 1) return value_begin[position] + symbols.front();
  const auto [it, fresh] = wide_ids_.emplace(std::make_pair(position, symbols), literals());
  if (fresh) {
    std::vector<std::uint64_t> words(
        static_cast<std::size_t>(word_begin[position + 1] - word_begin[position]), 0);
    for (const int s : symbols) words[s / 64] |= std::uint64_t{1} << (s % 64);
    wide_position.push_back(position);
    wide_words.push_back(std::move(words));
  }
  return it->second;
}

int Problem::negation(int literal_id) {
  const int position = position_of_literal(literal_id);
  std::vector<int> symbols;
  for (int v = value_begin[position]; v < value_begin[position + 1]; ++v) {
    if (!literal_has(literal_id, v)) symbols.push_back(v - value_begin[position]);
  }
  return literal(position, std::move(symbols));
}

int Problem::literal_of(const NodeRef& ref) {
  return ref.negated ? negation(node_literal_[ref.node]) : node_literal_[ref.node];
}

void Problem::add_nogood(const std::vector<int>& body) {
  // Literals of one position are intersected; an empty set can never hold.
  std::map<int, std::vector<int>> sets;
  for (const int lit : body) {
    const std::vector<int> symbols = symbols_of(lit);
    if (symbols.empty()) return;
    const auto [it, fresh] = sets.emplace(position_of_literal(lit), symbols);
    if (fresh) continue;
    std::vector<int> both;
    std::set_intersection(it->second.begin(), it->second.end(), symbols.begin(), symbols.end(),
                          std::back_inserter(both));
    if (both.empty()) return;
    it->second = std::move(both);
  }
  std::vector<int> met;
  for (auto& [position, symbols] : sets) met.push_back(literal(position, std::move(symbols)));
  if (met.empty()) impossible = true;
  if (met.size() == 1) units.push_back(met.front());
  if (met.size() > 1) nogoods.push_row(met);
}

// If a group's slots partition the values of its positions and there are as many slots as positions, every
// slot is used, so hidden singles can be found. With fewer slots than positions the group cannot hold at all.
void Problem::add_exclusive(const std::vector<int>& group_positions, const compile::Slots& rows) {
  std::vector<int> covered;
  bool single = true;
  for (const compile::Slot& slot : rows) {
    std::vector<int> members;
    for (const auto& member : slot.members) members.push_back(literal(member.position, member.symbols));
    for (const int member : members) single = single && member < values;
    covered.insert(covered.end(), members.begin(), members.end());
    if (members.size() > 1) slots.push_row(members);
  }
  if (!single) return;
  std::size_t domain = 0;
  for (const int position : group_positions) {
    domain += static_cast<std::size_t>(value_begin[position + 1] - value_begin[position]);
  }
  std::sort(covered.begin(), covered.end());
  const bool apart = std::adjacent_find(covered.begin(), covered.end()) == covered.end();
  if (!apart || covered.size() != domain) return;
  if (rows.size() < group_positions.size()) impossible = true;
  if (rows.size() != group_positions.size()) return;
  for (const compile::Slot& slot : rows) {
    std::vector<int> row;
    for (const auto& member : slot.members)
      row.push_back(value_begin[member.position] + member.symbols.front());
    exact.push_row(row);
  }
}

void Problem::add_node(const ConstraintProgram& program, int index) {
  const int holds = node_literal_[index];
  std::visit(Overloaded{[](const SetLiteral&) {},
                        [&](const Conjunction& all) { add_completion(holds, true, all.inputs); },
                        [&](const Disjunction& some) { add_completion(holds, false, some.inputs); },
                        [&](const Bound& sum) { add_bound(holds, sum); }},
             program.nodes[index].content);
}

// Completion: a conjunction fails by any input that fails and holds if all hold; a disjunction the other way.
void Problem::add_completion(int holds, bool conjunction, const std::vector<NodeRef>& inputs) {
  const int fails = holds - 1;
  std::vector<int> all{conjunction ? fails : holds};
  for (const NodeRef& ref : inputs) {
    const int input = literal_of(ref);
    all.push_back(conjunction ? input : negation(input));
    add_nogood({conjunction ? holds : fails, conjunction ? negation(input) : input});
  }
  add_nogood(all);
}

void Problem::add_bound(int holds, const Bound& bound) {
  std::map<int, std::vector<std::int64_t>> weights;
  for (std::size_t k = 0; k < bound.inputs.size(); ++k) {
    const int input = literal_of(bound.inputs[k]);
    const int position = position_of_literal(input);
    auto& row = weights[position];
    row.resize(static_cast<std::size_t>(value_begin[position + 1] - value_begin[position]), 0);
    for (const int s : symbols_of(input)) row[s] += bound.weights[k];
  }
  LinearConstraint constraint;
  constraint.guard = position_of[holds];
  constraint.allowed = {compile::complement(bound.allowed), bound.allowed};
  for (auto& [position, row] : weights) {
    constraint.positions.push_back(position);
    constraint.values.push_back(std::move(row));
  }
  linears.push_back(std::move(constraint));
}

void Problem::add_component(const ConstraintProgram& program, const compile::Component& source) {
  RecursiveComponent component;
  std::map<int, int> member_of;
  const auto add_member = [&](int n, bool conjunction) {
    member_of.emplace(n, static_cast<int>(component.members.size()));
    component.members.push_back({position_of[node_literal_[n]], conjunction, {}});
  };
  for (int n = source.begin; n < source.end; ++n) {
    std::visit(Overloaded{[](const SetLiteral&) {}, [&](const Conjunction&) { add_member(n, true); },
                          [&](const Disjunction&) { add_member(n, false); }, [](const Bound&) {}},
               program.nodes[n].content);
  }
  for (const auto& [n, index] : member_of) {
    for (const NodeRef& ref : program.nodes[n].inputs()) {
      const auto inside = member_of.find(ref.node);
      component.members[index].inputs.push_back(inside != member_of.end() ? ~inside->second
                                                                          : literal_of(ref));
    }
  }
  Table inputs;
  for (const auto& member : component.members) {
    std::vector<int> row;
    for (const int input : member.inputs) {
      if (input < 0) row.push_back(~input);
    }
    inputs.push_row(row);
  }
  component.users = inputs.transposed(static_cast<int>(component.members.size()));
  components.push_back(std::move(component));
}

void Problem::add_costs(const ConstraintProgram& program) {
  constant_cost.assign(program.objectives.size(), 0);
  for (std::size_t level = 0; level < program.objectives.size(); ++level) {
    for (const auto& cost : program.objectives[level].costs) {
      if (cost.condition.node < 0) {
        constant_cost[level] += cost.weight;
      } else {
        costs.push_back({static_cast<int>(level), cost.weight, literal_of(cost.condition)});
      }
    }
  }
}

}  // namespace as2::decode
