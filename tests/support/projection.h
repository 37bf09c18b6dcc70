// Answer sets of clingo's as our assignments.
#pragma once

#include <set>
#include <string>

#include "as2/constraint_program.h"
#include "support/random_program.h"

namespace as2::testing {

// The assignment that an answer set stands for, read off the atoms of the positions; −1 where it says
// nothing.
inline compile::Assignment project(const compile::ConstraintProgram& program, const AnswerSet& answer) {
  const std::set<std::string> atoms(answer.atoms.begin(), answer.atoms.end());
  compile::Assignment assignment;
  for (const compile::Position& position : program.positions) {
    int chosen = -1;
    for (std::size_t s = 0; s < position.atoms.size(); ++s) {
      const bool listed = !position.atoms[s].empty() && atoms.count(position.atoms[s]) > 0;
      if (listed || (position.atoms[s].empty() && chosen < 0)) chosen = static_cast<int>(s);
    }
    assignment.push_back(chosen);
  }
  return assignment;
}

}  // namespace as2::testing
