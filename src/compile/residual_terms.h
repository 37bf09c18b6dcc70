// How many residual terms (the paper's Eq. 3) each group contributes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::compile {

// Per group: one term per (slot, position, symbol of its member); per (linear, position, symbol), the guard's
// included; per (nogood, position, symbol of its literal); per (derived nogood, position it depends on,
// symbol). An instance that is always violated has one per (position, symbol) of the whole program.
std::vector<std::int64_t> residual_terms(const ConstraintProgram& program);

// What became of one family.
struct FamilySummary {
  std::string kind = "none";  // no group at all; `mixed` where its groups differ
  std::int64_t groups = 0;
  std::int64_t terms = 0;
};
std::vector<FamilySummary> summarise_families(const ConstraintProgram& program);

}  // namespace as2::compile
