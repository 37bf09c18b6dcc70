// Pass `choices`: which choice atoms form a position.
#pragma once

#include <vector>

#include "as2/ground_program.h"
#include "compile/guesses.h"
#include "compile/normalise.h"

namespace as2::compile {

// An exactly-one choice, one ground instance; or a single atom (Boolean).
struct ChoiceGroup {
  bool boolean = false;
  bool guess = false;  // Boolean, and one of the guesses
  int statement = -1;
  std::vector<asp::Atom> atoms;
  std::vector<asp::Lit> body;  // exactly one is picked if all of these hold, else none
};

struct Choices {
  std::vector<ChoiceGroup> groups;  // those that become positions
  // Statements that could declare positions, each with the one that did first.
  std::vector<std::pair<int, int>> rivals;
  std::vector<char> constraint_is_bound;  // per constraint of the normal program: a position says it
};

Choices find_choices(const asp::GroundProgram& ground, const NormalProgram& program, const Guesses& guesses);

}  // namespace as2::compile
