// What an atom says about the positions, as a formula in a normal form that makes equal things identical.
//
// Bottom up, by three rules, everything about one position becomes a set of its symbols, and everything
// about one sum becomes a set of its values:
//   literals on one position   intersect (in a conjunction) or unite (in a disjunction)
//   tests of one sum           likewise, on sets of integers; so gringo's auxiliary atoms for `=`, `!=` and
//                              intervals turn back into one test of one aggregate
//   a sum over one position    is a set of its symbols
// Sums are stored once, whatever their sign and offset (gringo writes negative weights as negated literals
// with a shifted bound). Formulas are shared; a formula's inputs have smaller ids than it has.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compile/value_set.h"

namespace as2::compile {

// A formula or its negation. Sets and tests are never negated: their complement is a formula too.
struct Formula {
  int id = 0;
  bool negated = false;
};
inline bool operator==(Formula a, Formula b) {
  return a.id == b.id && a.negated == b.negated;
}
inline bool operator!=(Formula a, Formula b) {
  return !(a == b);
}
inline bool operator<(Formula a, Formula b) {
  return a.id != b.id ? a.id < b.id : a.negated < b.negated;
}

constexpr Formula kTrue{0, false};
constexpr Formula kFalse{0, true};

enum class FormulaKind { kConstant, kSet, kTest, kConjunction, kDisjunction, kRecursive };

struct FormulaBody {
  FormulaKind kind = FormulaKind::kConstant;
  SetLiteral set;  // kSet
  int sum = -1;    // kTest: this sum lies in `values`
  ValueSet values;
  std::vector<Formula> inputs;  // kConjunction, kDisjunction
  int component = -1;           // kRecursive: this member of this recursive component
  int member = -1;
};

struct WeightedFormula {
  Formula formula;
  std::int64_t weight = 0;
};

// constant + Σ values[k][symbol of positions[k]] + Σ weight·[formula holds]
struct Sum {
  std::vector<int> positions;
  std::vector<std::vector<std::int64_t>> values;
  std::vector<WeightedFormula> others;  // inputs that are not about a single position
  std::int64_t constant = 0;
  ValueSet reachable;                   // values it can take (an interval around them if it is long)
  std::vector<WeightedFormula> inputs;  // the same sum as weighted formulas, without the constant
  int sign = 1;                         // this sum = sign · its canonical form + offset
  std::int64_t offset = 0;
};

// One rule of a member of a recursive component: conditions from outside, and members it needs.
struct RecursiveRule {
  std::vector<Formula> outside;
  std::vector<int> inside;
};
// Per member its rules.
using RecursiveComponent = std::vector<std::vector<RecursiveRule>>;

class Formulas {
 public:
  Formulas() = default;
  explicit Formulas(std::vector<int> domain_sizes);

  Formula set(int position, std::vector<int> symbols);
  Formula negation(Formula formula);
  Formula conjunction(const std::vector<Formula>& inputs) { return combine(true, inputs); }
  Formula disjunction(const std::vector<Formula>& inputs) { return combine(false, inputs); }
  // Σ weight·[formula holds] ∈ values
  Formula test(const std::vector<WeightedFormula>& inputs, const ValueSet& values);
  // The members' formulas: the least solution of the rules.
  std::vector<Formula> recursive(const RecursiveComponent& members);

  // The inputs of a conjunction (or disjunction) brought into normal form: one set per position, one test per
  // sum, no constants. No value if the whole is constantly false (true).
  std::optional<std::vector<Formula>> merged(bool conjunctive, const std::vector<Formula>& inputs);

  const FormulaBody& operator[](int id) const { return bodies_[static_cast<std::size_t>(id)]; }
  int size() const { return static_cast<int>(bodies_.size()); }
  int domain_size(int position) const { return domain_sizes_[static_cast<std::size_t>(position)]; }
  const Sum& sum(int index) const { return sums_[static_cast<std::size_t>(index)]; }
  int sums() const { return static_cast<int>(sums_.size()); }
  const RecursiveComponent& component(int index) const {
    return components_[static_cast<std::size_t>(index)];
  }
  int components() const { return static_cast<int>(components_.size()); }

 private:
  Formula combine(bool conjunctive, const std::vector<Formula>& inputs);
  Formula intern(FormulaBody body, std::string key);
  Formula test_of_sum(int sum, const ValueSet& values);
  int intern_sum(Sum sum);

  std::vector<int> domain_sizes_;
  std::vector<std::size_t> first_symbol_;  // per position: where its symbols begin in singles_
  std::vector<int> singles_;               // per symbol: the formula that says it, or 0
  std::vector<FormulaBody> bodies_{1};
  std::unordered_map<std::string, int> ids_;
  std::vector<Sum> sums_;
  std::unordered_map<std::string, int> sum_ids_;
  std::vector<RecursiveComponent> components_;
};

}  // namespace as2::compile
