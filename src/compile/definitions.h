// Passes `strata` and `definitions`: rules in the order they must be evaluated, then a formula for every
// atom.
#pragma once

#include <vector>

#include "as2/ground_program.h"
#include "compile/formula.h"
#include "compile/guesses.h"
#include "compile/normalise.h"
#include "compile/positions.h"

namespace as2::compile {

struct Stratum {
  std::vector<asp::Atom> atoms;
  bool recursive = false;
};

// Atoms that must be derived, loop by loop, dependencies first: those without a position, and those of loops.
std::vector<Stratum> find_strata(const NormalProgram& program, const Guesses& guesses);

struct Definitions {
  Formulas formulas;
  std::vector<Formula> of_atom;  // per atom: its truth; of an atom with a position, what that says
  std::vector<Formula> derived;  // per atom of a loop: what the rules derive
  std::vector<char> has_name;    // per formula: a named atom says it
  std::int64_t count = 0;        // named atoms that rules define and that depend on a position

  Formula of(asp::Lit lit);
  // The body of a rule.
  Formula body(const NormalRule& rule);
};

Definitions build_definitions(const asp::GroundProgram& ground, const NormalProgram& program,
                              const Guesses& guesses, const Positions& positions,
                              const std::vector<Stratum>& strata);

}  // namespace as2::compile
