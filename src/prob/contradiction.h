// What those say who give probabilities when P(program) = 0.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::prob {

// P(program) = 0. `positions` are a smallest set whose zeros are at fault, empty where the program has no
// answer set at all. `remedy` is what to do about the zeros, `where` which of several beliefs have them: " in
// row 3". Naming the constraints that conflict takes ten seconds at most; once `stop` is true,
// EnvironmentError.
[[noreturn]] void refuse_contradiction(const compile::ConstraintProgram& program,
                                       const std::vector<int>& positions, const std::string& remedy,
                                       const std::string& where = "",
                                       const std::atomic<bool>* stop = nullptr);

}  // namespace as2::prob
