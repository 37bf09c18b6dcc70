#include "tp/tables.h"

#include <algorithm>
#include <tuple>

#include "overloaded.h"

namespace as2::tp {
namespace {

using compile::ConstraintProgram;
using compile::Group;
using compile::SetLiteral;

struct Term {
  std::int64_t unit;
  std::int64_t cell;
  int family;
  std::int64_t group;
};

// Where a unit applies: the place of its factor in its row, and the literal whose symbols share it.
struct Application {
  std::int64_t column;
  std::vector<std::int64_t> cells;
};

// A product over set literals that waits for its table.
struct PendingProduct {
  std::vector<Reference> members;
  std::vector<Application> applications;
  int family;
  std::int64_t group;
};

struct PendingLinear {
  int family;
  std::int64_t group;
  std::int64_t order;
  const compile::Linear* linear;
};

class Builder {
 public:
  explicit Builder(const ConstraintProgram& program)
      : program_(program),
        symbols_(program.max_symbols()),
        cells_(static_cast<std::int64_t>(program.positions.size()) * symbols_),
        zero_{cells_},
        one_{cells_ + 1},
        circuit_(program, zero_, one_, [this](const SetLiteral& literal) { return reference(literal); }),
        roots_at_(program.positions.size()),
        counts_(static_cast<std::int64_t>(program.positions.size()), symbols_) {}

  Tables build();

 private:
  std::int64_t cell(int position, int symbol) const { return std::int64_t{position} * symbols_ + symbol; }
  int domain(int position) const { return static_cast<int>(program_.positions[position].symbols.size()); }
  Reference reference(const SetLiteral& literal);
  std::vector<std::int64_t> cells_of(const SetLiteral& literal) const;
  std::vector<std::int64_t> cells_of(int position) const;
  PendingProduct product_of(const std::vector<SetLiteral>& literals, int family, std::int64_t group);
  void add_always_violated(int family, std::int64_t group);
  void collect();
  void collect_linear(const compile::Linear& linear, int family, std::int64_t group);
  void collect_root(const compile::DerivedNogood& nogood, int family, std::int64_t group);
  void collect_derived();
  void collect_costs();
  std::vector<References> place_products(std::vector<PendingProduct>& pending, Reference padding,
                                         std::int64_t first_unit, std::vector<Term>& terms);
  void place_linears(LinearPart& part, std::vector<Term>& terms);
  ChainSpec chain_of(const compile::Aggregate& aggregate, std::vector<std::vector<int>>& class_of);
  Terms finish(const std::vector<Term>& terms) const;

