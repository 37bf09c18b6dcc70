// The compiled program: positions with finite domains, and what the program says about them.
// Everything downstream (soft T_P, decoder, algebraic check) reads this and nothing else.
//
// The meaning. An assignment gives every position one symbol. It is an answer set of the source program
// (together with the atoms the circuit derives from it) if and only if no group is violated.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "as2/error.h"

namespace as2::compile {

// A position and its domain. Positions and symbols stand in clingo's term order.
struct Position {
  std::string name;                  // `cell(1,1,_)`; a Boolean position: its atom
  std::vector<std::string> symbols;  // as clingo prints them; Boolean: `false`, `true`
  std::vector<std::string> atoms;    // per symbol: the atom it makes true, "" for `false` and `_`
  bool boolean = false;
  bool guess = false;       // one of `guesses` below: it weighs 1 unless beliefs about it are given
  SourceLocation location;  // of the choice that declares it; of a guess: of a rule that derives it
};

// Why an atom that rules derive has been made a Boolean position.
enum class GuessReason : std::uint8_t { kNegation, kChosenAndDerived, kChoiceInLoop };
const char* name_of(GuessReason reason);  // "negation", "chosen and derived", "choice in a loop"

// A position that guesses whether an atom is true; the family `founded` demands that the rules derive what
// was guessed.
struct Guess {
  int position = 0;
  GuessReason reason = GuessReason::kNegation;
  std::vector<std::string> cycle;  // literals: the atom, what it depends on, …, the atom
};

// "The position's symbol is one of these." `symbols` is sorted, not empty, and not the whole domain.
struct SetLiteral {
  int position = 0;
  std::vector<int> symbols;  // indices into Position::symbols
};

// A set of integers as sorted, disjoint, non-adjacent closed intervals.
struct ValueSet {
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
  bool contains(std::int64_t value) const;
};

struct NodeRef {
  int node = 0;
  bool negated = false;
};

// All inputs hold (none: true). Soft: product.
struct Conjunction {
  std::vector<NodeRef> inputs;
};

// Some input holds (none: false). Soft: noisy-or; inside a recursive component the maximum.
struct Disjunction {
  std::vector<NodeRef> inputs;
};

// Σ weights[k]·[inputs[k] holds] ∈ allowed. Soft: convolution over independent inputs.
struct Bound {
  std::vector<NodeRef> inputs;
  std::vector<std::int64_t> weights;  // one per input
  ValueSet allowed;
};

// What decides a node's truth. Visited with one lambda per alternative, so that none can be forgotten.
using NodeContent = std::variant<SetLiteral, Conjunction, Disjunction, Bound>;

// Definitions as a circuit. Nodes stand in evaluation order: a node's inputs come before it, except inside a
// recursive component, whose nodes are contiguous, contain no negation and no Bound over members, and take
// their least fixpoint.
struct Node {
  NodeContent content;
  std::string atom;  // the atom this node decides, as clingo prints it; "" if auxiliary

  // The nodes it depends on directly; none for a set literal.
  const std::vector<NodeRef>& inputs() const;
};

struct Component {
  int begin = 0;  // nodes [begin, end)
  int end = 0;
  bool recursive = false;
};

// At most one of the members holds. At most one member per position.
struct Slot {
  std::vector<SetLiteral> members;
};

// Not all literals hold. At most one literal per position. No literal at all: always violated.
struct Nogood {
  std::vector<SetLiteral> literals;
};

// The value Σ_k values[k][symbol of positions[k]] + constant; shared by the linear groups over it.
struct Aggregate {
  std::vector<int> positions;
  std::vector<std::vector<std::int64_t>> values;  // [position in the aggregate][symbol]
  std::int64_t constant = 0;
  std::int64_t min = 0;  // of the value, over all assignments
  std::int64_t max = 0;
};

// The aggregate's value lies in allowed[symbol of the guard]; without a guard (-1) in allowed[0].
// The guard is not one of the aggregate's positions.
struct Linear {
  int aggregate = 0;
  int guard = -1;
  std::vector<ValueSet> allowed;
};

// Not all of these nodes hold. An empty body: always violated.
struct DerivedNogood {
  std::vector<NodeRef> body;
};

// What a group says; each alternative is one kind of group. Visited with one lambda per alternative, so that
// a kind nobody handles does not compile.
using Slots = std::vector<Slot>;                    // "exclusive"
using Linears = std::vector<Linear>;                // "linear"
using Nogoods = std::vector<Nogood>;                // "nogood"
using DerivedNogoods = std::vector<DerivedNogood>;  // "derived"
using GroupContent = std::variant<Slots, Linears, Nogoods, DerivedNogoods>;

// What one family says about one set of positions. A group without positions (an empty nogood) is violated by
// every assignment.
struct Group {
  int family = 0;
  std::vector<int> positions;  // sorted; those the group depends on
  GroupContent content;

  const char* kind() const;  // "exclusive", …
};

// One source statement.
struct Family {
  std::string name;
  SourceLocation location;
  std::string text;
};

// One tuple of an objective: `weight` is paid when the node holds (node -1: always).
struct Cost {
  std::int64_t weight = 0;
  NodeRef condition{-1, false};
  int statement = 0;  // index into objective_statements
};

// The costs of one priority; levels stand highest priority first. Equal tuples are already merged.
struct ObjectiveLevel {
  std::int32_t priority = 0;
  std::vector<Cost> costs;
};

// An atom clingo would show: `atom` when the condition holds (node -1: always).
struct ShownAtom {
  std::string atom;
  NodeRef condition{-1, false};
};

struct ConstraintProgram {
  std::vector<Position> positions;
  std::vector<Guess> guesses;  // by position
  std::vector<Node> nodes;
  std::vector<Component> components;  // cover all nodes, in order
  std::vector<Aggregate> aggregates;
  std::vector<Family> families;  // in source order; some may have no group (0 ground instances)
  std::vector<Group> groups;     // by family
  std::vector<ObjectiveLevel> objectives;
  std::vector<Family> objective_statements;
  std::vector<ShownAtom> shown;     // in clingo's term order
  std::vector<std::string> hidden;  // atoms that `#show` leaves out, sorted; of most nothing is known here
  std::int64_t atoms = 0;           // position atoms: Σ domain sizes, `false` and `_` not counted
  std::int64_t definitions = 0;     // named atoms that rules define
  std::string hash;                 // of the ground program's meaning: names a model's program

  // The largest domain, at least 1.
  int max_symbols() const;
  // Index of the position with this name, or -1; names are compared as clingo prints them, without blanks.
  int find_position(const std::string& name) const;
  // Index of the symbol in the position's domain, or -1; compared alike.
  int find_symbol(int position, const std::string& symbol) const;
};

// An assignment: one symbol index per position.
using Assignment = std::vector<int>;

// Truth of every circuit node under an assignment (recursive components by least fixpoint).
std::vector<char> evaluate_nodes(const ConstraintProgram& program, const Assignment& assignment);

// Groups the assignment violates, in order: the algebraic check behind CSR. Empty: an answer set.
std::vector<int> violated_groups(const ConstraintProgram& program, const Assignment& assignment);

// Cost per objective level, highest priority first.
std::vector<std::int64_t> cost_of(const ConstraintProgram& program, const Assignment& assignment);

// The atoms clingo would show for this assignment, in clingo's term order.
std::vector<std::string> shown_atoms(const ConstraintProgram& program, const Assignment& assignment);

}  // namespace as2::compile
