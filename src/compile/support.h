#pragma once

#include <vector>

#include "as2/constraint_program.h"

namespace as2::compile {

// Finds the positions that nodes depend on, directly or through other nodes.
class SupportFinder {
 public:
  explicit SupportFinder(const ConstraintProgram& program)
      : program_(program), node_seen_(program.nodes.size(), 0), position_seen_(program.positions.size(), 0) {}

  // Sorted.
  std::vector<int> positions_of(const std::vector<NodeRef>& body);

 private:
  const ConstraintProgram& program_;
  std::vector<int> node_seen_;  // per node: the last call that visited it
  std::vector<int> position_seen_;
  int call_ = 0;
};

}  // namespace as2::compile
