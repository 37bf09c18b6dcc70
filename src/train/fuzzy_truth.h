// The loss `ltn`: how far the constraints are from true in a fuzzy logic, as Logic Tensor Networks have it.
//
// An atom of a position is as true as it is believed, and a set of a position's symbols as true as its mass.
// Everything else follows from the connectives of the logic:
//
//   product      a ∧ b = ab               a ∨ b = a + b − ab
//   goedel       a ∧ b = min(a, b)        a ∨ b = max(a, b)
//   lukasiewicz  a ∧ b = max(0, a + b − 1)    a ∨ b = min(1, a + b)
//   ¬a = 1 − a in all three.
//
// A nogood is ¬(∧ of its literals), an exclusive slot one nogood for every pair of its members, and a sum
// says that there are values which add up to what is allowed: ∃ is the supremum, in the product logic the
// p-mean (1/n Σ aᵖ)^(1/p) that Badreddine et al. (Artificial Intelligence 303, 2022) train with. Inside a
// recursive definition alternatives combine by max, so that the least fixpoint exists. For all formulas and
// examples together, ∀ is their p-mean error with p = 2:
//
//   L = √(mean (1 − truth)²)
//
// With several workers each takes that mean over its own examples.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "infer/tensor/batch.h"
#include "task/supervision.h"

namespace as2::train {

struct FuzzyConfig {
  std::string logic = "product";  // or goedel, lukasiewicz
  double p = 2;                   // product: of the p-mean that stands for ∃
};

class FuzzyTruth {
 public:
  // Keeps a reference to `program`. InputError where a definition counts or adds up: `ltn` has no such
  // connective.
  FuzzyTruth(const compile::ConstraintProgram& program, std::vector<task::ObservedAtom> atoms,
             FuzzyConfig config);

  // [batch, formulas] in 0 … 1: every constraint, then every observed atom (1 where it is not observed).
  // `beliefs` [batch, positions, symbols]; `observed` [batch, atoms] int8 as in a batch, or undefined.
  torch::Tensor truths(const torch::Tensor& beliefs, const torch::Tensor& observed) const;
  // Scalar.
  torch::Tensor loss(const torch::Tensor& beliefs, const torch::Tensor& observed) const;

 private:
  enum class Logic { kProduct, kGoedel, kLukasiewicz };
  using Values = std::vector<torch::Tensor>;  // [batch] each

  torch::Tensor all(const Values& values) const;
  torch::Tensor any(const Values& values) const;
  Values nodes(const torch::Tensor& beliefs) const;
  torch::Tensor conjunction(const Values& nodes, const std::vector<compile::NodeRef>& inputs) const;
  torch::Tensor disjunction(const Values& nodes, const std::vector<compile::NodeRef>& inputs,
                            bool recursive) const;
  torch::Tensor sums(const torch::Tensor& beliefs, const compile::Aggregate& aggregate) const;
  torch::Tensor linear(const torch::Tensor& beliefs, const compile::Linear& linear) const;

  const compile::ConstraintProgram& program_;
  std::vector<task::ObservedAtom> atoms_;
  FuzzyConfig config_;
  Logic logic_;
};

}  // namespace as2::train
