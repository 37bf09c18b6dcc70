#include "tp/collected_terms.h"

#include "overloaded.h"

namespace as2::tp {

using compile::Group;
using compile::SetLiteral;

namespace {

constexpr std::size_t kMostValues = 4'000'000;  // of the circuit: about 1 GB while it is built

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

CollectedTerms::CollectedTerms(const compile::ConstraintProgram& given)
    : program(given),
      symbols(given.max_symbols()),
      cells(static_cast<std::int64_t>(given.positions.size()) * symbols),
      zero{cells},
      one{cells + 1},
      circuit(given, zero, one, [this](const SetLiteral& literal) { return reference(literal); }),
      roots_at_(given.positions.size()) {
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const Group& group = program.groups[g];
    const auto index = static_cast<std::int64_t>(g);
    std::visit(Overloaded{[&](const compile::Slots& parts) {
                            for (const compile::Slot& slot : parts)
                              slots.push_back(product_of(slot.members, group.family, index));
                          },
                          [&](const compile::Linears& parts) {
                            for (const compile::Linear& linear : parts)
                              collect_linear(linear, group.family, index);
                          },
                          [&](const compile::Nogoods& parts) {
                            for (const compile::Nogood& nogood : parts) {
                              if (nogood.literals.empty()) {
                                add_always_violated(group.family, index);
                              } else {
                                nogoods.push_back(product_of(nogood.literals, group.family, index));
                              }
                            }
                          },
                          [&](const compile::DerivedNogoods& parts) {
                            for (const compile::DerivedNogood& nogood : parts)
                              collect_root(nogood, group.family, index);
                          }},
               group.content);
  }
  collect_derived();
  collect_costs();
}

Reference CollectedTerms::reference(const SetLiteral& literal) {
  if (literal.symbols.size() == 1) return {cell(literal.position, literal.symbols.front())};
  const std::vector<std::int64_t> at = cells_of(literal);
  const auto [known, fresh] = sum_index_.emplace(at, one.index + 1 + static_cast<std::int64_t>(sums.size()));
  if (fresh) {
    sums.emplace_back();
    for (const std::int64_t one_cell : at) sums.back().push_back({one_cell});
  }
  return {known->second};
}

std::vector<std::int64_t> CollectedTerms::cells_of(const SetLiteral& literal) const {
  std::vector<std::int64_t> at;
  for (const int symbol : literal.symbols) at.push_back(cell(literal.position, symbol));
  return at;
}

std::vector<std::int64_t> CollectedTerms::cells_of(int position) const {
  std::vector<std::int64_t> at;
  for (int symbol = 0; symbol < domain(position); ++symbol) at.push_back(cell(position, symbol));
  return at;
}

CollectedTerms::Product CollectedTerms::product_of(const std::vector<SetLiteral>& literals, int family,
                                                   std::int64_t group) {
  Product product{family, group, {}, {}};
  for (const SetLiteral& literal : literals) {
    product.members.push_back(reference(literal));
    product.cells.push_back(cells_of(literal));
  }
  return product;
}

void CollectedTerms::add_always_violated(int family, std::int64_t group) {
  for (int position = 0; position < static_cast<int>(program.positions.size()); ++position) {
    for (const std::int64_t at : cells_of(position)) always_violated.push_back({family, group, at});
  }
}

void CollectedTerms::collect_linear(const compile::Linear& linear, int family, std::int64_t group) {
  linears.push_back({family, group, static_cast<std::int64_t>(linears.size()), &linear});
  const compile::Aggregate& aggregate = program.aggregates[linear.aggregate];
  if (aggregate.positions.empty() && linear.guard < 0 && !linear.allowed[0].contains(aggregate.constant)) {
    add_always_violated(family, group);
  }
}

void CollectedTerms::collect_root(const compile::DerivedNogood& nogood, int family, std::int64_t group) {
  const std::vector<int> support = circuit.support(nogood.body);
  for (const int position : support) roots_at_[position].push_back({family, group, &nogood.body});
  // It depends on no position, so it is violated either never or always.
  if (support.empty() && circuit.conjunction(nogood.body, {}) == one) add_always_violated(family, group);
}

// A definition is copied for every symbol of every position it depends on; a recursive one whole, so that its
// copies grow with the square of its size.
void CollectedTerms::refuse_size(int family) const {
  const compile::Family& source = program.families[static_cast<std::size_t>(family)];
  throw InputError(source.location,
                   "soft T_P of this program needs more than " + std::to_string(kMostValues) +
                       " values: what `" + source.name +
                       "` depends on is copied for every symbol of every position in it",
                   {"ground a smaller instance (-c NAME=VALUE); as2 decode and as2 prob need no copies"});
}

void CollectedTerms::collect_derived() {
  for (int position = 0; position < static_cast<int>(program.positions.size()); ++position) {
    if (roots_at_[position].empty()) continue;
    for (int symbol = 0; symbol < domain(position); ++symbol) {
      for (const Root& root : roots_at_[position]) {
        deriveds.push_back({root.family, root.group, cell(position, symbol),
                            circuit.conjunction(*root.body, {position, symbol})});
        if (circuit.entries().size() > kMostValues) refuse_size(root.family);
      }
    }
  }
}

void CollectedTerms::collect_costs() {
  for (std::size_t level = 0; level < program.objectives.size(); ++level) {
    for (const compile::Cost& cost : program.objectives[level].costs) {
      costs.push_back({cost.condition.node < 0 ? one : circuit.conjunction({cost.condition}, {}),
                       static_cast<double>(cost.weight), static_cast<std::int64_t>(level)});
    }
  }
}

TermCounts CollectedTerms::counts() const {
  TermCounts counts(static_cast<std::int64_t>(program.positions.size()), symbols);
  for (const auto* products : {&slots, &nogoods}) {
    for (const Product& product : *products) {
      for (const auto& own : product.cells) {
        for (const std::int64_t at : own) counts.add(product.family, product.group, at);
      }
    }
  }
  for (const Linear& linear : linears) {
    std::vector<int> positions = program.aggregates[linear.linear->aggregate].positions;
    if (linear.linear->guard >= 0) positions.push_back(linear.linear->guard);
    for (const int position : positions) {
      for (const std::int64_t at : cells_of(position)) counts.add(linear.family, linear.group, at);
    }
  }
  for (const Derived& derived : deriveds) counts.add(derived.family, derived.group, derived.cell);
  for (const AlwaysViolated& term : always_violated) counts.add(term.family, term.group, term.cell);
  return counts;
}

std::vector<double> CollectedTerms::family_base(const TermCounts& counts) const {
  std::vector<double> base(program.families.size() * static_cast<std::size_t>(cells));
  for (std::size_t family = 0; family < program.families.size(); ++family) {
    for (int position = 0; position < static_cast<int>(program.positions.size()); ++position) {
      for (const std::int64_t at : cells_of(position)) {
        if (!counts.has_term(static_cast<std::int64_t>(family), at))
          base[family * static_cast<std::size_t>(cells) + static_cast<std::size_t>(at)] = 1;
      }
    }
  }
  return base;
}

}  // namespace as2::tp
