// Passes `kinds`, `cliques` and `exclusive`: what each family says, by kind.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compile/constraints.h"

namespace as2::compile {

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
