// Which position a pooled head answers, for every engine that has one.
#pragma once

#include "as2/constraint_program.h"

namespace as2::infer {

// The one position that all sums of the program guard, as addition's total; InputError if there is none.
int pooled_position(const compile::ConstraintProgram& program);

}  // namespace as2::infer
