// Truth spreads along the rules from facts and from atoms that no rule supports, each rule being looked at
// again only when one of its atoms becomes known. A chosen atom that is also a fact (a clue) stays unknown:
// its symbol belongs to the domain, and the clue becomes a constraint of its own. A disjunctive rule with a
// true head supports none of the others.
#include "compile/normalise.h"

#include <algorithm>
#include <cstdlib>
#include <deque>

#include "compile/origin.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::atom_of;
using asp::GroundProgram;
using asp::Lit;
using asp::WeightedLit;

class Propagation {
 public:
  explicit Propagation(const GroundProgram& ground) : ground_(ground) {
    std::size_t atoms = ground.names.size();
    for (const asp::Rule& rule : ground.rules) {
      for (const Atom atom : rule.head) atoms = std::max<std::size_t>(atoms, atom + 1);
      for (const WeightedLit& literal : rule.body)
        atoms = std::max<std::size_t>(atoms, atom_of(literal.lit) + 1);
    }
    for (const asp::Minimize& minimize : ground.minimize) {
      for (const WeightedLit& literal : minimize.literals)
        atoms = std::max<std::size_t>(atoms, atom_of(literal.lit) + 1);
    }
    for (const asp::CostTuple& tuple : ground.cost_tuples)
      atoms = std::max<std::size_t>(atoms, atom_of(tuple.lit) + 1);
    for (const auto& shown : ground.shown_terms)
      atoms = std::max<std::size_t>(atoms, atom_of(shown.second) + 1);
    truth_.assign(atoms, Truth::kUnknown);
    supports_.assign(atoms, 0);
    choice_supports_.assign(atoms, 0);
    clue_.assign(atoms, -1);
    is_clue_.assign(atoms, 0);
    watchers_.resize(atoms);
    state_.assign(ground.rules.size(), Truth::kUnknown);
  }

  NormalProgram run() {
    for (std::size_t r = 0; r < ground_.rules.size(); ++r) {
      const asp::Rule& rule = ground_.rules[r];
      for (const Atom atom : rule.head) ++(rule.choice ? choice_supports_ : supports_)[atom];
      for (const WeightedLit& literal : rule.body)
        watchers_[atom_of(literal.lit)].push_back(static_cast<int>(r));
      if (!disjunctive(rule)) continue;
      for (const Atom atom : rule.head) watchers_[atom].push_back(static_cast<int>(r));
    }
    for (const asp::External& external : ground_.externals) {
      if (external.value == asp::ExternalValue::kTrue) settle(external.atom, Truth::kAlways);
      if (external.value == asp::ExternalValue::kFree) ++choice_supports_[external.atom];
    }
    for (Atom atom = 1; atom < truth_.size(); ++atom) drop_if_unsupported(atom);
    for (std::size_t r = 0; r < ground_.rules.size(); ++r) look_at(static_cast<int>(r));
    spread();
    // A clue that no remaining choice offers is an ordinary fact; that may settle further choices.
    for (bool again = true; again;) {
      again = false;
      for (Atom atom = 1; atom < truth_.size(); ++atom) {
        if (!is_clue_[atom] || choice_supports_[atom] > 0 || truth_[atom] != Truth::kUnknown) continue;
        settle(atom, Truth::kAlways);
        again = true;
      }
      spread();
    }
    return result();
  }

 private:
  void settle(Atom atom, Truth value) {
    if (truth_[atom] != Truth::kUnknown) return;
    truth_[atom] = value;
    queue_.push_back(atom);
  }

  void drop_if_unsupported(Atom atom) {
    if (supports_[atom] == 0 && choice_supports_[atom] == 0) settle(atom, Truth::kNever);
  }

  void spread() {
    while (!queue_.empty()) {
      const Atom atom = queue_.front();
      queue_.pop_front();
      for (const int rule : watchers_[atom]) look_at(rule);
    }
  }

  Truth value_of(Lit lit) const {
    const Truth truth = truth_[atom_of(lit)];
    if (truth == Truth::kUnknown || lit > 0) return truth;
    return truth == Truth::kAlways ? Truth::kNever : Truth::kAlways;
  }

  Truth body_truth(const asp::Rule& rule) const {
    std::int64_t certain = 0;
    std::int64_t possible = 0;
    const std::int64_t bound = rule.sum ? rule.bound : static_cast<std::int64_t>(rule.body.size());
    for (const WeightedLit& literal : rule.body) {
      const std::int64_t weight = rule.sum ? literal.weight : 1;
      const Truth value = value_of(literal.lit);
      if (value == Truth::kAlways || (weight < 0 && value == Truth::kUnknown)) certain += weight;
      if (value == Truth::kAlways || (weight > 0 && value == Truth::kUnknown)) possible += weight;
    }
    if (certain >= bound) return Truth::kAlways;
    return possible < bound ? Truth::kNever : Truth::kUnknown;
  }

