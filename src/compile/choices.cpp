// An exactly-one choice reaches us as gringo writes it,
//     {x1; …; xn} :- B, C.      z1 :- Σ e ≥ 1.   z2 :- Σ e ≥ 2.   z :- z1, not z2.      :- B, not z.
// where e_k is x_k, or an auxiliary atom for "x_k and its condition". So a constraint that belongs to a
// choice statement is the bound of a position if one of its negative literals, z, turns back into
// "Σ over distinct chosen atoms = 1". The rest of its body, B, is the body of the choice.
//
// The atoms may share a position only if never two of them hold, whatever B is:
//   B and all conditions empty   the bound always holds, so it does not matter what else chooses the atoms
//   otherwise                    nothing else may make them true (no clue, no other choice), and each must be
//                                chosen under exactly the condition under which the bound counts it
// What does not qualify stays Boolean, and its bound an ordinary constraint: correct, only less compact.
#include "compile/choices.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "compile/value_set.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::Lit;
using asp::WeightedLit;

using Condition = std::set<Lit>;

Condition literals(const NormalRule& rule) {
  Condition result;
  for (const WeightedLit& literal : rule.body) result.insert(literal.lit);
  return result;
}

class ChoiceFinder {
 public:
  ChoiceFinder(const asp::GroundProgram& ground, const NormalProgram& program)
      : ground_(ground),
        program_(program),
        claimed_(program.truth.size(), 0),
        clue_(program.truth.size(), 0) {
    for (const auto& [atom, statement] : program.clues) clue_[atom] = 1;
  }

  Choices run() {
    Choices result;
    result.constraint_is_bound.assign(program_.constraints.size(), 0);
    // The choice that comes first in source order declares the position.
    std::vector<int> bounds;
    for (std::size_t k = 0; k < program_.constraints.size(); ++k) {
      const int statement = program_.constraints[k].statement;
      if (statement < 0 || program_.constraints[k].sum) continue;
      if (ground_.statements[static_cast<std::size_t>(statement)].kind == asp::StatementKind::kChoice) {
        bounds.push_back(static_cast<int>(k));
      }
    }
    std::stable_sort(bounds.begin(), bounds.end(), [&](int a, int b) {
      return program_.constraints[static_cast<std::size_t>(a)].statement <
             program_.constraints[static_cast<std::size_t>(b)].statement;
    });
    for (const int k : bounds) {
      std::optional<ChoiceGroup> group = exactly_one(program_.constraints[static_cast<std::size_t>(k)]);
      if (!group) continue;
      for (const Atom atom : group->atoms) claimed_[atom] = 1;
      result.groups.push_back(std::move(*group));
      result.constraint_is_bound[static_cast<std::size_t>(k)] = 1;
    }
    for (Atom atom = 1; atom < program_.truth.size(); ++atom) {
      if (!program_.chosen(atom) || claimed_[atom]) continue;
      ChoiceGroup group;
      group.boolean = true;
      group.statement = first_statement(atom);
      group.atoms = {atom};
      result.groups.push_back(std::move(group));
    }
    return result;
  }

 private:
  // gringo nests its auxiliary atoms no deeper than this.
  static constexpr int kDeepest = 4;

  // "The number of these elements that hold lies in `values`."
  struct Count {
    std::vector<Lit> elements;  // sorted
    ValueSet values;
  };

  int first_statement(Atom atom) const {
    int first = -1;
    for (const int rule : program_.choices_of[atom]) {
      const int statement = program_.choices[static_cast<std::size_t>(rule)].statement;
      if (first < 0 || (statement >= 0 && statement < first)) first = statement;
    }
    return first;
  }

  // Turns an auxiliary atom over one count back into it.
  std::optional<Count> count_of(Atom atom, int depth = 0) const {
    const std::vector<int>& rules = program_.rules_of[atom];
    if (depth > kDeepest || rules.empty() || named(atom)) return std::nullopt;
    std::optional<Count> result;
    for (const int index : rules) {
      const std::optional<Count> alternative =
          count_of(program_.rules[static_cast<std::size_t>(index)], depth);
      if (!alternative || (result && result->elements != alternative->elements)) return std::nullopt;
      if (result) {
        result->values = unite(result->values, alternative->values);
      } else {
        result = alternative;
      }
    }
    return result;
  }

  std::optional<Count> count_of(const NormalRule& rule, int depth) const {
    std::optional<Count> result;
    if (rule.sum) {
      result.emplace();
      for (const WeightedLit& literal : rule.body) {
        if (literal.weight != 1) return std::nullopt;
        result->elements.push_back(literal.lit);
      }
      std::sort(result->elements.begin(), result->elements.end());
      result->values = at_least(rule.bound);
      return result;
    }
    for (const WeightedLit& literal : rule.body) {
      std::optional<Count> part = count_of(static_cast<Atom>(std::abs(literal.lit)), depth + 1);
      if (!part || (result && result->elements != part->elements)) return std::nullopt;
      if (literal.lit < 0) part->values = complement(part->values);
      if (result) part->values = intersection(result->values, part->values);
      result = std::move(part);
    }
    return result;
  }

