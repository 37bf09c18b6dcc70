// The positions of a program by their names, for those who look up many.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "as2/constraint_program.h"
#include "text.h"

namespace as2::compile {

class PositionIndex {
 public:
  // Keeps a reference to the program, whose positions must stay as they are.
  explicit PositionIndex(const ConstraintProgram& program) {
    for (std::size_t i = 0; i < program.positions.size(); ++i)
      index_.emplace(program.positions[i].name, static_cast<int>(i));
  }

  // As ConstraintProgram::find_position().
  int find(const std::string& name) const {
    auto found = index_.find(name);
    if (found == index_.end()) found = index_.find(as_printed(name));
    return found == index_.end() ? -1 : found->second;
  }

 private:
  std::unordered_map<std::string_view, int> index_;  // into the program's names
};

}  // namespace as2::compile
