// Compiled programs made by hand, so that the networks are tested without the compiler.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::testing {

inline compile::Position position(const std::string& name, int symbols) {
  compile::Position result;
  result.name = name;
  for (int s = 0; s < symbols; ++s) {
    result.symbols.push_back(std::to_string(s));
    result.atoms.push_back(name + "=" + std::to_string(s));
  }
  return result;
}

inline compile::Group all_different(int family, std::vector<int> positions, int symbols) {
  compile::Group group;
  group.family = family;
  compile::Slots slots;
  std::sort(positions.begin(), positions.end());
  for (int s = 0; s < symbols; ++s) {
    compile::Slot slot;
    for (const int i : positions) slot.members.push_back({i, {s}});
    slots.push_back(slot);
  }
  group.content = std::move(slots);
  group.positions = std::move(positions);
  return group;
}

inline void add_families(compile::ConstraintProgram& program, const std::vector<std::string>& names) {
  for (const auto& name : names) {
    compile::Family family;
    family.name = name;
    program.families.push_back(family);
  }
}

// Sudoku with boxes of `box` × `box`; cell (r, c) is position `place[r·n + c]`, in order when `place` is
// empty.
inline compile::ConstraintProgram sudoku(int box, std::vector<int> place = {}) {
  const int n = box * box;
  if (place.empty()) {
    for (int i = 0; i < n * n; ++i) place.push_back(i);
  }
  compile::ConstraintProgram program;
  for (int i = 0; i < n * n; ++i) program.positions.push_back(position("cell" + std::to_string(i), n));
  add_families(program, {"rows", "columns", "boxes"});
  for (int family = 0; family < 3; ++family) {
    for (int g = 0; g < n; ++g) {
      std::vector<int> cells;
      for (int k = 0; k < n; ++k) {
        const int row = family == 0 ? g : family == 1 ? k : g / box * box + k / box;
        const int column = family == 0 ? k : family == 1 ? g : g % box * box + k % box;
        cells.push_back(place[row * n + column]);
      }
      program.groups.push_back(all_different(family, cells, n));
    }
  }
  program.hash = "sudoku" + std::to_string(n);
  program.atoms = n * n * n;
  return program;
}

// Digits d1 … dn of 0..9 and, last, their sum.
inline compile::ConstraintProgram addition(int digits) {
  compile::ConstraintProgram program;
  compile::Aggregate sum;
  for (int i = 0; i < digits; ++i) {
    program.positions.push_back(position("d" + std::to_string(i), 10));
    sum.positions.push_back(i);
    sum.values.push_back({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
  sum.max = 9 * digits;
  program.positions.push_back(position("sum", 9 * digits + 1));
  program.aggregates.push_back(sum);
  add_families(program, {"sum"});
  compile::Linear linear;
  linear.guard = digits;
  for (int s = 0; s <= 9 * digits; ++s) linear.allowed.push_back({{{s, s}}});
  compile::Group group;
  for (int i = 0; i <= digits; ++i) group.positions.push_back(i);
  group.content = compile::Linears{linear};
  program.groups.push_back(group);
  program.hash = "addition" + std::to_string(digits);
  program.atoms = 10 * digits + 9 * digits + 1;
  return program;
}

// A solved board of this size: symbol per cell.
inline std::vector<std::int64_t> solved_board(int box) {
  const int n = box * box;
  std::vector<std::int64_t> board;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) board.push_back((r * box + r / box + c) % n);
  }
  return board;
}

}  // namespace as2::testing
