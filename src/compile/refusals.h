// Refusals: what the compiler cannot compile, where in the source it stands, and how to write it instead.
#pragma once

#include <string>
#include <vector>

#include "as2/ground_program.h"

namespace as2::compile {

// The rule that defines (or chooses) one of these atoms, found by the predicate in its head.
SourceLocation rule_of(const asp::GroundProgram& ground, const std::vector<asp::Atom>& atoms);

[[noreturn]] void refuse_disjunction(const asp::GroundProgram& ground, const asp::Rule& rule);
[[noreturn]] void refuse_chosen_and_derived(const asp::GroundProgram& ground, asp::Atom atom);
[[noreturn]] void refuse_no_positions(const asp::GroundProgram& ground);
// Atoms that depend on each other through a choice, a negation or an aggregate.
[[noreturn]] void refuse_choice_cycle(const asp::GroundProgram& ground, const std::vector<asp::Atom>& cycle);
[[noreturn]] void refuse_negation_cycle(const asp::GroundProgram& ground,
                                        const std::vector<asp::Atom>& cycle);
[[noreturn]] void refuse_aggregate_cycle(const asp::GroundProgram& ground,
                                         const std::vector<asp::Atom>& cycle);

}  // namespace as2::compile
