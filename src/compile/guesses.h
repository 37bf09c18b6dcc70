// Pass `guesses`: the atoms whose truth cannot be computed from the positions below them, as few as can be
// found.
#pragma once

#include <vector>

#include "as2/constraint_program.h"
#include "as2/ground_program.h"
#include "compile/normalise.h"

namespace as2::compile {

struct GuessedAtom {
  asp::Atom atom = 0;
  GuessReason reason = GuessReason::kNegation;
  std::vector<asp::Lit> cycle;  // what depends on what, from the atom back to it
};

struct Guesses {
  std::vector<int> loop;           // per atom: the set of atoms it supports and is supported by, or -1
  std::vector<char> guessed;       // per atom: it has a position of its own although no choice offers it
  std::vector<GuessedAtom> atoms;  // by atom; those that a choice offers too

  // Is the atom's truth read off a position?
  bool positioned(const NormalProgram& program, asp::Atom atom) const {
    return guessed[atom] != 0 || program.chosen(atom);
  }
  // Does a rule with this head read the literal from what is being derived (and not from its truth)?
  bool inside_loop(asp::Atom head, asp::Lit lit) const {
    return lit > 0 && loop[head] >= 0 && loop[head] == loop[static_cast<std::size_t>(lit)];
  }
};

// Weighted bodies over atoms of the head's own loop become plain rules. Refuses cycles in which no atom has a
// name: aggregates that are not monotone.
Guesses find_guesses(const asp::GroundProgram& ground, NormalProgram& program);

}  // namespace as2::compile
