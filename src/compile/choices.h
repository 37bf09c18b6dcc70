// Pass `choices`: which choice atoms form a position.
#pragma once

#include <vector>

#include "as2/ground_program.h"
#include "compile/normalise.h"

namespace as2::compile {

// An exactly-one choice, one ground instance; or a single atom (Boolean).
struct ChoiceGroup {
  bool boolean = false;
  int statement = -1;
  std::vector<asp::Atom> atoms;
  std::vector<asp::Lit> body;  // exactly one is picked if all of these hold, else none
};

struct Choices {
  std::vector<ChoiceGroup> groups;        // those that become positions
  std::vector<char> constraint_is_bound;  // per constraint of the normal program: a position says it
};

Choices find_choices(const asp::GroundProgram& ground, const NormalProgram& program);

}  // namespace as2::compile
