// A ConstraintProgram as index tables: everything the tensor form needs, built once per program and copied
// once per device.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/chains.h"
#include "tp/collected_terms.h"
#include "tp/index_tables.h"
#include "tp/soft_nodes.h"

namespace as2::tp {

// Terms of one kind of group. Cell = position · symbols + symbol.
struct Terms {
  torch::Tensor unit;           // [terms] int64
  torch::Tensor cell;           // [terms] int64
  torch::Tensor family_cell;    // [terms] int64: family · cells + cell
  torch::Tensor family_weight;  // [terms], see TermCounts
  torch::Tensor group_weight;   // [terms]
  std::int64_t count = 0;
};

// Units of one kind of group come from one or more of these, in this order.
struct ExclusivePart {
  std::vector<IndexTable> slots;  // members, by size
  Terms terms;
};

struct LinearPart {
  std::vector<Linears> linears;
  Terms terms;
  torch::Tensor order;  // [linear constraints], as the program lists them: the row each has in the tables
};

struct OtherPart {
  std::vector<IndexTable> nogoods;  // literals, by size
  IndexTable violated;              // [derived units, 1]: P(violated | clamp), from the circuit's values
  Terms terms;                      // unit 0 is the constant 0, of instances that are always violated
};

struct Tables {
  std::int64_t positions = 0, symbols = 0, families = 0, levels = 0;
  Reference zero, one;
  torch::Tensor mask;  // [positions, symbols] bool
  IndexTable sums;     // set literals of several symbols
  SoftNodes nodes;
  ExclusivePart exclusive;
  LinearPart linear;
  OtherPart other;
  torch::Tensor family_base;  // [families · cells]: 1 where a family has no term inside the domain
  torch::Tensor group_base;   // [cells]: share of the position's groups without a term at the cell
  IndexTable costs;           // [costs, 1]
  torch::Tensor cost_weight;  // [costs]
  torch::Tensor cost_level;   // [costs] int64

  std::shared_ptr<const TermCounts> counts;

  std::int64_t cells() const { return positions * symbols; }
  std::int64_t term_count() const { return exclusive.terms.count + linear.terms.count + other.terms.count; }
  static Tables of(const compile::ConstraintProgram& program);
  Tables to(torch::Device device, torch::ScalarType type) const;
};

}  // namespace as2::tp
