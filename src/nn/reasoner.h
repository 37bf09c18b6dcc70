// What every reasoner is: evidence in, beliefs out, one set of logits a pass.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "as2/constraint_program.h"

namespace as2::nn {

// The shape of a program as tensors, all on one device. Built once per program; knows no symbol's meaning.
struct Structure {
  torch::Tensor mask;      // [positions, symbols] bool: inside a domain
  torch::Tensor relation;  // [families, positions, positions] bool: share a group of the family (i ≠ j)
  torch::Tensor group_members;    // [groups, width] int64 positions, padded with 0
  torch::Tensor group_mask;       // [groups, width] bool
  torch::Tensor group_family;     // [groups] int64
  torch::Tensor position_groups;  // [positions, degree] int64 groups that hold the position, padded with 0
  torch::Tensor position_groups_mask;  // [positions, degree] bool
  std::int64_t positions = 0, symbols = 0, families = 0, groups = 0;

  static Structure of(const compile::ConstraintProgram& program);
  Structure to(torch::Device device) const;
};

struct ReasonerOutput {
  std::vector<torch::Tensor>
      logits;            // per pass [batch, positions, symbols], −inf outside the domain; last = answer
  torch::Tensor passes;  // [batch] int64 passes used before halting (evaluation only)
};

// A reasoner's input. `beliefs` [batch, positions, symbols] is the evidence: perception's distribution (or a
// one-hot label) where `evidence` [batch, positions] (bool) is true, uniform over the domain elsewhere.
struct ReasonerInput {
  torch::Tensor beliefs;
  torch::Tensor evidence;
};

class Reasoner : public torch::nn::Module {
 public:
  // `passes` ≤ 0: the reasoner's own number. Training returns every pass's logits (deep supervision).
  virtual ReasonerOutput forward(const ReasonerInput& input, int passes = 0) = 0;
};

}  // namespace as2::nn
