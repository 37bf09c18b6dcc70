#include "asp/externals.h"

#include <algorithm>
#include <set>

namespace as2::asp {
namespace {

using Body = std::vector<Lit>;  // sorted

bool contains(const Body& body, Lit lit) {
  return std::binary_search(body.begin(), body.end(), lit);
}

// What gringo knows of the atoms of a program without tags, where facts of chosen predicates are facts.
class Known {
 public:
  explicit Known(const GroundProgram& program) : program_(program) {
    std::size_t atoms = program.names.size();
    for (const Rule& rule : program.rules) {
      for (const Atom atom : rule.head) atoms = std::max<std::size_t>(atoms, atom + 1);
      for (const WeightedLit& literal : rule.body)
        atoms = std::max<std::size_t>(atoms, atom_of(literal.lit) + 1);
    }
    fact_.assign(atoms, 0);
    possible_.assign(atoms, 1);
    has_rules_.assign(atoms, 0);
    for (const Rule& rule : program.rules) {
      for (const Atom atom : rule.head) has_rules_[atom] = 1;
    }
    for (bool again = true; again;) {
      spread(fact_, [&](const Rule& rule) { return is_plain(rule) && certain(rule); });
      const std::vector<char> before = std::move(possible_);
      possible_.assign(atoms, 0);
      for (const External& external : program.externals) possible_[external.atom] = 1;
      spread(possible_, [&](const Rule& rule) { return possible(rule); });
      again = possible_ != before;
    }
  }

  // A disjunction with a fact among its heads is satisfied. Which sums can hold, gringo has settled.
  bool possible(const Rule& rule) const {
    const bool satisfied =
        !rule.choice && !is_single(rule) &&
        std::any_of(rule.head.begin(), rule.head.end(), [&](Atom a) { return fact_[a] != 0; });
    return rule.sum || (!satisfied && holds(rule, [&](Lit lit) { return possible(lit); }));
  }

  Body body_of(const Rule& rule) const {
    Body body;
    for (const WeightedLit& literal : rule.body)
      if (!certain(literal.lit)) body.push_back(literal.lit);
    std::sort(body.begin(), body.end());
    body.erase(std::unique(body.begin(), body.end()), body.end());
    return body;
  }

 private:
  // gringo finds facts by rules with one head, not through the auxiliary atoms that it makes of other heads.
  bool is_plain(const Rule& rule) const {
    return !rule.choice && is_single(rule) && named(rule.head[0]) &&
           std::all_of(rule.body.begin(), rule.body.end(),
                       [&](const WeightedLit& literal) { return named(atom_of(literal.lit)); });
  }
  static bool is_single(const Rule& rule) {
    return !rule.head.empty() && std::all_of(rule.head.begin(), rule.head.end(),
                                             [&](Atom atom) { return atom == rule.head.front(); });
  }
  bool named(Atom atom) const { return atom < program_.names.size() && !program_.names[atom].empty(); }

  bool possible(Lit lit) const { return lit > 0 ? possible_[atom_of(lit)] != 0 : fact_[atom_of(lit)] == 0; }
  // Where gringo keeps the negation of an atom without rules, it did not know that there are none.
  bool certain(Lit lit) const {
    const Atom atom = atom_of(lit);
    return lit > 0 ? fact_[atom] != 0 : has_rules_[atom] != 0 && possible_[atom] == 0;
  }
  bool certain(const Rule& rule) const {
    return holds(rule, [&](Lit lit) { return certain(lit); });
  }

  // Does the body hold if these literals do? Weights in aspif are positive.
  template <class Holds>
  static bool holds(const Rule& rule, const Holds& literal_holds) {
    std::int64_t sum = 0;
    for (const WeightedLit& literal : rule.body)
      if (literal_holds(literal.lit)) sum += rule.sum ? literal.weight : 1;
    return sum >= (rule.sum ? rule.bound : static_cast<std::int64_t>(rule.body.size()));
  }

  // Marks the heads of the rules that apply, until nothing changes.
  template <class Applies>
  void spread(std::vector<char>& marks, const Applies& applies) {
    for (bool again = true; again;) {
      again = false;
      for (const Rule& rule : program_.rules) {
        const bool open =
            std::any_of(rule.head.begin(), rule.head.end(), [&](Atom head) { return !marks[head]; });
        if (!open || !applies(rule)) continue;
        for (const Atom head : rule.head) marks[head] = 1;
        again = true;
      }
    }
  }

  const GroundProgram& program_;
  std::vector<char> fact_;
  std::vector<char> possible_;
  std::vector<char> has_rules_;
};

// The heads that the rule may derive. gringo gives weighted bodies to auxiliary atoms only.
std::vector<Atom> derivable(const Rule& rule, const Body& body) {
  if (rule.sum) return rule.head;
  if (std::any_of(body.begin(), body.end(), [&](Lit lit) { return lit > 0 && contains(body, -lit); }))
    return {};
  std::vector<Atom> heads;
  for (const Atom head : rule.head) {
    const bool positive = contains(body, static_cast<Lit>(head));
    if (positive && !rule.choice) return {};
    if (!positive && !contains(body, -static_cast<Lit>(head))) heads.push_back(head);
  }
  return heads;
}

// A rule whose heads all stand negated in its body is a constraint.
bool is_constraint(const Rule& rule, const Body& body) {
  return !rule.choice && !rule.sum && std::all_of(rule.head.begin(), rule.head.end(), [&](Atom head) {
    return contains(body, -static_cast<Lit>(head));
  });
}

std::set<Atom> defined_atoms(const GroundProgram& program) {
  const Known known(program);
  std::set<Body> refuted;
  for (const Rule& rule : program.rules) {
    Body body = known.body_of(rule);
    if (is_constraint(rule, body)) refuted.insert(std::move(body));
  }
  std::set<Atom> defined;
  for (const Rule& rule : program.rules) {
    const Body body = known.body_of(rule);
    if (!known.possible(rule) || (!rule.sum && refuted.count(body) > 0)) continue;
    for (const Atom head : derivable(rule, body)) defined.insert(head);
  }
  return defined;
}

}  // namespace

void keep_undefined_externals(GroundProgram& program) {
  if (program.externals.empty()) return;
  std::set<Atom> passed;
  for (const External& external : program.externals) passed.insert(external.atom);
  const bool any_rule = std::any_of(program.rules.begin(), program.rules.end(), [&](const Rule& rule) {
    return std::any_of(rule.head.begin(), rule.head.end(), [&](Atom head) { return passed.count(head) > 0; });
  });
  passed.clear();
  if (any_rule) passed = defined_atoms(program);
  std::vector<External> externals;
  for (auto external = program.externals.rbegin(); external != program.externals.rend(); ++external) {
    // A fact has no name: its output has no condition.
    if (program.names[external->atom].empty()) continue;
    if (passed.insert(external->atom).second) externals.push_back(*external);
  }
  std::reverse(externals.begin(), externals.end());
  program.externals = std::move(externals);
}

}  // namespace as2::asp
