#include "compile/refusals.h"

#include <algorithm>

#include "as2/error.h"
#include "asp/symbol.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::GroundProgram;
using asp::Statement;

const std::string& name_of(const GroundProgram& ground, Atom atom) {
  static const std::string kNone;
  return atom < ground.names.size() ? ground.names[atom] : kNone;
}

// Does the head of the statement derive or choose atoms like this one?
bool defines(const Statement& statement, const std::string& atom) {
  const std::string signature = asp::parse_symbol(atom).signature();
  return std::find(statement.heads.begin(), statement.heads.end(), signature) != statement.heads.end();
}

std::vector<std::string> named(const GroundProgram& ground, const std::vector<Atom>& atoms) {
  std::vector<std::string> names;
  for (const Atom atom : atoms) {
    if (!name_of(ground, atom).empty()) names.push_back(name_of(ground, atom));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// `a, b, c and 12 more`
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), kMost); ++k) text += (k > 0 ? ", " : "") + names[k];
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text.empty() ? "an aggregate" : text;
}

SourceLocation whole_program(const GroundProgram& ground) {
  SourceLocation place;
  place.file = ground.file;
  place.line = 1;
  return place;
}

}  // namespace

SourceLocation rule_of(const GroundProgram& ground, const std::vector<Atom>& atoms) {
  for (const std::string& name : named(ground, atoms)) {
    for (const Statement& statement : ground.statements) {
      if (defines(statement, name)) return statement.location;
    }
  }
  return whole_program(ground);
}

void refuse_disjunction(const GroundProgram& ground, const asp::Rule& rule) {
  std::vector<std::string> atoms = named(ground, rule.head);
  std::string choice;
  for (const std::string& atom : atoms) choice += (choice.empty() ? "{ " : "; ") + atom;
  throw InputError(rule_of(ground, rule.head), "disjunction in a head: " + listed(atoms),
                   {"write a choice instead: " + choice + " } = 1 (or >= 1) with the same body"});
}

void refuse_chosen_and_derived(const GroundProgram& ground, Atom atom) {
  const std::string name = name_of(ground, atom);
  SourceLocation place = rule_of(ground, {atom});
  for (const Statement& statement : ground.statements) {
    const bool rule =
        statement.kind == asp::StatementKind::kRule || statement.kind == asp::StatementKind::kClue;
    if (rule && defines(statement, name)) place = statement.location;
  }
  throw InputError(place, name + " is both chosen and derived by a rule",
                   {"let the choice say it and the rule constrain it: instead of `" + name +
                        " :- body.` write `:- body, not " + name + ".`",
                    "or derive another predicate: `holds :- " + name + ".` and `holds :- body.`"});
}

void refuse_no_positions(const GroundProgram& ground) {
  throw InputError(
      whole_program(ground), "the program has no position: nothing in it is chosen",
      {"say what is open with a choice rule, for example `{ cell(R,C,V) : V=1..9 } = 1 :- R=1..9, C=1..9.`"});
}

void refuse_choice_cycle(const GroundProgram& ground, const std::vector<Atom>& cycle) {
  throw InputError(
      rule_of(ground, cycle), "a choice depends on itself: " + listed(named(ground, cycle)),
      {"choose unconditionally and forbid what must not be chosen: `{ a }.` and `:- a, not body.`"});
}

void refuse_negation_cycle(const GroundProgram& ground, const std::vector<Atom>& cycle) {
  throw InputError(
      rule_of(ground, cycle), "negation that is not stratified: " + listed(named(ground, cycle)),
      {"say what is open with a choice: instead of `a :- not b. b :- not a.` write `{ a; b } = 1.`"});
}

void refuse_aggregate_cycle(const GroundProgram& ground, const std::vector<Atom>& cycle) {
  throw InputError(
      rule_of(ground, cycle), "recursion through an aggregate: " + listed(named(ground, cycle)),
      {"choose the atoms with a choice rule and check the aggregate in a constraint, or count over atoms "
       "that do not depend on the result"});
}

}  // namespace as2::compile
