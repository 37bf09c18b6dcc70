// Passes `objectives` and `shown`: what is paid and what is printed, and the formulas that decide it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"
#include "compile/definitions.h"

namespace as2::compile {

struct FormulaCost {
  std::int64_t weight = 0;
  Formula condition;
  int statement = 0;
};

struct Objectives {
  std::vector<Family> statements;
  std::vector<std::pair<std::int32_t, std::vector<FormulaCost>>> levels;  // highest priority first
};
Objectives collect_objectives(const asp::GroundProgram& ground, Definitions& definitions);

// Atoms and the formulas that say whether they are shown, in clingo's term order. `hidden` receives those
// that
// `#show` leaves out, sorted.
std::vector<std::pair<std::string, Formula>> collect_shown(const asp::GroundProgram& ground,
                                                           Definitions& definitions,
                                                           std::vector<std::string>& hidden);

}  // namespace as2::compile
