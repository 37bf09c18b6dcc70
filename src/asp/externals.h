// Which atoms of `#external` statements are external.
#pragma once

#include "as2/ground_program.h"

namespace as2::asp {

// Leaves of the externals those that no rule defines, each once, with the value of its last statement: that
// is what clingo means. Before clasp asks whether an atom has rules,
//   gringo has dropped rules whose body cannot hold, whatever is chosen and whatever the externals are;
//   clasp has dropped rules whose body contradicts itself or is that of a constraint, rules other than
//     choices that have one of their heads in the body, heads of choices that stand in the body, and heads
//     whose negation does.
void keep_undefined_externals(GroundProgram& program);

}  // namespace as2::asp
