// Orders in which the compiler may decide positions.
#pragma once

#include <vector>

#include "decode/problem.h"

namespace as2::prob {

// Rank of every real position: the reverse of a min-fill elimination of the graph in which two positions are
// neighbours if some constraint mentions both (auxiliary positions take part, but have no rank of their own).
// What is eliminated last lies in the middle of the tree decomposition: deciding it first cuts the rest
// apart. Positions that no constraint connects are ordered by themselves.
std::vector<int> tree_order(const decode::Problem& problem);

}  // namespace as2::prob
