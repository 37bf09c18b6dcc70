// The tuned kernels as differentiable tensor functions: exclusive groups and linear constraints on the CPU.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/kernel_tables.h"

namespace as2::tp {

// Shared with the autograd graph, which may outlive the SoftTp.
struct FusedTables : torch::CustomClassHolder {
  FusedTables(const compile::ConstraintProgram& program, const TermCounts& counts)
      : kernel(program, counts) {}
  const KernelTables kernel;
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