  struct Element {
    Atom atom = 0;
    std::set<Condition> conditions;  // the element counts if the atom and one of these hold
  };

  // The chosen atom an element of a count stands for.
  std::optional<Element> element_of(Lit lit, int statement, int depth = 0) const {
    if (lit < 0 || depth > kDeepest) return std::nullopt;
    const Atom atom = static_cast<Atom>(lit);
    if (chosen_by(atom, statement)) return Element{atom, {Condition{}}};
    if (named(atom)) return std::nullopt;
    std::optional<Element> result;
    for (const int index : program_.rules_of[atom]) {
      const NormalRule& rule = program_.rules[static_cast<std::size_t>(index)];
      if (rule.sum) return std::nullopt;
      std::optional<Element> alternative = element_of_body(literals(rule), statement, depth + 1);
      if (!alternative || (result && result->atom != alternative->atom)) return std::nullopt;
      if (result) {
        result->conditions.insert(alternative->conditions.begin(), alternative->conditions.end());
      } else {
        result = std::move(alternative);
      }
    }
    return result;
  }

  std::optional<Element> element_of_body(const Condition& body, int statement, int depth) const {
    if (body.size() == 1) return element_of(*body.begin(), statement, depth);
    for (const Lit lit : body) {
      if (lit < 0 || !chosen_by(static_cast<Atom>(lit), statement)) continue;
      // A condition may itself be an atom of this statement; then which is meant is settled by the caller's
      // comparison with the choice rules, and the choice stays Boolean if it does not fit.
      Element element{static_cast<Atom>(lit), {}};
      Condition rest = body;
      rest.erase(lit);
      element.conditions.insert(std::move(rest));
      return element;
    }
    return std::nullopt;
  }

  std::optional<ChoiceGroup> exactly_one(const NormalRule& bound) const {
    for (const WeightedLit& literal : bound.body) {
      if (literal.lit > 0) continue;
      const Atom atom = static_cast<Atom>(-literal.lit);
      std::optional<Count> count = count_of(atom);
      if (!count) count = Count{{static_cast<Lit>(atom)}, at_least(1)};  // a one-element choice has no sum
      const auto size = static_cast<std::int64_t>(count->elements.size());
      if (!(intersection(count->values, interval(0, size)) == interval(1, 1))) continue;
      Condition body = literals(bound);
      body.erase(literal.lit);
      if (std::optional<ChoiceGroup> group = position_of(*count, body, bound.statement)) return group;
    }
    return std::nullopt;
  }

  std::optional<ChoiceGroup> position_of(const Count& count, const Condition& body, int statement) const {
    ChoiceGroup group;
    group.statement = statement;
    group.body.assign(body.begin(), body.end());
    std::set<Atom> seen;
    for (const Lit lit : count.elements) {
      const std::optional<Element> element = element_of(lit, statement);
      if (!element || claimed_[element->atom] || !seen.insert(element->atom).second) return std::nullopt;
      const bool always = body.empty() && element->conditions == std::set<Condition>{Condition{}};
      if (!always && !chosen_exactly_under(*element, body)) return std::nullopt;
      group.atoms.push_back(element->atom);
    }
    // A clue among conditional atoms could hold in addition to another atom that is picked.
    const bool clue =
        std::any_of(group.atoms.begin(), group.atoms.end(), [&](Atom a) { return clue_[a] != 0; });
    if (clue && !body.empty()) return std::nullopt;
    return group;
  }

  // Is the atom chosen under the body together with one of the conditions, and in no other way?
  bool chosen_exactly_under(const Element& element, const Condition& body) const {
    if (clue_[element.atom]) return false;
    std::set<Condition> chosen_under;
    for (const int index : program_.choices_of[element.atom]) {
      const NormalRule& rule = program_.choices[static_cast<std::size_t>(index)];
      if (rule.sum) return false;
      Condition rest = literals(rule);
      for (const Lit lit : body) {
        if (rest.erase(lit) == 0) return false;
      }
      chosen_under.insert(std::move(rest));
    }
    return chosen_under == element.conditions;
  }

  bool chosen_by(Atom atom, int statement) const {
    const std::vector<int>& rules = program_.choices_of[atom];
    return std::any_of(rules.begin(), rules.end(), [&](int rule) {
      return program_.choices[static_cast<std::size_t>(rule)].statement == statement;
    });
  }

  bool named(Atom atom) const { return atom < ground_.names.size() && !ground_.names[atom].empty(); }

  const asp::GroundProgram& ground_;
  const NormalProgram& program_;
  std::vector<char> claimed_;
  std::vector<char> clue_;
};

}  // namespace

Choices find_choices(const asp::GroundProgram& ground, const NormalProgram& program) {
  return ChoiceFinder(ground, program).run();
}

}  // namespace as2::compile
