// Passes `choices` and `positions`: which choice atoms form a position, and what positions are called.
#pragma once

#include <vector>

#include "as2/constraint_program.h"
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
  std::vector<char> constraint_is_bound;  // per constraint of the normal program: said by a position already
};

// Where an atom's truth is read: this symbol of this position.
struct AtomPlace {
  int position = -1;
  int symbol = -1;
};

struct Positions {
  std::vector<Position> positions;  // in clingo's term order
  std::vector<int> group;           // per position: index into Choices::groups
  std::vector<AtomPlace> place;     // per atom
};

Choices find_choices(const asp::GroundProgram& ground, const NormalProgram& program);
Positions name_positions(const asp::GroundProgram& ground, const Choices& choices);

}  // namespace as2::compile
