// The shape of a program as plain lists, for the networks: which atoms stand in which pools.
//
// An atom is a (symbol, position), number symbol · positions + position; a pool is a set of atoms. Groups
// stand by family, and those without a position are left out, as nn/structure.cpp has it.
#pragma once

#include <cstdint>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::native {

// Lists of different length, one after another.
struct Lists {
  std::vector<std::int32_t> begin{0};  // [lists + 1]
  std::vector<std::int32_t> items;

  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t size(std::int64_t list) const { return begin[list + 1] - begin[list]; }
  const std::int32_t* of(std::int64_t list) const { return items.data() + begin[list]; }
  void close() { begin.push_back(static_cast<std::int32_t>(items.size())); }
};

struct Structure {
  std::int64_t positions = 0, symbols = 0, families = 0;
  bool full = true;                   // every domain has all the symbols
  std::vector<std::int64_t> domains;  // [positions]
  Lists groups;                       // the positions of each
  std::vector<int> group_family;      // [groups]
  std::vector<std::int64_t> family_groups;

  std::int64_t atoms() const { return positions * symbols; }
  static Structure of(const compile::ConstraintProgram& program);

  // One pool per group and symbol, by group: its atoms inside their domains.
  Lists pools_along_groups() const;
  // One pool per position: its atoms.
  Lists pools_over_symbols() const;
  // [heads, positions, positions]: Σ over the families in which two positions share a group of the head's
  // `weight` [heads, families].
  std::vector<float> relation_bias(std::int64_t heads, const std::vector<float>& weight) const;
};

// What the pools hand back: per atom the pools that hold it, each with its share. An atom takes the mean over
// the pools of one family and the sum over families.
struct Holders {
  Lists pools;
  std::vector<float> share;  // as pools.items
  static Holders of(const Structure& structure, const Lists& pools_along_groups);
};

}  // namespace as2::native
