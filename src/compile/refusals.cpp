#include "compile/refusals.h"

#include <algorithm>

#include "as2/error.h"
#include "asp/anatomy.h"
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
  names.erase(std::unique(names.begin(), names.end()), names.end());
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

// The first rule that derives one of these atoms and looks like that.
template <class Looks>
const Statement* rule_like(const GroundProgram& ground, const std::vector<Atom>& atoms, const Looks& looks) {
  for (const Statement& statement : ground.statements) {
    if (statement.heads.empty()) continue;
    const asp::SourceFile text{"", statement.text};
    const asp::TokenList tokens = asp::tokenize(text).tokens;
    if (!looks(tokens, asp::rule_parts(tokens))) continue;
    for (const std::string& name : named(ground, atoms))
      if (defines(statement, name)) return &statement;
  }
  return nullptr;
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

void refuse_head_cycle(const GroundProgram& ground, const std::vector<Atom>& heads,
                       const std::vector<Atom>& cycle) {
  const Statement* rule = rule_like(ground, cycle, [](const auto&, const asp::RuleParts& parts) {
    return parts.form == asp::HeadForm::kDisjunction;
  });
  // gringo writes aggregates that are not monotone as disjunctions, too.
  if (rule == nullptr) refuse_aggregate_cycle(ground, cycle);
  throw InputError(rule->location,
                   "a disjunctive head whose atoms support each other: " + listed(named(ground, heads)) +
                       ", in the cycle " + listed(named(ground, cycle)),
                   {"only head-cycle-free disjunctions are supported; write a choice instead, `1 { a; b } :- "
                    "body.`, if the atoms need not be minimal"});
}

void refuse_aggregate_cycle(const GroundProgram& ground, const std::vector<Atom>& cycle) {
  const Statement* rule =
      rule_like(ground, cycle, [](const asp::TokenList& tokens, const asp::RuleParts& parts) {
        return std::any_of(tokens.begin() + static_cast<std::ptrdiff_t>(parts.body.begin),
                           tokens.begin() + static_cast<std::ptrdiff_t>(parts.body.end),
                           [](const asp::Token& token) { return asp::token_is(token, "{"); });
      });
  throw InputError(
      rule == nullptr ? rule_of(ground, cycle) : rule->location,
      "recursion through an aggregate that is not monotone: " + listed(named(ground, cycle)),
      {"choose the atoms with a choice rule and check the aggregate in a constraint, or count over atoms "
       "that do not depend on the result"});
}

}  // namespace as2::compile
