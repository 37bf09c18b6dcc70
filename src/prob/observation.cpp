// What users say may be observed, as weights of the circuit's inputs.
#include <algorithm>
#include <cctype>
#include <map>

#include "as2/probability.h"
#include "asp/symbol.h"
#include "compile/position_hints.h"
#include "prob/observation.h"
#include "text.h"

namespace as2::prob {
namespace {

using compile::ConstraintProgram;
using compile::NodeRef;
using compile::SetLiteral;
using Kind = Observable::Kind;

// Stands for `_` in a pattern; the prefix is reserved.
constexpr const char* kAny = "__as2_any";

int domain(const ConstraintProgram& program, int position) {
  return static_cast<int>(program.positions[position].symbols.size());
}

Observable of_set(const ConstraintProgram& program, SetLiteral set) {
  if (set.symbols.empty()) return {Kind::kNever, true, {}, {}, {}};
  if (static_cast<int>(set.symbols.size()) == domain(program, set.position))
    return {Kind::kAlways, true, {}, {}, {}};
  return {Kind::kSet, true, std::move(set), {}, {}};
}

SetLiteral complement(const ConstraintProgram& program, const SetLiteral& set) {
  SetLiteral result{set.position, {}};
  for (int s = 0; s < domain(program, set.position); ++s) {
    if (!std::binary_search(set.symbols.begin(), set.symbols.end(), s)) result.symbols.push_back(s);
  }
  return result;
}

Observable of_node(const ConstraintProgram& program, const NodeRef& ref) {
  if (ref.node < 0) return {ref.negated ? Kind::kNever : Kind::kAlways, true, {}, {}, {}};
  const auto* set = std::get_if<SetLiteral>(&program.nodes[ref.node].content);
  if (!set) return {Kind::kNode, true, {}, ref, {}};
  return of_set(program, ref.negated ? complement(program, *set) : *set);
}

// Every atom that has a name in the compiled program, and what it is about.
std::map<std::string, Observable> atoms_of(const ConstraintProgram& program) {
  std::map<std::string, Observable> atoms;
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const compile::Position& position = program.positions[i];
    for (std::size_t s = 0; s < position.atoms.size(); ++s) {
      if (position.atoms[s].empty()) continue;
      atoms.emplace(position.atoms[s], of_set(program, {static_cast<int>(i), {static_cast<int>(s)}}));
    }
  }
  for (const compile::ShownAtom& shown : program.shown) {
    atoms.emplace(shown.atom, of_node(program, shown.condition));
  }
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    if (program.nodes[n].atom.empty()) continue;
    atoms.emplace(program.nodes[n].atom, of_node(program, {static_cast<int>(n), false}));
  }
  return atoms;
}

std::string stripped(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// `given`: what the user wrote; `text`: how it is read.
asp::Symbol atom_symbol(const std::string& given, const std::string& text, const std::string& remedy) {
  const std::string why = in_quotes(given) + " is no atom";
  asp::Symbol symbol;
  try {
    symbol = asp::parse_symbol(as_printed(text));
  } catch (const InputError&) {
    throw InputError(why, {remedy});
  }
  if (symbol.kind != asp::Symbol::Kind::kConstant && symbol.kind != asp::Symbol::Kind::kFunction)
    throw InputError(why, {remedy});
  return symbol;
}

Observable position_literal(const ConstraintProgram& program, const std::string& name,
                            const std::string& symbol) {
  const int position = program.find_position(name);
  if (position < 0) {
    throw InputError(
        "the program has no position " + in_quotes(name),
        {compile::position_hint(program, name), "a literal is an atom, `not` an atom, or POSITION=SYMBOL"});
  }
  const int index = program.find_symbol(position, symbol);
  if (index < 0) {
    throw InputError("position " + in_quotes(name) + " has no symbol " + in_quotes(symbol),
                     {compile::symbol_names(program.positions[position])});
  }
  return of_set(program, {position, {index}});
}

bool matches(const asp::Symbol& pattern, const asp::Symbol& symbol) {
  if (pattern.kind == asp::Symbol::Kind::kConstant && pattern.name == kAny) return true;
  if (pattern.kind != asp::Symbol::Kind::kFunction) return pattern == symbol;
  if (symbol.kind != pattern.kind || symbol.negative != pattern.negative || symbol.name != pattern.name ||
      symbol.arguments.size() != pattern.arguments.size()) {
    return false;
  }
  for (std::size_t k = 0; k < pattern.arguments.size(); ++k) {
    if (!matches(pattern.arguments[k], symbol.arguments[k])) return false;
  }
  return true;
}

// `_` as an argument of its own becomes kAny.
std::string with_any(const std::string& pattern) {
  const auto in_word = [&](std::size_t k) {
    return k < pattern.size() && (std::isalnum(static_cast<unsigned char>(pattern[k])) || pattern[k] == '_');
  };
  std::string text;
  Strings strings;
  for (std::size_t k = 0; k < pattern.size(); ++k) {
    const bool string = strings.take(pattern[k]);
    const bool alone = pattern[k] == '_' && !in_word(k + 1) && !(k > 0 && in_word(k - 1));
    if (alone && !string) {
      text += kAny;
    } else {
      text += pattern[k];
    }
  }
  return text;
}

}  // namespace

Observable negation(const ConstraintProgram& program, Observable observable) {
  switch (observable.kind) {
    case Kind::kNever:
      observable.kind = Kind::kAlways;
      break;
    case Kind::kAlways:
      observable.kind = Kind::kNever;
      break;
    case Kind::kSet:
      observable.set = complement(program, observable.set);
      break;
    case Kind::kNode:
      observable.node.negated = !observable.node.negated;
      break;
  }
  return observable;
}

