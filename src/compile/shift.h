// Pass `shift`: rules with several heads become rules with one.
#pragma once

#include "as2/ground_program.h"
#include "compile/normalise.h"

namespace as2::compile {

// Refuses heads two atoms of which depend on each other positively.
void shift_disjunctions(const asp::GroundProgram& ground, NormalProgram& program);

}  // namespace as2::compile
