// A ground program as gringo writes it (aspif 1), with the source statement behind every rule.
// `asp/` tags the user's statements before grounding, so that a ground rule can be traced to its line, and
// the reader resolves the tags: in a GroundProgram no tag is left in a body and none has a name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "as2/error.h"

namespace as2::asp {

using Atom = std::uint32_t;  // 1, 2, …
using Lit = std::int32_t;    // atom, or its negation
inline Atom atom_of(Lit lit) {
  return static_cast<Atom>(lit < 0 ? -lit : lit);
}

// What a source statement is.
enum class StatementKind {
  kConstraint,
  kChoice,
  kClue,
  kWeak,
  kMinimize,
  kShow,
  kClassicalNegation,
  kRule,
  kExternal,
  kEdge,
};

struct Statement {
  StatementKind kind = StatementKind::kRule;
  SourceLocation location;
  std::string name;  // the family's name: trailing comment on the last line, else `constraint@LINE`; unique
  std::string text;  // the statement as the user wrote it
  std::vector<std::string>
      heads;  // signatures (`name/arity`, `-name/arity`) that its head derives or chooses
};

struct WeightedLit {
  Lit lit = 0;
  std::int32_t weight = 1;
};

// A rule `head :- body`. Integrity constraints of the user have no head and name their statement;
// so do the bounds that gringo splits off a choice (statement = the choice).
struct Rule {
  bool choice = false;  // head atoms may be chosen freely; else they are a disjunction
  bool sum = false;     // body: Σ weight·[lit] ≥ bound; else a conjunction (weights 1, bound unused)
  std::int32_t bound = 0;
  std::vector<Atom> head;
  std::vector<WeightedLit> body;
  int statement = -1;  // index into GroundProgram::statements, or -1 (definitions, auxiliary rules)
};

struct Minimize {
  std::int32_t priority = 0;
  std::vector<WeightedLit> literals;
};

// One tuple of one weak constraint or #minimize statement, and the atom that says it is paid.
struct CostTuple {
  int statement = -1;
  std::int32_t weight = 0;
  std::int32_t priority = 0;
  Lit lit = 0;  // 0: always paid
};

// What an `#external` atom without rules is.
enum class ExternalValue { kFalse, kTrue, kFree };

struct External {
  Atom atom = 0;
  ExternalValue value = ExternalValue::kFalse;
};

struct Warning {
  SourceLocation location;
  std::string message;
};

struct GroundProgram {
  std::string file;                   // the first source file: the place of what concerns the whole program
  std::vector<Statement> statements;  // in source order
  std::vector<Rule> rules;            // in gringo's order
  std::vector<Minimize> minimize;
  std::vector<CostTuple> cost_tuples;
  std::vector<External> externals;

  // Named atoms: `names[a]` is the atom as clingo prints it, empty for auxiliary atoms. Size: last atom + 1.
  std::vector<std::string> names;
  // Facts of the program that have no atom number, as clingo prints them.
  std::vector<std::string> facts;

  // What clingo would show: everything, unless the program has #show; then the listed signatures
  // (`name/arity`, `-name/arity`) and the terms whose literal holds (lit 0: always).
  bool show_all = true;
  std::vector<std::string> shown_signatures;
  std::vector<std::pair<std::string, Lit>> shown_terms;

  std::vector<Warning> warnings;
  std::vector<std::string> files;  // that were read, included ones as well
};

}  // namespace as2::asp