  const ConstraintProgram& program_;
  const std::int64_t symbols_, cells_;
  const Reference zero_, one_;
  std::map<std::vector<std::int64_t>, std::int64_t> sum_index_;
  std::vector<std::vector<Reference>> sums_;
  CircuitBuilder circuit_;
  std::vector<PendingProduct> slots_, nogoods_;
  std::vector<PendingLinear> linears_;
  struct Root {
    int family;
    std::int64_t group;
    const std::vector<compile::NodeRef>* body;
  };
  std::vector<std::vector<Root>> roots_at_;  // per position: the derived nogoods that depend on it
  struct Derived {
    Reference violated;
    Term term;
  };
  std::vector<Derived> deriveds_;
  std::vector<Term> always_violated_;
  std::vector<Reference> costs_;
  std::vector<double> cost_weights_;
  std::vector<std::int64_t> cost_levels_;
  TermCounts counts_;
};

Reference Builder::reference(const SetLiteral& literal) {
  if (literal.symbols.size() == 1) return {cell(literal.position, literal.symbols.front())};
  const std::vector<std::int64_t> cells = cells_of(literal);
  const auto [known, fresh] =
      sum_index_.emplace(cells, one_.index + 1 + static_cast<std::int64_t>(sums_.size()));
  if (fresh) {
    sums_.emplace_back();
    for (const std::int64_t at : cells) sums_.back().push_back({at});
  }
  return {known->second};
}

std::vector<std::int64_t> Builder::cells_of(const SetLiteral& literal) const {
  std::vector<std::int64_t> cells;
  for (const int symbol : literal.symbols) cells.push_back(cell(literal.position, symbol));
  return cells;
}

std::vector<std::int64_t> Builder::cells_of(int position) const {
  std::vector<std::int64_t> cells;
  for (int symbol = 0; symbol < domain(position); ++symbol) cells.push_back(cell(position, symbol));
  return cells;
}

PendingProduct Builder::product_of(const std::vector<SetLiteral>& literals, int family, std::int64_t group) {
  PendingProduct product;
  product.family = family;
  product.group = group;
  for (const SetLiteral& literal : literals) {
    product.applications.push_back({static_cast<std::int64_t>(product.members.size()), cells_of(literal)});
    product.members.push_back(reference(literal));
  }
  return product;
}

void Builder::add_always_violated(int family, std::int64_t group) {
  for (int position = 0; position < static_cast<int>(program_.positions.size()); ++position) {
    for (const std::int64_t at : cells_of(position)) always_violated_.push_back({0, at, family, group});
  }
}

void Builder::collect() {
  for (std::size_t g = 0; g < program_.groups.size(); ++g) {
    const Group& group = program_.groups[g];
    const auto index = static_cast<std::int64_t>(g);
    std::visit(Overloaded{[&](const compile::Slots& slots) {
                            for (const compile::Slot& slot : slots)
                              slots_.push_back(product_of(slot.members, group.family, index));
                          },
                          [&](const compile::Linears& linears) {
                            for (const compile::Linear& linear : linears)
                              collect_linear(linear, group.family, index);
                          },
                          [&](const compile::Nogoods& nogoods) {
                            for (const compile::Nogood& nogood : nogoods) {
                              if (nogood.literals.empty()) {
                                add_always_violated(group.family, index);
                              } else {
                                nogoods_.push_back(product_of(nogood.literals, group.family, index));
                              }
                            }
                          },
                          [&](const compile::DerivedNogoods& nogoods) {
                            for (const compile::DerivedNogood& nogood : nogoods)
                              collect_root(nogood, group.family, index);
                          }},
               group.content);
  }
  collect_derived();
  collect_costs();
}

void Builder::collect_linear(const compile::Linear& linear, int family, std::int64_t group) {
  linears_.push_back({family, group, static_cast<std::int64_t>(linears_.size()), &linear});
  const compile::Aggregate& aggregate = program_.aggregates[linear.aggregate];
  if (aggregate.positions.empty() && linear.guard < 0 && !linear.allowed[0].contains(aggregate.constant)) {
    add_always_violated(family, group);
  }
}

void Builder::collect_root(const compile::DerivedNogood& nogood, int family, std::int64_t group) {
  const std::vector<int> support = circuit_.support(nogood.body);
  for (const int position : support) roots_at_[position].push_back({family, group, &nogood.body});
  // Nothing to depend on: either never violated or always.
  if (support.empty() && circuit_.conjunction(nogood.body, {}) == one_) add_always_violated(family, group);
}

void Builder::collect_derived() {
  for (int position = 0; position < static_cast<int>(program_.positions.size()); ++position) {
    if (roots_at_[position].empty()) continue;
    for (int symbol = 0; symbol < domain(position); ++symbol) {
      for (const Root& root : roots_at_[position]) {
        const Reference violated = circuit_.conjunction(*root.body, {position, symbol});
        deriveds_.push_back({violated, {0, cell(position, symbol), root.family, root.group}});
      }
    }
  }
}

void Builder::collect_costs() {
  for (std::size_t level = 0; level < program_.objectives.size(); ++level) {
    for (const compile::Cost& cost : program_.objectives[level].costs) {
      costs_.push_back(cost.condition.node < 0 ? one_ : circuit_.conjunction({cost.condition}, {}));
      cost_weights_.push_back(static_cast<double>(cost.weight));
      cost_levels_.push_back(static_cast<std::int64_t>(level));
    }
  }
}

std::vector<References> Builder::place_products(std::vector<PendingProduct>& pending, Reference padding,
                                                std::int64_t first_unit, std::vector<Term>& terms) {
  std::map<std::int64_t, std::vector<const PendingProduct*>> by_size;
  for (const PendingProduct& product : pending) {
    by_size[size_class(static_cast<std::int64_t>(product.members.size()))].push_back(&product);
  }
  std::vector<References> tables;
  for (const auto& [size, products] : by_size) {
    std::vector<std::vector<Reference>> rows;
    for (const PendingProduct* product : products) rows.push_back(product->members);
    tables.push_back(References::of(rows, padding));
    const std::int64_t width = tables.back().width;
    for (std::size_t row = 0; row < products.size(); ++row) {
      const PendingProduct& product = *products[row];
      for (const Application& application : product.applications) {
        const std::int64_t unit = first_unit + static_cast<std::int64_t>(row) * width + application.column;
        for (const std::int64_t at : application.cells)
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
      spec.members.back().push_back({value, reference(literal)});
    }
  }
  return spec;
}

void Builder::place_linears(LinearPart& part, std::vector<Term>& terms) {
  std::map<int, ChainSpec> chains;
  std::map<int, std::vector<std::vector<int>>> class_of;
  using Size = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  std::map<Size, std::vector<const PendingLinear*>> by_size;
  for (const PendingLinear& pending : linears_) {
    const int a = pending.linear->aggregate;
    if (!chains.count(a)) chains[a] = chain_of(program_.aggregates[a], class_of[a]);
    const auto guards = pending.linear->guard < 0 ? 1 : domain(pending.linear->guard);
    by_size[{size_class(static_cast<std::int64_t>(chains[a].members.size())),
             size_class(static_cast<std::int64_t>(reachable_sums(chains[a]).back().size())),
             size_class(guards)}]
        .push_back(&pending);
  }
  std::vector<std::int64_t> order(linears_.size());
  std::int64_t first_unit = 0, first_row = 0;
  for (const auto& [size, members] : by_size) {
    std::map<int, std::int64_t> row_of;
    std::vector<ChainSpec> specs;
    std::vector<LinearSpec> rows;
    for (const PendingLinear* pending : members) {
      const compile::Linear& linear = *pending->linear;
      const auto [row, fresh] = row_of.emplace(linear.aggregate, static_cast<std::int64_t>(specs.size()));
      if (fresh) specs.push_back(chains[linear.aggregate]);
      LinearSpec spec{row->second, {}, linear.allowed};
      if (linear.guard < 0) spec.guard.push_back(one_);
      for (int symbol = 0; linear.guard >= 0 && symbol < domain(linear.guard); ++symbol) {
        spec.guard.push_back({cell(linear.guard, symbol)});
      }
      rows.push_back(std::move(spec));
    }
    part.linears.push_back(linears_of(specs, rows, zero_, one_));
    const Linears& table = part.linears.back();
    const std::int64_t members_width = table.chains.members * table.chains.classes;
    const std::int64_t first_guard_unit = first_unit + table.rows * members_width;
    for (std::size_t r = 0; r < members.size(); ++r) {
      const PendingLinear& pending = *members[r];
      const auto row = static_cast<std::int64_t>(r);
      const compile::Aggregate& aggregate = program_.aggregates[pending.linear->aggregate];
      const auto& classes = class_of[pending.linear->aggregate];
      for (std::size_t k = 0; k < aggregate.positions.size(); ++k) {
        const std::int64_t base =
            first_unit + row * members_width + static_cast<std::int64_t>(k) * table.chains.classes;
        for (int symbol = 0; symbol < domain(aggregate.positions[k]); ++symbol) {
          terms.push_back({base + classes[k][symbol], cell(aggregate.positions[k], symbol), pending.family,
                           pending.group});
        }
      }
      for (int symbol = 0; pending.linear->guard >= 0 && symbol < domain(pending.linear->guard); ++symbol) {
        terms.push_back({first_guard_unit + row * table.guard_symbols + symbol,
                         cell(pending.linear->guard, symbol), pending.family, pending.group});
      }
      order[pending.order] = first_row + row;
    }
    first_unit = first_guard_unit + table.rows * table.guard_symbols;
    first_row += table.rows;
  }
  part.order = index_tensor(order);
}

Terms Builder::finish(const std::vector<Term>& terms) const {
  std::vector<std::int64_t> unit, at, family_cell;
  std::vector<double> family_weight, group_weight;
  for (const Term& term : terms) {
    unit.push_back(term.unit);
    at.push_back(term.cell);
    family_cell.push_back(term.family * cells_ + term.cell);
    family_weight.push_back(counts_.family_weight(term.family, term.cell));
    group_weight.push_back(counts_.group_weight(term.group, term.cell));
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
  tables.positions = static_cast<std::int64_t>(program_.positions.size());
  tables.symbols = symbols_;
  tables.families = static_cast<std::int64_t>(program_.families.size());
  tables.levels = static_cast<std::int64_t>(program_.objectives.size());
  tables.zero = zero_;
  tables.one = one_;
  collect();

  std::vector<Term> exclusive, linear, other = always_violated_;
  tables.exclusive.slots = place_products(slots_, zero_, 0, exclusive);
  place_linears(tables.linear, linear);
  tables.other.nogoods = place_products(nogoods_, one_, 1, other);
  std::int64_t unit = 1;
  for (const References& table : tables.other.nogoods) unit += table.rows * table.width;
  tables.circuit = circuit_.layout(one_.index + 1 + static_cast<std::int64_t>(sums_.size()));
  std::vector<std::vector<Reference>> violated, costs;
  for (Derived& derived : deriveds_) {
    violated.push_back({circuit_.placed(derived.violated)});
    derived.term.unit = unit++;
    other.push_back(derived.term);
  }
  for (const Reference& cost : costs_) costs.push_back({circuit_.placed(cost)});

  tables.sums = References::of(sums_, zero_);
  tables.other.violated = References::of(violated, zero_);
  tables.costs = References::of(costs, zero_);
  tables.cost_weight = torch::tensor(cost_weights_, torch::kFloat64);
  tables.cost_level = index_tensor(cost_levels_);
  for (const auto* terms : {&exclusive, &linear, &other}) {
    for (const Term& term : *terms) counts_.add(term.family, term.group, term.cell);
  }
  tables.exclusive.terms = finish(exclusive);
  tables.linear.terms = finish(linear);
  tables.other.terms = finish(other);

  std::vector<double> inside(cells_), family_base, group_base = counts_.shares_without_term(cells_);
  for (int position = 0; position < static_cast<int>(tables.positions); ++position) {
    for (const std::int64_t at : cells_of(position)) inside[at] = 1;
  }
  for (std::int64_t family = 0; family < tables.families; ++family) {
    for (std::int64_t at = 0; at < cells_; ++at)
      family_base.push_back(counts_.has_term(family, at) ? 0 : inside[at]);
  }
  for (std::int64_t at = 0; at < cells_; ++at) group_base[at] *= inside[at];
  tables.mask = torch::tensor(inside, torch::kFloat64).to(torch::kBool).view({tables.positions, symbols_});
  tables.family_base = torch::tensor(family_base, torch::kFloat64);
  tables.group_base = torch::tensor(group_base, torch::kFloat64);
  tables.counts = std::make_shared<TermCounts>(std::move(counts_));
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

void TermCounts::add(std::int64_t family, std::int64_t group, std::int64_t cell) {
  ++family_terms_[{family, cell}];
  ++group_terms_[{group, cell}];
  groups_at_[cell / symbols_].insert(group);
}

double TermCounts::family_weight(std::int64_t family, std::int64_t cell) const {
  return 1.0 / static_cast<double>(family_terms_.at({family, cell}));
}

double TermCounts::group_weight(std::int64_t group, std::int64_t cell) const {
  return 1.0 / static_cast<double>(group_terms_.at({group, cell})) /
         static_cast<double>(groups_at_[cell / symbols_].size());
}

std::vector<double> TermCounts::shares_without_term(std::int64_t cells) const {
  std::vector<std::int64_t> with_term(cells);
  for (const auto& [key, terms] : group_terms_) ++with_term[key.second];
  std::vector<double> shares(cells, 1);
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const auto groups = static_cast<std::int64_t>(groups_at_[cell / symbols_].size());
    if (groups > 0)
      shares[cell] = static_cast<double>(groups - with_term[cell]) / static_cast<double>(groups);
  }
  return shares;
}

Tables Tables::of(const ConstraintProgram& program) {
  return Builder(program).build();
}

Tables Tables::to(torch::Device device, torch::ScalarType type) const {
  Tables tables = *this;
  tables.mask = mask.to(device);
  tables.sums = sums.to(device, type);
  tables.circuit.move(device, type);
  for (References& slots : tables.exclusive.slots) slots = slots.to(device, type);
  tables.exclusive.terms = moved(exclusive.terms, device, type);
  for (Linears& linears : tables.linear.linears) linears.move(device, type);
  tables.linear.terms = moved(linear.terms, device, type);
  tables.linear.order = linear.order.to(device);
  for (References& nogoods : tables.other.nogoods) nogoods = nogoods.to(device, type);
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
