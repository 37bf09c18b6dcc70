// Soft T_P by enumeration of all assignments: P(instance holds | y_i = s) for every residual term.
#pragma once

#include <functional>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::test {

struct BruteTerm {
  int family = 0;
  int group = 0;
  int position = 0;
  int symbol = 0;
  double factor = 0;
};

// `beliefs` is flattened with stride max_symbols(); every position's row must sum to 1.
std::vector<BruteTerm> brute_force_terms(const compile::ConstraintProgram& program,
                                         const std::vector<double>& beliefs);
// P(instance holds), for the program's linear constraints in order.
std::vector<double> brute_force_linear(const compile::ConstraintProgram& program,
                                       const std::vector<double>& beliefs);
void for_each_assignment(const compile::ConstraintProgram& program,
                         const std::function<void(const compile::Assignment&)>& visit);

}  // namespace as2::test
