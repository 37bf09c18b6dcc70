// An exactly-one choice reaches us as gringo writes it,
//     {x1; …; xn} :- B, C.      z1 :- Σ e ≥ 1.   z2 :- Σ e ≥ 2.   z :- z1, not z2.      :- B, not z.
// where e_k is x_k, or an auxiliary atom for "x_k and its condition". So a constraint that belongs to a
// choice statement is the bound of a position if one of its negative literals, z, turns back into
// "Σ over distinct chosen atoms = 1". The rest of its body, B, is the body of the choice.
//
// The atoms may share a position only if never two of them hold, whatever B is:
//   B and all conditions empty   the bound always holds, so it does not matter what else chooses the atoms
//   otherwise                    nothing else may make them true (no clue, no other choice), and each must be
//                                chosen under exactly the condition under which the bound counts it; rules
//                                may derive them (`a(N) :- seen(N). { a(1..9) } = 1 :- seen(none).`) if each
//                                asks for another symbol of one position, so that never two of them fire
// What does not qualify stays Boolean, and its bound an ordinary constraint: correct, only less compact.
#include "compile/choices.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "compile/origin.h"
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
  ChoiceFinder(const asp::GroundProgram& ground, const NormalProgram& program, const Guesses& guesses)
      : ground_(ground), program_(program), guesses_(guesses), claimed_(program.truth.size(), 0) {}

  Choices run() {
    Choices result;
    result.constraint_is_bound.assign(program_.constraints.size(), 0);
    for (const NormalRule& rule : program_.exactly_one) {
      ChoiceGroup group;
      group.statement = rule.statement >= 0 ? rule.statement : origins_.of_disjunction(rule.head);
      group.atoms = rule.head;
      for (const WeightedLit& literal : rule.body) group.body.push_back(literal.lit);
      claim(std::move(group), result);
    }
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
    // Whether rules exclude each other may depend on a choice further down.
    for (bool again = true; again;) {
      again = false;
      waiting_ = false;
      rivals_.clear();
      for (const int k : bounds) {
        if (result.constraint_is_bound[static_cast<std::size_t>(k)]) continue;
        std::optional<ChoiceGroup> group =
            exactly_one(program_.constraints[static_cast<std::size_t>(k)], result);
        if (!group) continue;
        claim(std::move(*group), result);
        result.constraint_is_bound[static_cast<std::size_t>(k)] = 1;
        again = true;
      }
      again &= waiting_;
    }
    result.rivals.assign(rivals_.begin(), rivals_.end());
    std::vector<char> guess(program_.truth.size(), 0);
    for (const GuessedAtom& guessed : guesses_.atoms) guess[guessed.atom] = 1;
    for (Atom atom = 1; atom < program_.truth.size(); ++atom) {
      if (!guesses_.positioned(program_, atom) || claimed_[atom]) continue;
      ChoiceGroup group;
      group.boolean = true;
      group.guess = guess[atom] != 0;
      group.statement = program_.chosen(atom) ? first_statement(atom) : origins_.of(atom);
      group.atoms = {atom};
      result.groups.push_back(std::move(group));
    }
    return result;
  }

 private:
  void claim(ChoiceGroup group, Choices& result) {
    for (const Atom atom : group.atoms) claimed_[atom] = static_cast<int>(result.groups.size()) + 1;
    result.groups.push_back(std::move(group));
  }

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

  std::optional<ChoiceGroup> exactly_one(const NormalRule& bound, const Choices& found) {
    for (const WeightedLit& literal : bound.body) {
      if (literal.lit > 0) continue;
      const Atom atom = static_cast<Atom>(-literal.lit);
      std::optional<Count> count = count_of(atom);
      if (!count) count = Count{{static_cast<Lit>(atom)}, at_least(1)};  // a one-element choice has no sum
      const auto size = static_cast<std::int64_t>(count->elements.size());
      if (!(intersection(count->values, interval(0, size)) == interval(1, 1))) continue;
      Condition body = literals(bound);
      body.erase(literal.lit);
      if (std::optional<ChoiceGroup> group = position_of(*count, body, bound.statement, found)) return group;
    }
    return std::nullopt;
  }

  std::optional<ChoiceGroup> position_of(const Count& count, const Condition& body, int statement,
                                         const Choices& found) {
    ChoiceGroup group;
    group.statement = statement;
    group.body.assign(body.begin(), body.end());
    std::set<Atom> seen;
    bool derived = false;  // by rules, besides the choice
    for (const Lit lit : count.elements) {
      const std::optional<Element> element = element_of(lit, statement);
      if (!element || !seen.insert(element->atom).second) return std::nullopt;
      if (claimed_[element->atom] > 0) {
        const int declares = found.groups[static_cast<std::size_t>(claimed_[element->atom] - 1)].statement;
        if (declares != statement) rivals_.emplace(statement, declares);
        return std::nullopt;
      }
      const bool plain = element->conditions == std::set<Condition>{Condition{}};
      const bool always = body.empty() && plain;
      if (!always && !chosen_exactly_under(*element, body)) return std::nullopt;
      if (!always && !program_.rules_of[element->atom].empty()) {
        if (!plain) return std::nullopt;
        derived = true;
      }
      group.atoms.push_back(element->atom);
    }
    if (derived && !derived_apart(group.atoms)) return std::nullopt;
    // A clue among conditional atoms could hold in addition to another atom that is picked.
    const bool clue =
        std::any_of(group.atoms.begin(), group.atoms.end(), [&](Atom a) { return program_.clue[a] != 0; });
    if (clue && !body.empty()) return std::nullopt;
    return group;
  }

  // Is the atom chosen under the body together with one of the conditions, and in no other way?
  bool chosen_exactly_under(const Element& element, const Condition& body) const {
    if (program_.clue[element.atom]) return false;
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

  // Do the rules of these atoms each ask for another symbol of one position?
  bool derived_apart(const std::vector<Atom>& atoms) {
    std::map<int, std::map<Atom, Atom>> owners;  // by position: symbol atom, the atom derived from it
    std::size_t rules = 0;
    std::map<int, std::size_t> asked;  // by position: rules that ask for a symbol of it
    std::set<int> shared;
    for (const Atom atom : atoms) {
      for (const int index : program_.rules_of[atom]) {
        const NormalRule& rule = program_.rules[static_cast<std::size_t>(index)];
        ++rules;
        if (rule.sum) return false;
        std::set<int> seen;
        for (const WeightedLit& literal : rule.body) {
          const int group = literal.lit > 0 ? claimed_[static_cast<std::size_t>(literal.lit)] : 0;
          if (group == 0) continue;
          if (seen.insert(group).second) ++asked[group];
          const Atom owner = owners[group].emplace(static_cast<Atom>(literal.lit), atom).first->second;
          if (owner != atom) shared.insert(group);
        }
      }
    }
    const bool apart = std::any_of(asked.begin(), asked.end(), [&](const auto& entry) {
      return entry.second == rules && shared.count(entry.first) == 0;
    });
    waiting_ |= !apart;
    return apart;
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
  const Guesses& guesses_;
  const Origins origins_{ground_};
  std::vector<int> claimed_;              // per atom: 1 + the position that has it, or 0
  std::set<std::pair<int, int>> rivals_;  // as in Choices
  bool waiting_ = false;                  // a choice may become a position when others have
};

}  // namespace

Choices find_choices(const asp::GroundProgram& ground, const NormalProgram& program, const Guesses& guesses) {
  return ChoiceFinder(ground, program, guesses).run();
}

}  // namespace as2::compile