Observation parse_observation(const ConstraintProgram& program, const std::string& text) {
  const std::map<std::string, Observable> atoms = atoms_of(program);
  Observation observation;
  for (std::string piece : split_terms(text, ",")) {
    if (piece.empty()) {
      throw InputError(in_quotes(text) + " has an empty literal",
                       {"expected literals with commas between them: total(7), not carry(1,1)"});
    }
    bool negated = false;
    while (piece.size() > 3 && piece.compare(0, 3, "not") == 0 &&
           std::isspace(static_cast<unsigned char>(piece[3])) != 0) {
      negated = !negated;
      piece = stripped(piece.substr(4));
    }
    if (piece == "not") {
      throw InputError(in_quotes(text) + " has a `not` without an atom",
                       {"expected the atom that does not hold: not carry(1,1)"});
    }
    Observable observable;
    if (const std::vector<std::string> sides = split_terms(piece, "="); sides.size() == 2) {
      observable = position_literal(program, sides[0], sides[1]);
    } else if (const auto whole = atoms.find(piece); whole != atoms.end()) {
      observable = whole->second;
    } else {
      if (with_any(piece) != piece) {
        throw InputError(in_quotes(piece) + " is not one atom: `_` stands for any argument",
                         {"name one of them; of all of them a distribution can be asked: --distribution, "
                          "distribution() in Python"});
      }
      const std::string name =
          atom_symbol(piece, piece,
                      "literals are atoms with or without `not`, and commas between them: "
                      "total(7), not carry(1,1)")
              .str();
      if (const auto atom = atoms.find(name); atom != atoms.end()) {
        observable = atom->second;
      } else {
        observable.known = false;
        observable.text = name;
      }
    }
    observation.push_back(negated ? negation(program, observable) : observable);
  }
  return observation;
}

std::vector<std::string> unknown_atoms(const ConstraintProgram& program, const Observation& observation) {
  std::vector<std::string> unknown;
  for (const Observable& observable : observation) {
    if (observable.known) continue;
    if (std::binary_search(program.hidden.begin(), program.hidden.end(), observable.text)) {
      throw InputError(
          in_quotes(observable.text) + " is hidden by #show, so its probability cannot be computed",
          {"show it, or leave #show out"});
    }
    unknown.push_back(observable.text);
  }
  return unknown;
}

std::vector<std::pair<std::string, Observable>> matching_atoms(const ConstraintProgram& program,
                                                               const std::string& pattern) {
  const asp::Symbol wanted = atom_symbol(
      pattern, with_any(pattern), "a pattern is a name with or without arguments, `_` for any: total(_)");
  std::vector<std::pair<asp::Symbol, Observable>> found;
  for (const auto& [text, observable] : atoms_of(program)) {
    asp::Symbol symbol = asp::parse_symbol(text);
    if (matches(wanted, symbol)) found.emplace_back(std::move(symbol), observable);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<std::string, Observable>> result;
  for (const auto& [symbol, observable] : found) result.emplace_back(symbol.str(), observable);
  return result;
}

void collect_nodes(const Observable& observable, std::vector<int>& nodes) {
  if (observable.kind == Kind::kNode) nodes.push_back(observable.node.node);
}

bool observe(const Circuit& circuit, const Observation& observation, Weights& weights) {
  for (const Observable& observable : observation) {
    switch (observable.kind) {
      case Kind::kNever:
        return false;
      case Kind::kAlways:
        break;
      case Kind::kSet:
        for (int s = 0; s < circuit.symbols; ++s) {
          const auto& symbols = observable.set.symbols;
          if (!std::binary_search(symbols.begin(), symbols.end(), s)) {
            weights[circuit.input(observable.set.position, s)] = 0;
          }
        }
        break;
      case Kind::kNode: {
        const int k = circuit.find_observed(observable.node.node);
        AS2_REQUIRE(k >= 0, "the circuit was compiled without this observation");
        weights[circuit.indicator(k, observable.node.negated)] = 0;
        break;
      }
    }
  }
  return true;
}

double probability_of(const Circuit& circuit, const Observable& observable,
                      const std::vector<double>& marginals) {
  switch (observable.kind) {
    case Kind::kNever:
      return 0;
    case Kind::kAlways:
      return 1;
    case Kind::kSet: {
      double sum = 0;
      for (const int s : observable.set.symbols) sum += marginals[circuit.input(observable.set.position, s)];
      return sum;
    }
    case Kind::kNode: {
      const int k = circuit.find_observed(observable.node.node);
      AS2_REQUIRE(k >= 0, "the circuit was compiled without this observation");
      return marginals[circuit.indicator(k, !observable.node.negated)];
    }
  }
  return 0;
}

bool holds(const Observation& observation, const compile::Assignment& assignment,
           const std::vector<char>& truth) {
  return std::all_of(observation.begin(), observation.end(), [&](const Observable& observable) {
    switch (observable.kind) {
      case Kind::kNever:
        return false;
      case Kind::kAlways:
        return true;
      case Kind::kSet:
        return std::binary_search(observable.set.symbols.begin(), observable.set.symbols.end(),
                                  assignment[observable.set.position]);
      case Kind::kNode:
        return (truth[observable.node.node] != 0) != observable.node.negated;
    }
    return false;
  });
}

}  // namespace as2::prob
