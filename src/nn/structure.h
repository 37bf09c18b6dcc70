// A compiled program as the reasoners read it.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "as2/constraint_program.h"

namespace as2::nn {

// The shape of a program as tensors, all on one device. Built once per program; knows no symbol's meaning.
// Groups are sorted by family; those without a position are left out, families without a group are kept.
struct Structure {
  torch::Tensor mask;      // [positions, symbols] bool: inside a domain
  torch::Tensor relation;  // [families, positions, positions] bool: share a group of the family (i ≠ j)
  torch::Tensor group_members;              // [groups, width] int64 positions, padded with 0
  torch::Tensor group_mask;                 // [groups, width] bool
  torch::Tensor group_family;               // [groups] int64
  std::vector<std::int64_t> family_groups;  // [families] groups of each family
  std::int64_t positions = 0, symbols = 0, families = 0, groups = 0;
  bool full = false;  // every domain has all the symbols

  static Structure of(const compile::ConstraintProgram& program);
  Structure to(torch::Device device) const;

  // [groups, positions] float32: 1 where the group holds the position.
  torch::Tensor incidence() const;
};

}  // namespace as2::nn