  void look_at(int index) {
    const asp::Rule& rule = ground_.rules[static_cast<std::size_t>(index)];
    Truth& state = state_[static_cast<std::size_t>(index)];
    if (state != Truth::kUnknown) return;
    state = body_truth(rule);
    Atom derived = rule.head.empty() ? 0 : rule.head.front();
    if (disjunctive(rule)) {
      int open = 0;
      for (const Atom atom : rule.head) {
        if (truth_[atom] == Truth::kAlways) state = Truth::kNever;
        if (truth_[atom] == Truth::kNever) continue;
        derived = atom;
        ++open;
      }
      // Which head it derives may become clear later.
      if (state == Truth::kAlways && open > 1) state = Truth::kUnknown;
    }
    if (state == Truth::kNever) {
      for (const Atom atom : rule.head) {
        --(rule.choice ? choice_supports_ : supports_)[atom];
        drop_if_unsupported(atom);
      }
    } else if (state == Truth::kAlways && !rule.choice && derived != 0) {
      if (choice_supports_[derived] == 0) {
        settle(derived, Truth::kAlways);
      } else if (!is_clue_[derived]) {
        is_clue_[derived] = 1;
        clue_[derived] = rule.statement;
      }
    }
  }

  static bool disjunctive(const asp::Rule& rule) { return !rule.choice && rule.head.size() > 1; }

  NormalRule normal(const asp::Rule& rule) const {
    NormalRule result;
    result.choice = rule.choice;
    result.sum = rule.sum;
    result.bound = rule.bound;
    result.head = rule.head;
    result.statement = rule.statement;
    for (WeightedLit literal : rule.body) {
      const Truth value = value_of(literal.lit);
      if (!rule.sum) literal.weight = 1;
      if (value == Truth::kAlways) result.bound -= literal.weight;
      if (value != Truth::kUnknown) continue;
      if (literal.weight < 0) {
        result.bound -= literal.weight;
        literal = {-literal.lit, -literal.weight};
      }
      if (literal.weight > 0) result.body.push_back(literal);
    }
    return result;
  }

  NormalProgram result() {
    NormalProgram program;
    program.truth = truth_;
    program.rules_of.resize(truth_.size());
    program.choices_of.resize(truth_.size());
    program.clue.assign(truth_.size(), 0);
    for (Atom atom = 1; atom < truth_.size(); ++atom) {
      if (!is_clue_[atom] || truth_[atom] != Truth::kUnknown) continue;
      program.clues.emplace_back(atom, clue_[atom]);
      program.clue[atom] = 1;
    }
    for (std::size_t r = 0; r < ground_.rules.size(); ++r) {
      if (state_[r] != Truth::kNever) add(ground_.rules[r], program);
    }
    for (const asp::External& external : ground_.externals) {
      if (external.value != asp::ExternalValue::kFree) continue;
      NormalRule choice;
      choice.choice = true;
      choice.head = {external.atom};
      choice.statement = origins_.of(external.atom);
      program.add_choice(std::move(choice));
    }
    return program;
  }

  void add(const asp::Rule& rule, NormalProgram& program) {
    NormalRule simple = normal(rule);
    if (body_truth(rule) == Truth::kAlways) {
      simple.body.clear();
      simple.sum = false;
    }
    if (rule.head.empty()) {
      if (!rule.choice) program.constraints.push_back(std::move(simple));
      return;
    }
    const auto known = [&](Atom atom) { return truth_[atom] != Truth::kUnknown; };
    simple.head.erase(std::remove_if(simple.head.begin(), simple.head.end(), known), simple.head.end());
    if (simple.head.empty()) return;
    if (rule.choice) return program.add_choice(std::move(simple));
    const auto in_body = [&](Lit lit) {
      return !simple.sum && std::any_of(simple.body.begin(), simple.body.end(),
                                        [&](const WeightedLit& literal) { return literal.lit == lit; });
    };
    // A rule whose head is given, or stands in its body, says nothing.
    for (const Atom atom : simple.head) {
      if (program.clue[atom] || in_body(static_cast<Lit>(atom))) return;
    }
    const Atom first = simple.head.front();
    simple.head.erase(std::remove_if(simple.head.begin(), simple.head.end(),
                                     [&](Atom atom) { return in_body(-static_cast<Lit>(atom)); }),
                      simple.head.end());
    if (simple.head.empty()) {
      if (simple.statement < 0) simple.statement = origins_.of_self_negation(first);
      program.constraints.push_back(std::move(simple));
    } else if (simple.head.size() == 1) {
      program.add_rule(std::move(simple));
    } else {
      program.disjunctions.push_back(std::move(simple));
    }
  }

  const GroundProgram& ground_;
  const Origins origins_{ground_};
  std::vector<Truth> truth_;
  std::vector<Truth> state_;  // per rule: its body
  std::vector<int> supports_;
  std::vector<int> choice_supports_;
  std::vector<int> clue_;
  std::vector<char> is_clue_;
  std::vector<std::vector<int>> watchers_;
  std::deque<Atom> queue_;
};

}  // namespace

Atom NormalProgram::add_atom() {
  truth.push_back(Truth::kUnknown);
  rules_of.emplace_back();
  choices_of.emplace_back();
  clue.push_back(0);
  return static_cast<Atom>(truth.size() - 1);
}

void NormalProgram::add_rule(NormalRule rule) {
  rules_of[rule.head.front()].push_back(static_cast<int>(rules.size()));
  rules.push_back(std::move(rule));
}

void NormalProgram::add_choice(NormalRule rule) {
  for (const Atom atom : rule.head) choices_of[atom].push_back(static_cast<int>(choices.size()));
  choices.push_back(std::move(rule));
}

NormalProgram normalise(const GroundProgram& ground) {
  return Propagation(ground).run();
}

}  // namespace as2::compile
