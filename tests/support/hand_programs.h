// ConstraintPrograms written by hand: what the compiler makes of well-known programs, and random ones of
// every kind, for tests of what comes after the compiler.
#pragma once

#include <cstdint>

#include "as2/constraint_program.h"
#include "support/random_program.h"

namespace as2::test {

using testing::Random;
// Uniform in [0, 1).
inline double uniform(Random& random) {
  return static_cast<double>(random.next() >> 11) / 9007199254740992.0;
}

// Sudoku of box×box boxes: families row, column, box; 3·box² groups of box² slots.
compile::ConstraintProgram sudoku(int box);
// `addends` digits 0..base−1 and, as last position, the guard `total`: Σ digits = total.
compile::ConstraintProgram addition(int addends, int base = 10);
// Boolean edges of a directed graph (every ordered pair of `vertices` numbered vertices except into 0); every
// vertex must be reached from 0: a recursive component, one derived constraint per vertex.
compile::ConstraintProgram reachability(int vertices);

struct RandomConstraintOptions {
  bool exclusive = true, linear = true, nogood = true, derived = false;
  bool read_once = false;  // derived: each position in at most one set literal of a circuit
};
// At most five positions of two to four symbols; several groups of each kind asked for.
compile::ConstraintProgram random_constraints(std::uint64_t seed,
                                              const RandomConstraintOptions& options = {});

}  // namespace as2::test
