// Definitions as a plain circuit: which values are needed, with clamps worked in.
//
// A derived constraint's factor at (i, s) is 1 − P(violated | y_i = s): its circuit evaluated with position i
// clamped to s. Clamping is done when the tables are built, not on tensors: a node is expanded once per clamp
// it depends on, set literals of the clamped position become constants, constants fold, and equal nodes are
// shared. What is left is a plain circuit whose size is the number of (node, clamp) pairs that differ.
// Running the whole circuit once per clamp was rejected: it costs clamps × nodes however local the
// constraints are.
//
// Everything is a product of references: a disjunction is the complement of a product of complements
// (noisy-or). A recursive component takes the maximum over alternatives instead, iterated from 0: cycles
// never gain by a detour, so |component| rounds reach the least fixpoint exactly. Its gradient is that of the
// winning proofs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/value_reference.h"

namespace as2::tp {

// Collects the nodes that are asked for.
class CircuitBuilder {
 public:
  struct Clamp {
    int position = -1;  // −1: none
    int symbol = -1;
  };

  // `set_reference` tells where a set literal's probability stands.
  CircuitBuilder(const compile::ConstraintProgram& program, Reference zero, Reference one,
                 std::function<Reference(const compile::SetLiteral&)> set_reference);

  // Positions the nodes depend on, sorted.
  std::vector<int> support(const std::vector<compile::NodeRef>& nodes) const;
  // The product of the nodes under a clamp. Ask for one clamp after another: what was cached for one is
  // dropped when the next begins. A negative index in the result means entry number −1 − index.
  Reference conjunction(const std::vector<compile::NodeRef>& nodes, Clamp clamp);

  enum class Form { kProduct, kBound, kConjunctionMember, kDisjunctionMember };
  struct Entry {
    Form form = Form::kProduct;
    int level = 0;
    std::vector<Reference> inputs;
    std::vector<std::int64_t> weights;
    std::int64_t constant = 0;
    const compile::ValueSet* allowed = nullptr;
    int component_size = 0;
  };
  // Inputs stand before what reads them, except inside a recursive component, whose members are contiguous.
  const std::vector<Entry>& entries() const { return entries_; }
  Reference zero() const { return zero_; }
  Reference one() const { return one_; }

 private:
  int level_of(const std::vector<Reference>& inputs) const;
  Reference negated(Reference reference) const;
  Reference product_of(std::vector<Reference> inputs);
  Reference bound_of(const compile::Bound& node, const std::vector<Reference>& inputs);
  Reference shared(std::vector<std::int64_t> key, Entry entry);
  bool depends(int node, int position) const;
  std::unordered_map<int, Reference>& cache(int node, Clamp clamp);
  // The node's value under the clamp, computing what it needs first.
  Reference value(int node, Clamp clamp);
  Reference value(compile::NodeRef node, Clamp clamp);
  void expand(int node, Clamp clamp);
  void expand_recursive(const compile::Component& component, Clamp clamp);
  const compile::Component* recursive_component(int node) const;

  const compile::ConstraintProgram& program_;
  Reference zero_, one_;
  std::function<Reference(const compile::SetLiteral&)> set_reference_;
  std::vector<std::vector<std::uint64_t>> support_;  // per node: one bit per position
  std::vector<int> component_of_;
  std::vector<Entry> entries_;
  std::map<std::vector<std::int64_t>, Reference> known_;
  Clamp current_;
  std::unordered_map<int, Reference> base_, clamped_;
};

}  // namespace as2::tp
