// The decoder's own form of a compiled program: everything is an integer table over *values*.
//
// A value is one symbol of one position; values of a position are contiguous. A literal says "the position's
// symbol lies in this set": ids below `values` are single values, those above are wider sets. Definitions
// become Boolean auxiliary positions tied to their inputs by nogoods (Clark completion) and, for bounds, by a
// linear constraint guarded by the node itself; objectives become losses of values. So the search knows only
// four things: slots, nogoods, linear constraints, and the unfounded sets of recursive components.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::decode {

// Rows of integers in one array.
struct Table {
  std::vector<int> begin{0};
  std::vector<int> items;

  int rows() const { return static_cast<int>(begin.size()) - 1; }
  const int* first(int row) const { return items.data() + begin[row]; }
  const int* last(int row) const { return items.data() + begin[row + 1]; }
  int size(int row) const { return begin[row + 1] - begin[row]; }
  void push_row(const std::vector<int>& row);
  // For each item in [0, count): the rows that hold it.
  Table transposed(int count) const;
};

// Σ values[k][symbol of positions[k]] ∈ allowed[symbol of guard] (guard -1: allowed[0]).
struct LinearConstraint {
  std::vector<int> positions;
  std::vector<std::vector<std::int64_t>> values;
  int guard = -1;
  std::vector<compile::ValueSet> allowed;
  bool tabled = false;  // a table says the same
};

// The tuples of symbols that these positions may take, numbered.
struct TupleTable {
  std::vector<int> positions;
  std::size_t words = 0;               // in the bit set of a set of tuples
  std::vector<std::size_t> row_begin;  // per position: the row of its first symbol
  std::vector<std::uint64_t> rows;     // per symbol of each position: the tuples that have it

  const std::uint64_t* tuples_with(std::size_t position, int symbol) const {
    return rows.data() + (row_begin[position] + static_cast<std::size_t>(symbol)) * words;
  }
};

// A recursive component: its nodes are auxiliary positions; inputs are literals, members as ~index.
struct RecursiveComponent {
  struct Member {
    int position = 0;
    bool conjunction = false;
    std::vector<int> inputs;
  };
  std::vector<Member> members;
  Table users;  // per member: the members that have it as an input
};

struct CostLiteral {
  int level = 0;
  std::int64_t weight = 0;
  int literal = 0;
};

class Problem {
 public:
  // `enabled`: per group of the program; empty means all. Definitions are kept where a group or an objective
  // needs them, and those of `observed` nodes always.
  explicit Problem(const compile::ConstraintProgram& program, const std::vector<char>& enabled = {},
                   const std::vector<int>& observed = {});

  int real = 0;       // positions of the program; auxiliary ones follow
  int positions = 0;  // all
  int values = 0;
  bool impossible = false;  // some group can never hold

  std::vector<int> value_begin;            // per position, +1
  std::vector<int> position_of;            // per value
  std::vector<int> word_begin;             // per position, +1: its words in a domain bitset
  std::vector<int> value_word;             // per value
  std::vector<std::uint64_t> value_bit;    // per value
  std::vector<std::uint64_t> full_domain;  // words

  // Wide literals, numbered from `values`.
  std::vector<int> wide_position;
  std::vector<std::vector<std::uint64_t>> wide_words;
  Table wide_of_position;

  Table slots;  // literals of which at most one holds
  Table slots_of_literal;
  Table exact;  // values of which exactly one holds
  Table exact_of_value;
  Table nogoods;             // literals that do not all hold; two or more
  std::vector<char> tabled;  // per nogood: a table says the same
  std::vector<TupleTable> tables;
  Table tables_of_position;
  std::vector<int> units;  // literals that do not hold
  std::vector<LinearConstraint> linears;
  Table linears_of_position;
  std::vector<RecursiveComponent> components;
  Table components_of_position;
  std::vector<char> only_slots;  // per position: no wide literal, linear constraint or component involves it
  std::vector<int> tied;         // real positions that some constraint or definition is about
  std::vector<int> loose;        // the other real ones
  std::vector<CostLiteral> costs;
  std::vector<std::int64_t> constant_cost;  // per level

  int literals() const { return values + static_cast<int>(wide_position.size()); }
  int position_of_literal(int literal) const {
    return literal < values ? position_of[literal] : wide_position[literal - values];
  }
  bool literal_has(int literal, int value) const;
  // The literal that says the program's node holds; -1 where nothing needs the node.
  int node_literal(int node) const { return node_literal_[node]; }

 private:
  int add_position(int symbols);
  int literal(int position, std::vector<int> symbols);
  int negation(int literal);
  int literal_of(const compile::NodeRef& ref);
  void add_nogood(const std::vector<int>& literals);
  void add_group(const compile::ConstraintProgram& program, const compile::Group& group);
  void add_exclusive(const std::vector<int>& group_positions, const compile::Slots& rows);
  void add_linear(const compile::ConstraintProgram& program, const compile::Linear& linear);
  void add_definitions(const compile::ConstraintProgram& program, const std::vector<char>& needed);
  void add_node(const compile::ConstraintProgram& program, int node);
  void add_completion(int holds, bool conjunction, const std::vector<compile::NodeRef>& inputs);
  void add_bound(int holds, const compile::Bound& bound);
  void add_component(const compile::ConstraintProgram& program, const compile::Component& component);
  void add_costs(const compile::ConstraintProgram& program);
  void recognise_tables(const compile::ConstraintProgram& program);
  std::vector<int> symbols_of(int literal) const;
  void find_loose();

  std::map<std::pair<int, std::vector<int>>, int> wide_ids_;
  std::vector<int> node_literal_;
};

}  // namespace as2::decode
