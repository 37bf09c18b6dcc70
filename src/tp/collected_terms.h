// A program's residual terms as plain lists: what every form of soft T_P is built from, with LibTorch or
// without.
//
// A *unit* is one leave-one-out factor: of one member of a slot, one value of one member of a linear
// constraint, one literal of a nogood, one clamp of a derived constraint. A *term* (the paper's residual
// term) says that a unit applies at one (position, symbol); symbols of one set literal share their unit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/circuit_builder.h"
#include "tp/value_reference.h"

namespace as2::tp {

// How many terms share a cell, and from that each term's weight in a mean.
class TermCounts {
 public:
  TermCounts(std::int64_t positions, std::int64_t symbols) : symbols_(symbols), groups_at_(positions) {}
  void add(std::int64_t family, std::int64_t group, std::int64_t cell);
  // 1 / terms of the family at the cell.
  double family_weight(std::int64_t family, std::int64_t cell) const;
  // 1 / (terms of the group at the cell · groups at its position).
  double group_weight(std::int64_t group, std::int64_t cell) const;
  bool has_term(std::int64_t family, std::int64_t cell) const {
    return family_terms_.count({family, cell}) > 0;
  }
  // Share of the position's groups that have no term at the cell; 1 where there is no group.
  std::vector<double> shares_without_term(std::int64_t cells) const;

 private:
  std::int64_t symbols_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> family_terms_,
      group_terms_;  // by (f or g, cell)
  std::vector<std::set<std::int64_t>> groups_at_;
};

class CollectedTerms {
 public:
  // Refers to the program, which has to outlive this. InputError where its circuit would be too large.
  explicit CollectedTerms(const compile::ConstraintProgram& program);
  CollectedTerms(const CollectedTerms&) = delete;  // the circuit refers back to it

  // A slot or nogood: a product over the references of its literals. Each literal has a factor, that of the
  // others, which applies at the cells of its symbols.
  struct Product {
    int family = 0;
    std::int64_t group = 0;
    std::vector<Reference> members;
    std::vector<std::vector<std::int64_t>> cells;  // [members]
  };
  struct Linear {
    int family = 0;
    std::int64_t group = 0;
    std::int64_t order = 0;  // among the program's linear constraints
    const compile::Linear* linear = nullptr;
  };
  // P(violated | clamp), from the circuit; the factor is 1 − it.
  struct Derived {
    int family = 0;
    std::int64_t group = 0, cell = 0;
    Reference violated;
  };
  struct AlwaysViolated {
    int family = 0;
    std::int64_t group = 0, cell = 0;
  };
  struct Cost {
    Reference paid;
    double weight = 0;
    std::int64_t level = 0;
  };

  const compile::ConstraintProgram& program;
  const std::int64_t symbols, cells;  // cell = position · symbols + symbol
  const Reference zero, one;
  CircuitBuilder circuit;
  std::vector<std::vector<Reference>> sums;  // set literals of several symbols: values after `one`
  std::vector<Product> slots, nogoods;
  std::vector<Linear> linears;
  std::vector<Derived> deriveds;
  std::vector<AlwaysViolated> always_violated;
  std::vector<Cost> costs;

  std::int64_t cell(int position, int symbol) const { return std::int64_t{position} * symbols + symbol; }
  int domain(int position) const { return static_cast<int>(program.positions[position].symbols.size()); }
  std::vector<std::int64_t> cells_of(const compile::SetLiteral& literal) const;
  std::vector<std::int64_t> cells_of(int position) const;
  // Where the literal's probability stands; one of several symbols is added to the sums.
  Reference reference(const compile::SetLiteral& literal);
  // Counts over the terms of all kinds.
  TermCounts counts() const;
  // [families · cells]: 1 inside a domain where the family has no term.
  std::vector<double> family_base(const TermCounts& counts) const;

 private:
  Product product_of(const std::vector<compile::SetLiteral>& literals, int family, std::int64_t group);
  void add_always_violated(int family, std::int64_t group);
  void collect_linear(const compile::Linear& linear, int family, std::int64_t group);
  void collect_root(const compile::DerivedNogood& nogood, int family, std::int64_t group);
  void collect_derived();
  [[noreturn]] void refuse_size(int family) const;
  void collect_costs();

  struct Root {
    int family;
    std::int64_t group;
    const std::vector<compile::NodeRef>* body;
  };
  std::vector<std::vector<Root>> roots_at_;  // per position: the derived nogoods that depend on it
  std::map<std::vector<std::int64_t>, std::int64_t> sum_index_;
};

}  // namespace as2::tp
