// Refusals: what the compiler cannot compile, where in the source it stands, and how to write it instead.
#pragma once

#include <string>
#include <vector>

#include "as2/ground_program.h"

namespace as2::compile {

// The rule that defines (or chooses) one of these atoms, found by the predicate in its head.
SourceLocation rule_of(const asp::GroundProgram& ground, const std::vector<asp::Atom>& atoms);

// A disjunctive head two atoms of which support each other, in this cycle.
[[noreturn]] void refuse_head_cycle(const asp::GroundProgram& ground, const std::vector<asp::Atom>& heads,
                                    const std::vector<asp::Atom>& cycle);
// Atoms that depend on each other through an aggregate that is not monotone.
[[noreturn]] void refuse_aggregate_cycle(const asp::GroundProgram& ground,
                                         const std::vector<asp::Atom>& cycle);

}  // namespace as2::compile
