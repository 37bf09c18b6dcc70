#include "compile/position_hints.h"

#include <algorithm>

#include "text.h"

namespace as2::compile {
namespace {

constexpr const char* kNone = "it has no position at all";

std::string predicate_of(const std::string& name) {
  return name.substr(0, name.find('('));
}

// That a name which is no position's is an atom; empty: it is none that clingo would show.
std::string atom_hint(const ConstraintProgram& program, const std::string& name) {
  for (const Position& position : program.positions) {
    const auto atom = std::find(position.atoms.begin(), position.atoms.end(), name);
    if (atom == position.atoms.end()) continue;
    const std::string& symbol = position.symbols[static_cast<std::size_t>(atom - position.atoms.begin())];
    return "the atom says that position " + in_quotes(position.name) + " has the symbol " + in_quotes(symbol);
  }
  for (const ShownAtom& shown : program.shown) {
    if (shown.atom == name)
      return "it is an atom that the program derives; to require it, add the constraint `:- not " +
             shortened(name) + ".`";
  }
  return "";
}

}  // namespace

std::string position_names(const ConstraintProgram& program) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> names, predicates;
  for (const Position& position : program.positions) {
    const std::string predicate = predicate_of(position.name);
    if (std::find(predicates.begin(), predicates.end(), predicate) != predicates.end()) continue;
    predicates.push_back(predicate);
    names.push_back(shortened(position.name));
    if (names.size() > kMost) break;  // joined() says that there are more
  }
  return names.empty() ? kNone : "positions are named like " + joined(names, kMost);
}

std::string symbol_names(const Position& position) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> names;
  for (const std::string& symbol : position.symbols) {
    names.push_back(shortened(symbol));
    if (names.size() > kMost) break;  // joined() says that there are more
  }
  return "its symbols are " + joined(names, kMost);
}

std::string position_hint(const ConstraintProgram& program, const std::string& name) {
  const std::string printed = as_printed(name);
  if (std::string atom = atom_hint(program, printed); !atom.empty()) return atom;
  constexpr std::size_t kTooLong = 1000;  // the edit distance would take too long
  if (printed.size() > kTooLong) return position_names(program);
  const Position* nearest = nullptr;
  std::size_t distance =
      printed.size() / 2 + 1;  // what has more than half its characters wrong is not misspelt
  for (const Position& position : program.positions) {
    if (const std::size_t d = edit_distance(printed, position.name); d < distance)
      nearest = &position, distance = d;
  }
  return nearest ? "the nearest position is " + in_quotes(nearest->name) : position_names(program);
}

}  // namespace as2::compile
