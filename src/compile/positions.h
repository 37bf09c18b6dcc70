// Pass `positions`: the names of positions and their order.
#pragma once

#include <vector>

#include "as2/constraint_program.h"
#include "as2/ground_program.h"
#include "compile/choices.h"

namespace as2::compile {

// Where an atom's truth is read: this symbol of this position.
struct AtomPlace {
  int position = -1;
  int symbol = -1;
};

struct Positions {
  const std::vector<Position>* positions = nullptr;  // those of the compiled program
  std::vector<int> group;                            // per position: index into Choices::groups
  std::vector<AtomPlace> place;                      // per atom
};

// Writes the positions, in clingo's term order, where the result refers to them.
Positions name_positions(const asp::GroundProgram& ground, const Choices& choices,
                         std::vector<Position>& positions);

}  // namespace as2::compile
