// Pass `constraints`: ground constraints as conjunctions of formulas.
#pragma once

#include <vector>

#include "as2/ground_program.h"
#include "compile/definitions.h"
#include "compile/positions.h"

namespace as2::compile {

// Not all formulas of `body` hold. In normal form no two of them are about the same position or the same sum.
// An empty body is always violated.
struct Instance {
  int family = 0;
  std::vector<Formula> body;
};

struct Constraints {
  std::vector<Family> families;       // in source order
  std::vector<char> may_be_empty;     // per family: the user's constraint, listed even without groups
  std::vector<int> ground_instances;  // per family, before anything was dropped
  std::vector<Instance> instances;
};

// Constraints of the program, bounds of choices that are no positions, support of conditional choices, clues,
// and family `founded`: what was guessed is what the rules derive.
Constraints collect_constraints(const asp::GroundProgram& ground, const NormalProgram& program,
                                const Guesses& guesses, const Choices& choices, const Positions& positions,
                                Definitions& definitions);

}  // namespace as2::compile
