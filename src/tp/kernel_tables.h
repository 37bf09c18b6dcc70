// A program as the flat arrays that the tuned kernels read.
#pragma once

#include <cstdint>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/collected_terms.h"
#include "tp/kernels/kernels.h"

namespace as2::tp {

// What one call of the kernels works on.
struct Layouts {
  kernels::ExclusiveLayout exclusive;
  kernels::LinearLayout linear;
};

// Owns the kernels' index arrays.
class KernelTables {
 public:
  // `counts` are those of the program's terms, of all kinds.
  KernelTables(const compile::ConstraintProgram& program, const TermCounts& counts);
  KernelTables(const KernelTables&) = delete;  // the layouts point into it

  Layouts by_family;  // leave_one_out's mean over a family's terms
  Layouts by_group;   // refinement's mean over groups, all as one "family"

 private:
  // A slot or a linear constraint, and the family and group it belongs to.
  template <class Part>
  struct Use {
    const Part* part;
    int family;
    std::int64_t group;
  };
  struct TermArrays {
    std::vector<std::int32_t> cell, family_cell;
    std::vector<double> family_weight, group_weight;
  };
  void add_exclusive(const std::vector<Use<compile::Slot>>& uses, const TermCounts& counts);
  void add_linear(const compile::ConstraintProgram& program,
                  const std::vector<Use<compile::Linear>>& uses_in_order, const TermCounts& counts);
  void add_term(TermArrays& terms, const TermCounts& counts, std::int64_t family, std::int64_t group,
                std::int64_t cell) const;

  const std::int64_t symbols_, cells_;

  TermArrays exclusive_terms_, linear_terms_;
  std::vector<std::int32_t> slot_members_{0}, member_terms_{0};
  std::vector<std::int32_t> chain_members_{0}, chain_linears_{0}, chain_final_states_, member_classes_{0},
      member_states_, next_, class_cells_{0}, cell_, linear_guards_{0}, guard_cell_, guard_states_{0},
      allowed_state_, linear_term_ends_{0};
  std::vector<std::int64_t> member_next_;
};

}  // namespace as2::tp
