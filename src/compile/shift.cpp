// Where no two heads of a rule depend on each other positively (the program is head-cycle-free),
//     a | b | c :- B.      has the answer sets of      a :- B, not b, not c.   b :- B, not a, not c.   …
// If nothing else derives the heads, exactly one of them holds when B does: that is a choice, and a position.
//
// gringo writes a conditional head `a : C` as an auxiliary head x with
//     x :- a, C.   a :- C, x.   :- x, not C.
// so x holds if and only if a and C do, and `not x` may be read as "not both": then what is negated is a
// statement about named atoms, which can be guessed.
#include "compile/shift.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compile/graph.h"
#include "compile/refusals.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::Lit;
using asp::WeightedLit;

class Shifter {
 public:
  Shifter(const asp::GroundProgram& ground, NormalProgram& program) : ground_(ground), program_(program) {}

  void run() {
    for (NormalRule& rule : program_.disjunctions) {
      std::sort(rule.head.begin(), rule.head.end());
      rule.head.erase(std::unique(rule.head.begin(), rule.head.end()), rule.head.end());
      for (const Atom atom : rule.head) ++disjunctions_of_[atom];
    }
    refuse_head_cycles();
    for (std::size_t k = 0; k < program_.constraints.size(); ++k) {
      const NormalRule& constraint = program_.constraints[k];
      if (constraint.sum || constraint.body.size() != 2) continue;
      for (const WeightedLit& literal : constraint.body)
        if (literal.lit > 0) pairs_of_[static_cast<Atom>(literal.lit)].push_back(static_cast<int>(k));
    }
    std::vector<NormalRule> disjunctions = std::move(program_.disjunctions);
    program_.disjunctions.clear();
    for (NormalRule& rule : disjunctions) {
      if (rule.sum && rule.head.size() > 1) name_body(rule);
      if (is_choice(rule)) {
        rule.choice = true;
        program_.exactly_one.push_back(rule);
        program_.add_choice(std::move(rule));
      } else {
        shift(rule);
      }
    }
  }

 private:
  void refuse_head_cycles() const {
    std::vector<std::pair<int, int>> edges;
    for (const auto* rules : {&program_.rules, &program_.choices, &program_.disjunctions}) {
      for (const NormalRule& rule : *rules) {
        for (const Atom head : rule.head) {
          for (const WeightedLit& literal : rule.body)
            if (literal.lit > 0) edges.emplace_back(static_cast<int>(head), literal.lit);
        }
      }
    }
    const Components components = components_of(Graph(static_cast<int>(program_.truth.size()), edges));
    for (const NormalRule& rule : program_.disjunctions) {
      std::map<int, Atom> seen;
      for (const Atom atom : rule.head) {
        const auto [place, is_new] = seen.emplace(components.of[atom], atom);
        if (is_new) continue;
        std::vector<Atom> cycle;
        for (Atom other = 1; other < program_.truth.size(); ++other) {
          if (components.of[other] == place->first) cycle.push_back(other);
        }
        refuse_head_cycle(ground_, rule.head, cycle);
      }
    }
  }

  bool named(Atom atom) const { return atom < ground_.names.size() && !ground_.names[atom].empty(); }

  bool is_choice(const NormalRule& rule) const {
    return std::all_of(rule.head.begin(), rule.head.end(), [&](Atom atom) {
      return named(atom) && !program_.chosen(atom) && program_.rules_of[atom].empty() &&
             disjunctions_of_.at(atom) == 1;
    });
  }

  // An atom in place of a weighted body.
  void name_body(NormalRule& rule) {
    NormalRule definition = rule;
    definition.head = {program_.add_atom()};
    rule.sum = false;
    rule.body = {{static_cast<Lit>(definition.head.front()), 1}};
    program_.add_rule(std::move(definition));
  }

  void shift(const NormalRule& rule) {
    for (const Atom head : rule.head) {
      NormalRule shifted = rule;
      shifted.head = {head};
      for (const Atom other : rule.head)
        if (other != head) shifted.body.push_back({-stands_for(other), 1});
      program_.add_rule(std::move(shifted));
    }
  }

