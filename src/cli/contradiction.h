// What the verbs say that give probabilities, where there is none to give.
#pragma once

#include <string>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::cli {

// P(program) = 0. `positions` are a smallest set whose zeros are at fault, empty where the program has no
// answer set at all; `remedy` is what the verb advises in the first case.
[[noreturn]] void refuse_contradiction(const compile::ConstraintProgram& program,
                                       const std::vector<int>& positions, const std::string& remedy);

}  // namespace as2::cli
