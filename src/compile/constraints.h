// Passes `constraints` to `exclusive`: ground constraints as conjunctions of formulas, then by kind.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "as2/ground_program.h"
#include "compile/choices.h"
#include "compile/definitions.h"

namespace as2::compile {

// Not all of these hold; in normal form, no two about one position or one sum. Empty: always violated.
struct Instance {
  int family = 0;
  std::vector<Formula> body;
};

struct Constraints {
  std::vector<Family> families;       // in source order
  std::vector<char> may_be_empty;     // per family: a constraint of the user's, listed with 0 groups too
  std::vector<int> ground_instances;  // per family, before anything was dropped
  std::vector<Instance> instances;
};

// Constraints of the program, bounds of choices that are no positions, support of conditional choices, clues.
Constraints collect_constraints(const asp::GroundProgram& ground, const NormalProgram& program,
                                const Choices& choices, const Positions& positions, Definitions& definitions);

// At most (or exactly) one of the members holds; members are formulas that are sets, of distinct positions.
struct ExclusiveInstance {
  std::vector<int> members;  // formula ids, by position
  Formula test;              // what must hold; kTrue if it came from nogoods
};

// Exclusive instances over one set of positions.
struct ExclusiveGroup {
  std::vector<int> positions;
  std::vector<ExclusiveInstance> instances;
};

// What one family says, by kind.
struct Kinds {
  std::set<std::vector<int>> nogoods;  // formula ids of sets, by position
  std::vector<ExclusiveInstance> at_most_one;
  std::vector<ExclusiveInstance> exactly_one;
  std::map<std::pair<int, int>, std::vector<ValueSet>> linears;  // (sum, guard or -1): allowed per symbol
  std::set<std::vector<Formula>> deriveds;
  std::vector<ExclusiveGroup> exclusive;  // filled by merge_exclusive
};

// Pass `kinds`.
std::vector<Kinds> classify(const Constraints& constraints, const Positions& positions,
                            Definitions& definitions);
// Pass `cliques`: nogoods of two atoms become at-most-one, a whole clique at once where they form one.
void merge_cliques(std::vector<Kinds>& kinds, const Positions& positions, Definitions& definitions);
// Pass `exclusive`: instances over the same positions become one group; exactly-one becomes at-most-one by
// the pigeonhole principle, or else a linear constraint.
void merge_exclusive(std::vector<Kinds>& kinds, const Positions& positions, Definitions& definitions);

}  // namespace as2::compile
