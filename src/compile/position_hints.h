// What to tell a user who names a position that the program does not have.
#pragma once

#include <string>

#include "as2/constraint_program.h"

namespace as2::compile {

// What the program's positions are named like, one of each kind.
std::string position_names(const ConstraintProgram& program);

// "its symbols are 1, 2, 3", or the first of them.
std::string symbol_names(const Position& position);

// What the name is instead, an atom that rules derive or one of a position's; else the position that was
// probably meant, or what positions are named like.
std::string position_hint(const ConstraintProgram& program, const std::string& name);

}  // namespace as2::compile
