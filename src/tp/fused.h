// The tuned kernels as differentiable tensor functions: exclusive groups and linear constraints on the CPU.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/kernels/kernels.h"
#include "tp/tables.h"

namespace as2::tp {

// What one call of the kernels works on.
struct Layouts {
  kernels::ExclusiveLayout exclusive;
  kernels::LinearLayout linear;
};

// Owns the kernels' index arrays. Held by the autograd graph too, which may outlive the SoftTp.
class FusedTables : public torch::CustomClassHolder {
 public:
  FusedTables(const compile::ConstraintProgram& program, const Tables& tables);

  Layouts by_family;  // leave_one_out's mean over a family's terms
  Layouts by_group;   // refinement's mean over groups: one "family"

 private:
  // A slot or a linear constraint, and the family and group it belongs to.
  template <class Part>
  struct Use {
    const Part* part;
    int family;
    std::int64_t group;
  };
  void add_exclusive(const std::vector<Use<compile::Slot>>& uses);
  void add_linear(const compile::ConstraintProgram& program,
                  const std::vector<Use<compile::Linear>>& uses_in_order);

  const std::int64_t symbols_, cells_;
  std::shared_ptr<const TermCounts> counts_;
  struct TermArrays {
    std::vector<std::int32_t> cell, family_cell;
    std::vector<double> family_weight, group_weight;
  };
  void add_term(TermArrays& terms, std::int64_t family, std::int64_t group, std::int64_t cell) const;

  TermArrays exclusive_terms_, linear_terms_;
  std::vector<std::int32_t> slot_members_{0}, member_terms_{0};
  std::vector<std::int32_t> chain_members_{0}, chain_linears_{0}, chain_final_states_, member_classes_{0},
      member_states_, next_, class_cells_{0}, cell_, linear_guards_{0}, guard_cell_, guard_states_{0},
      allowed_state_, linear_term_ends_{0};
  std::vector<std::int64_t> member_next_;
};

using FusedTablesPtr = c10::intrusive_ptr<FusedTables>;

// Σ over batch and terms of (p − p·factor)². `beliefs` [batch, positions, symbols]. Scalar.
torch::Tensor fused_squared_residual(const FusedTablesPtr& tables, const torch::Tensor& beliefs);
// [batch]: the largest |p − p·factor|; no gradient.
torch::Tensor fused_largest_residual(const FusedTablesPtr& tables, const torch::Tensor& beliefs);
// `base` [n] for every batch element plus weight · factor of the terms, [batch, n].
torch::Tensor fused_factors_by_family(const FusedTablesPtr& tables, const torch::Tensor& beliefs,
                                      const torch::Tensor& base);
torch::Tensor fused_factors_by_group(const FusedTablesPtr& tables, const torch::Tensor& beliefs,
                                     const torch::Tensor& base);

}  // namespace as2::tp