  // A literal that holds in the same answer sets as the head.
  Lit stands_for(Atom head) {
    if (named(head)) return static_cast<Lit>(head);
    const auto [place, is_new] = stand_ins_.emplace(head, static_cast<Lit>(head));
    if (!is_new) return place->second;
    std::set<Atom> visited;
    const std::optional<std::set<Lit>> meaning = equivalent(head, visited);
    if (!meaning) return place->second;
    // Of `not a` the negation is `not not a`, which is not `a`: that takes an atom of its own.
    if (meaning->size() == 1 && *meaning->begin() > 0) return stand_ins_[head] = *meaning->begin();
    NormalRule definition;
    definition.head = {program_.add_atom()};
    for (const Lit lit : *meaning) definition.body.push_back({lit, 1});
    stand_ins_[head] = static_cast<Lit>(definition.head.front());
    program_.add_rule(std::move(definition));
    return stand_ins_[head];
  }

  // Literals all of which hold if and only if the auxiliary atom does.
  std::optional<std::set<Lit>> equivalent(Atom atom, std::set<Atom>& visited) const {
    if (!visited.insert(atom).second) return std::nullopt;
    for (const int index : program_.rules_of[atom]) {
      const NormalRule& rule = program_.rules[static_cast<std::size_t>(index)];
      if (rule.sum || !follows(atom, rule)) continue;
      std::set<Lit> meaning;
      for (const WeightedLit& literal : rule.body) {
        std::optional<std::set<Lit>> inner;
        if (literal.lit > 0 && !named(static_cast<Atom>(literal.lit)))
          inner = equivalent(static_cast<Atom>(literal.lit), visited);
        if (inner) {
          meaning.insert(inner->begin(), inner->end());
        } else {
          meaning.insert(literal.lit);
        }
      }
      return meaning;
    }
    return std::nullopt;
  }

  // Does the body of this rule follow from its head?
  bool follows(Atom atom, const NormalRule& rule) const {
    std::set<Lit> implied = {static_cast<Lit>(atom)};
    if (const auto pairs = pairs_of_.find(atom); pairs != pairs_of_.end()) {
      for (const int k : pairs->second) {
        const NormalRule& constraint = program_.constraints[static_cast<std::size_t>(k)];
        const bool first = constraint.body[0].lit == static_cast<Lit>(atom);
        const Lit other = -constraint.body[first ? 1 : 0].lit;
        implied.insert(other);
        if (other > 0) insert_only_body(static_cast<Atom>(other), implied);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const WeightedLit& literal : rule.body) {
        if (literal.lit < 0 || implied.count(literal.lit) > 0) continue;
        for (const int index : program_.rules_of[static_cast<std::size_t>(literal.lit)]) {
          const NormalRule& other = program_.rules[static_cast<std::size_t>(index)];
          if (other.sum || !all_in(other.body, implied)) continue;
          implied.insert(literal.lit);
          changed = true;
          break;
        }
      }
    }
    return all_in(rule.body, implied);
  }

  // An auxiliary atom with one rule holds only if its body does.
  void insert_only_body(Atom atom, std::set<Lit>& implied) const {
    if (named(atom) || program_.chosen(atom) || program_.rules_of[atom].size() != 1 ||
        disjunctions_of_.count(atom) > 0) {
      return;
    }
    const NormalRule& rule = program_.rules[static_cast<std::size_t>(program_.rules_of[atom].front())];
    if (rule.sum) return;
    for (const WeightedLit& literal : rule.body) implied.insert(literal.lit);
  }

  static bool all_in(const std::vector<WeightedLit>& body, const std::set<Lit>& implied) {
    return std::all_of(body.begin(), body.end(),
                       [&](const WeightedLit& literal) { return implied.count(literal.lit) > 0; });
  }

  const asp::GroundProgram& ground_;
  NormalProgram& program_;
  std::map<Atom, int> disjunctions_of_;
  std::map<Atom, std::vector<int>> pairs_of_;  // constraints of two literals, one of them this atom
  std::map<Atom, Lit> stand_ins_;
};

}  // namespace

void shift_disjunctions(const asp::GroundProgram& ground, NormalProgram& program) {
  if (!program.disjunctions.empty()) Shifter(ground, program).run();
}

}  // namespace as2::compile
