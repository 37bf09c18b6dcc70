#include "tp/tables.h"

#include <map>
#include <tuple>

namespace as2::tp {
namespace {

using compile::ConstraintProgram;

struct Term {
  std::int64_t unit;
  std::int64_t cell;
  int family;
  std::int64_t group;
};

class Builder {
 public:
  explicit Builder(const ConstraintProgram& program) : program_(program), collected_(program) {}

  Tables build();

 private:
  std::vector<IndexTable> place_products(const std::vector<CollectedTerms::Product>& pending,
                                         Reference padding, std::int64_t first_unit,
                                         std::vector<Term>& terms);
  void place_linears(LinearPart& part, std::vector<Term>& terms);
  ChainSpec chain_of(const compile::Aggregate& aggregate, std::vector<std::vector<int>>& class_of);
  static Terms finish(const std::vector<Term>& terms, const TermCounts& counts, std::int64_t cells);

  const ConstraintProgram& program_;
  CollectedTerms collected_;
};

std::vector<IndexTable> Builder::place_products(const std::vector<CollectedTerms::Product>& pending,
                                                Reference padding, std::int64_t first_unit,
                                                std::vector<Term>& terms) {
  std::map<std::int64_t, std::vector<const CollectedTerms::Product*>> by_size;
  for (const CollectedTerms::Product& product : pending) {
    by_size[size_class(static_cast<std::int64_t>(product.members.size()))].push_back(&product);
  }
  std::vector<IndexTable> tables;
  for (const auto& [size, products] : by_size) {
    std::vector<std::vector<Reference>> rows;
    for (const CollectedTerms::Product* product : products) rows.push_back(product->members);
    tables.push_back(IndexTable::of(rows, padding));
    const std::int64_t width = tables.back().width;
    for (std::size_t row = 0; row < products.size(); ++row) {
      const CollectedTerms::Product& product = *products[row];
      for (std::size_t column = 0; column < product.cells.size(); ++column) {
        const std::int64_t unit =
            first_unit + static_cast<std::int64_t>(row) * width + static_cast<std::int64_t>(column);
        for (const std::int64_t at : product.cells[column])
          terms.push_back({unit, at, product.family, product.group});
      }
    }
    first_unit += static_cast<std::int64_t>(rows.size()) * width;
  }
  return tables;
}

// Symbols of one position with the same value are one class; class_of[member][symbol] says which.
ChainSpec Builder::chain_of(const compile::Aggregate& aggregate, std::vector<std::vector<int>>& class_of) {
  ChainSpec spec;
  spec.constant = aggregate.constant;
  for (const auto& by_value : symbols_by_value(aggregate)) {
    spec.members.emplace_back();
    class_of.emplace_back();
    for (const auto& [value, literal] : by_value) {
      class_of.back().resize(class_of.back().size() + literal.symbols.size());
    }
    for (const auto& [value, literal] : by_value) {
      for (const int symbol : literal.symbols)
        class_of.back()[symbol] = static_cast<int>(spec.members.back().size());
      spec.members.back().push_back({value, collected_.reference(literal)});
    }
  }
  return spec;
}

void Builder::place_linears(LinearPart& part, std::vector<Term>& terms) {
  std::map<int, ChainSpec> chains;
  std::map<int, std::vector<std::vector<int>>> class_of;
  using Size = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  std::map<Size, std::vector<const CollectedTerms::Linear*>> by_size;
  for (const CollectedTerms::Linear& pending : collected_.linears) {
    const int a = pending.linear->aggregate;
    if (!chains.count(a)) chains[a] = chain_of(program_.aggregates[a], class_of[a]);
    const auto guards = pending.linear->guard < 0 ? 1 : collected_.domain(pending.linear->guard);
    by_size[{size_class(static_cast<std::int64_t>(chains[a].members.size())),
             size_class(static_cast<std::int64_t>(reachable_sums(chains[a]).back().size())),
             size_class(guards)}]
        .push_back(&pending);
  }
  std::vector<std::int64_t> order(collected_.linears.size());
  std::int64_t first_unit = 0, first_row = 0;
  for (const auto& [size, members] : by_size) {
    std::map<int, std::int64_t> row_of;
    std::vector<ChainSpec> specs;
    std::vector<LinearSpec> rows;
    for (const CollectedTerms::Linear* pending : members) {
      const compile::Linear& linear = *pending->linear;
      const auto [row, fresh] = row_of.emplace(linear.aggregate, static_cast<std::int64_t>(specs.size()));
      if (fresh) specs.push_back(chains[linear.aggregate]);
      LinearSpec spec{row->second, {}, linear.allowed};
      if (linear.guard < 0) spec.guard.push_back(collected_.one);
      for (int symbol = 0; linear.guard >= 0 && symbol < collected_.domain(linear.guard); ++symbol) {
        spec.guard.push_back({collected_.cell(linear.guard, symbol)});
      }
      rows.push_back(std::move(spec));
    }
    part.linears.push_back(linears_of(specs, rows, collected_.zero, collected_.one));
    const Linears& table = part.linears.back();
    const std::int64_t members_width = table.chains.members * table.chains.classes;
    const std::int64_t first_guard_unit = first_unit + table.rows * members_width;
    for (std::size_t r = 0; r < members.size(); ++r) {
      const CollectedTerms::Linear& pending = *members[r];
      const auto row = static_cast<std::int64_t>(r);
      const compile::Aggregate& aggregate = program_.aggregates[pending.linear->aggregate];
      const auto& classes = class_of[pending.linear->aggregate];
      for (std::size_t k = 0; k < aggregate.positions.size(); ++k) {
        const std::int64_t base =
            first_unit + row * members_width + static_cast<std::int64_t>(k) * table.chains.classes;
        for (int symbol = 0; symbol < collected_.domain(aggregate.positions[k]); ++symbol) {
          terms.push_back({base + classes[k][symbol], collected_.cell(aggregate.positions[k], symbol),
                           pending.family, pending.group});
        }
      }
      for (int symbol = 0; pending.linear->guard >= 0 && symbol < collected_.domain(pending.linear->guard);
           ++symbol) {
        terms.push_back({first_guard_unit + row * table.guard_symbols + symbol,
                         collected_.cell(pending.linear->guard, symbol), pending.family, pending.group});
      }
      order[pending.order] = first_row + row;
    }
    first_unit = first_guard_unit + table.rows * table.guard_symbols;
    first_row += table.rows;
  }
  part.order = index_tensor(order);
}

Terms Builder::finish(const std::vector<Term>& terms, const TermCounts& counts, std::int64_t cells) {
  std::vector<std::int64_t> unit, at, family_cell;
  std::vector<double> family_weight, group_weight;
  for (const Term& term : terms) {
    unit.push_back(term.unit);
    at.push_back(term.cell);
    family_cell.push_back(term.family * cells + term.cell);
    family_weight.push_back(counts.family_weight(term.family, term.cell));
    group_weight.push_back(counts.group_weight(term.group, term.cell));
  }
  Terms finished;
  finished.count = static_cast<std::int64_t>(terms.size());
  finished.unit = index_tensor(unit);
  finished.cell = index_tensor(at);
  finished.family_cell = index_tensor(family_cell);
  finished.family_weight = torch::tensor(family_weight, torch::kFloat64);
  finished.group_weight = torch::tensor(group_weight, torch::kFloat64);
  return finished;
}

Tables Builder::build() {
  Tables tables;
  const std::int64_t cells = collected_.cells;
  tables.positions = static_cast<std::int64_t>(program_.positions.size());
  tables.symbols = collected_.symbols;
  tables.families = static_cast<std::int64_t>(program_.families.size());
  tables.levels = static_cast<std::int64_t>(program_.objectives.size());
  tables.zero = collected_.zero;
  tables.one = collected_.one;

  std::vector<Term> exclusive, linear, other;
  for (const CollectedTerms::AlwaysViolated& term : collected_.always_violated)
    other.push_back({0, term.cell, term.family, term.group});
  tables.exclusive.slots = place_products(collected_.slots, tables.zero, 0, exclusive);
  place_linears(tables.linear, linear);
  tables.other.nogoods = place_products(collected_.nogoods, tables.one, 1, other);
  std::int64_t unit = 1;
  for (const IndexTable& table : tables.other.nogoods) unit += table.rows * table.width;
  SoftNodeLayout layout(collected_.circuit,
                        tables.one.index + 1 + static_cast<std::int64_t>(collected_.sums.size()));
  std::vector<std::vector<Reference>> violated, costs;
  std::vector<double> cost_weights;
  std::vector<std::int64_t> cost_levels;
  for (const CollectedTerms::Derived& derived : collected_.deriveds) {
    violated.push_back({layout.placed(derived.violated)});
    other.push_back({unit++, derived.cell, derived.family, derived.group});
  }
  for (const CollectedTerms::Cost& cost : collected_.costs) {
    costs.push_back({layout.placed(cost.paid)});
    cost_weights.push_back(cost.weight);
    cost_levels.push_back(cost.level);
  }
  tables.nodes = std::move(layout.nodes);
  tables.sums = IndexTable::of(collected_.sums, tables.zero);
  tables.other.violated = IndexTable::of(violated, tables.zero);
  tables.costs = IndexTable::of(costs, tables.zero);
  tables.cost_weight = torch::tensor(cost_weights, torch::kFloat64);
  tables.cost_level = index_tensor(cost_levels);

  tables.counts = std::make_shared<TermCounts>(collected_.counts());
  const TermCounts& counts = *tables.counts;
  tables.exclusive.terms = finish(exclusive, counts, cells);
  tables.linear.terms = finish(linear, counts, cells);
  tables.other.terms = finish(other, counts, cells);
  std::vector<double> inside(static_cast<std::size_t>(cells)), group_base = counts.shares_without_term(cells);
  for (int position = 0; position < static_cast<int>(tables.positions); ++position) {
    for (const std::int64_t at : collected_.cells_of(position)) inside[static_cast<std::size_t>(at)] = 1;
  }
  for (std::size_t at = 0; at < inside.size(); ++at) group_base[at] *= inside[at];
  tables.mask =
      torch::tensor(inside, torch::kFloat64).to(torch::kBool).view({tables.positions, tables.symbols});
  tables.family_base = torch::tensor(collected_.family_base(counts), torch::kFloat64);
  tables.group_base = torch::tensor(group_base, torch::kFloat64);
  return tables;
}

Terms moved(const Terms& terms, torch::Device device, torch::ScalarType type) {
  return {terms.unit.to(device),
          terms.cell.to(device),
          terms.family_cell.to(device),
          terms.family_weight.to(device, type),
          terms.group_weight.to(device, type),
          terms.count};
}

}  // namespace

Tables Tables::of(const ConstraintProgram& program) {
  return Builder(program).build();
}

Tables Tables::to(torch::Device device, torch::ScalarType type) const {
  Tables tables = *this;
  tables.mask = mask.to(device);
  tables.sums = sums.to(device, type);
  tables.nodes.move(device, type);
  for (IndexTable& slots : tables.exclusive.slots) slots = slots.to(device, type);
  tables.exclusive.terms = moved(exclusive.terms, device, type);
  for (Linears& linears : tables.linear.linears) linears.move(device, type);
  tables.linear.terms = moved(linear.terms, device, type);
  tables.linear.order = linear.order.to(device);
  for (IndexTable& nogoods : tables.other.nogoods) nogoods = nogoods.to(device, type);
  tables.other.violated = other.violated.to(device, type);
  tables.other.terms = moved(other.terms, device, type);
  tables.family_base = family_base.to(device, type);
  tables.group_base = group_base.to(device, type);
  tables.costs = costs.to(device, type);
  tables.cost_weight = cost_weight.to(device, type);
  tables.cost_level = cost_level.to(device);
  return tables;
}

}  // namespace as2::tp
