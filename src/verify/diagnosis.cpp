// Which statements fail. The tagged ground program tells the statement behind every integrity constraint, so
// each constraint `:- body` becomes `mark(k) :- body`, and nothing can fail any more. The assignment is put
// in place of the choices: `{a} :- body` becomes `a :- body, on(a)`, where on(a) holds in the cases that pick
// a. What is picked without support, or holds without being picked, is marked as well. Literals of position
// atoms read the assignment, but for those that a rule needs from its head's own loop, which must be derived;
// disjunctive heads are shifted, so that nothing is left to choose. Every circle of loops has a position, its
// guess, so such a program is stratified: it has one model per case, and all cases are answered in one run.
//
// Rejected: keeping the choices and forcing the atoms by constraints. A choice's own bounds then leave no
// model to read the marks from.
#include "verify/diagnosis.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "compile/graph.h"
#include "compile/origin.h"
#include "verify/clingo.h"

namespace as2::verify {
namespace {

using asp::Atom;
using asp::GroundProgram;
using asp::Lit;
using asp::Rule;

constexpr const char* kStatementMark = "__as2_statement";
constexpr const char* kAtomMark = "__as2_atom";

class Writer {
 public:
  explicit Writer(Atom first_free) : next_(first_free) { out_ << "asp 1 0 0\n"; }

  Lit fresh() { return static_cast<Lit>(next_++); }

  void rule(bool choice, const std::vector<Lit>& head, const std::vector<Lit>& body) {
    out_ << "1 " << (choice ? 1 : 0);
    list(head);
    out_ << " 0";
    list(body);
    out_ << '\n';
  }

  // Writes a rule with another rule's body and one more condition (0: none).
  void rule(bool choice, const std::vector<Lit>& head, const Rule& source, Lit condition) {
    std::vector<Lit> body;
    if (source.sum) {
      const Lit sum = fresh();
      out_ << "1 0 1 " << sum << " 1 " << source.bound << ' ' << source.body.size();
      for (const auto& literal : source.body) out_ << ' ' << literal.lit << ' ' << literal.weight;
      out_ << '\n';
      body.push_back(sum);
    } else {
      for (const auto& literal : source.body) body.push_back(literal.lit);
    }
    if (condition) body.push_back(condition);
    rule(choice, head, body);
  }

  void at_most_one(const std::vector<Lit>& literals) {
    out_ << "1 0 0 1 2 " << literals.size();
    for (const Lit literal : literals) out_ << ' ' << literal << " 1";
    out_ << '\n';
  }

  void show(const std::string& name, int number, Lit literal) {
    const std::string text = name + "(" + std::to_string(number) + ")";
    out_ << "4 " << text.size() << ' ' << text << " 1 " << literal << '\n';
  }

  void project(const std::vector<Lit>& atoms) {
    out_ << "3";
    list(atoms);
    out_ << '\n';
  }

  std::string finish() {
    out_ << "0\n";
    return out_.str();
  }

 private:
  void list(const std::vector<Lit>& literals) {
    out_ << ' ' << literals.size();
    for (const Lit literal : literals) out_ << ' ' << literal;
  }

  std::ostringstream out_;
  Atom next_;
};

// All atoms of the assignment, chosen and unchosen, sorted together: __as2_atom(i) stands for the i-th.
std::vector<std::string> sorted_atoms(const ChosenAtoms& assignment) {
  std::vector<std::string> atoms = assignment.chosen;
  atoms.insert(atoms.end(), assignment.unchosen.begin(), assignment.unchosen.end());
  std::sort(atoms.begin(), atoms.end());
  return atoms;
}

Atom first_free_atom(const GroundProgram& ground) {
  Atom last = ground.names.empty() ? 0 : static_cast<Atom>(ground.names.size() - 1);
  for (const Rule& rule : ground.rules) {
    for (const Atom atom : rule.head) last = std::max(last, atom);
    for (const auto& literal : rule.body) last = std::max(last, static_cast<Atom>(std::abs(literal.lit)));
  }
  return last + 1;
}

std::unordered_map<std::string, Lit> atoms_by_name(const GroundProgram& ground) {
  std::unordered_map<std::string, Lit> result;
  for (Atom atom = 1; atom < ground.names.size(); ++atom) {
    if (!ground.names[atom].empty()) result.emplace(ground.names[atom], static_cast<Lit>(atom));
  }
  return result;
}

// Writes the choice between the cases and, for every atom of the assignments, a literal that holds in the
// cases that pick the atom.
std::unordered_map<std::string, Lit> write_cases(Writer& writer, const std::vector<const ChosenAtoms*>& cases,
                                                 const std::vector<std::string>& atoms) {
  std::vector<Lit> case_atoms;
  std::vector<Lit> no_case;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    case_atoms.push_back(writer.fresh());
    no_case.push_back(-case_atoms.back());
    writer.show(kCaseAtom, static_cast<int>(k) + 1, case_atoms.back());
  }
  writer.rule(true, case_atoms, {});
  writer.rule(false, {}, no_case);
  writer.at_most_one(case_atoms);
  writer.project(case_atoms);
  std::unordered_map<std::string, Lit> on;
  for (const std::string& atom : atoms) on.emplace(atom, writer.fresh());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    for (const std::string& atom : cases[k]->chosen) writer.rule(false, {on.at(atom)}, {case_atoms[k]});
  }
  return on;
}

// The loop of every atom: atoms of one loop need each other.
std::vector<int> loops_of(const GroundProgram& ground) {
  std::vector<std::pair<int, int>> needs;
  for (const Rule& rule : ground.rules) {
    for (const Atom head : rule.head) {
      for (const auto& literal : rule.body) {
        if (literal.lit > 0) needs.emplace_back(static_cast<int>(head), literal.lit);
      }
    }
  }
  return compile::components_of({static_cast<int>(first_free_atom(ground)), needs}).of;
}

// `f :- not f, B.`: never derives f, and leaves no model where B holds. A constraint, written as a rule.
bool negates(const Rule& rule, Atom head) {
  if (rule.choice || rule.sum) return false;
  return std::any_of(rule.body.begin(), rule.body.end(),
                     [&](const asp::WeightedLit& literal) { return literal.lit == -static_cast<Lit>(head); });
}

// Writes rules so that they read the assignment.
class Reader {
 public:
  Reader(Writer& writer, const GroundProgram& ground, const std::unordered_map<std::string, Lit>& on,
         const std::vector<Lit>& statement_marks)
      : writer_(writer),
        ground_(ground),
        on_(on),
        statement_marks_(statement_marks),
        origins_(ground),
        loops_(loops_of(ground)) {}

  void write(const Rule& rule) {
    if (rule.head.empty()) constraint(rule, rule.statement, 0);
    for (const Atom head : rule.head) {
      const int negated = negates(rule, head) ? origins_.of_self_negation(head) : -1;
      if (rule.choice) {
        const bool free = picked(head) == static_cast<Lit>(head);
        writer_.rule(free, {static_cast<Lit>(head)}, read(rule, head), free ? 0 : picked(head));
      } else if (negated >= 0) {
        constraint(rule, negated, none_but(head, rule.head));
      } else {
        writer_.rule(false, {static_cast<Lit>(head)}, read(rule, head), none_but(head, rule.head));
      }
    }
  }

 private:
  // Whether the atom is picked or, where the assignment does not speak of it, derived.
  Lit picked(Atom atom) const {
    const auto found = atom < ground_.names.size() ? on_.find(ground_.names[atom]) : on_.end();
    return found == on_.end() ? static_cast<Lit>(atom) : found->second;
  }

  // The rule with the body that derives `head`; 0: a constraint, which derives nothing.
  Rule read(Rule rule, Atom head) const {
    for (auto& literal : rule.body) {
      const Atom atom = asp::atom_of(literal.lit);
      if (literal.lit < 0) {
        literal.lit = -picked(atom);
      } else if (head == 0 || loops_[atom] != loops_[head]) {
        literal.lit = picked(atom);
      }
    }
    return rule;
  }

  void constraint(const Rule& rule, int statement, Lit condition) {
    const Lit mark = statement < 0 ? 0 : statement_marks_[static_cast<std::size_t>(statement)];
    writer_.rule(false, mark ? std::vector<Lit>{mark} : std::vector<Lit>{}, read(rule, 0), condition);
  }

  // That no other atom of a disjunction holds; 0: there is no other.
  Lit none_but(Atom one, const std::vector<Atom>& heads) {
    std::vector<Lit> others;
    for (const Atom other : heads) {
      if (other != one) others.push_back(-picked(other));
    }
    if (others.empty()) return 0;
    const Lit none_of_them = writer_.fresh();
    writer_.rule(false, {none_of_them}, others);
    return none_of_them;
  }

  Writer& writer_;
  const GroundProgram& ground_;
  const std::unordered_map<std::string, Lit>& on_;
  const std::vector<Lit>& statement_marks_;
  const compile::Origins origins_;
  const std::vector<int> loops_;  // per atom
};

// Does a rule that is no choice and no given fact derive the atom? A disjunction is no fact, even without a
// body; `a :- a, B.` derives nothing. Then the family is `founded`.
bool derived(const GroundProgram& ground, const std::string& name) {
  return std::any_of(ground.rules.begin(), ground.rules.end(), [&](const Rule& rule) {
    if (rule.choice || (rule.head.size() == 1 && rule.body.empty())) return false;
    return std::any_of(rule.head.begin(), rule.head.end(), [&](Atom atom) {
      const bool needs_itself =
          !rule.sum && std::any_of(rule.body.begin(), rule.body.end(), [&](const asp::WeightedLit& literal) {
            return literal.lit == static_cast<Lit>(atom);
          });
      return !needs_itself && atom < ground.names.size() && ground.names[atom] == name;
    });
  });
}

// The statement that has the atom in its head; -1 if there is none.
int statement_of(const GroundProgram& ground, const std::string& name) {
  for (const Rule& rule : ground.rules) {
    if (rule.statement < 0) continue;
    for (const Atom atom : rule.head) {
      if (atom < ground.names.size() && ground.names[atom] == name) return rule.statement;
    }
  }
  return -1;
}

}  // namespace

std::string diagnosis_program(const GroundProgram& ground, const std::vector<const ChosenAtoms*>& cases) {
  Writer writer(first_free_atom(ground));
  const std::vector<std::string> atoms = sorted_atoms(*cases.front());
  const auto on = write_cases(writer, cases, atoms);

  std::vector<Lit> statement_marks;
  for (std::size_t k = 0; k < ground.statements.size(); ++k) {
    statement_marks.push_back(writer.fresh());
    writer.show(kStatementMark, static_cast<int>(k), statement_marks.back());
  }
  Reader reader(writer, ground, on, statement_marks);
  for (const Rule& rule : ground.rules) reader.write(rule);

  for (const asp::External& external : ground.externals) {
    if (external.value == asp::ExternalValue::kFalse) continue;
    Rule given;
    given.choice = external.value == asp::ExternalValue::kFree;
    given.head = {external.atom};
    reader.write(given);
  }

  const auto by_name = atoms_by_name(ground);
  const std::unordered_set<std::string> facts(ground.facts.begin(), ground.facts.end());
  for (std::size_t k = 0; k < atoms.size(); ++k) {
    const Lit picked = on.at(atoms[k]);
    const Lit mark = writer.fresh();
    writer.show(kAtomMark, static_cast<int>(k), mark);
    const auto found = by_name.find(atoms[k]);
    if (found != by_name.end()) {
      writer.rule(false, {mark}, {picked, -found->second});
      writer.rule(false, {mark}, {-picked, found->second});
    } else {
      writer.rule(false, {mark}, {facts.count(atoms[k]) ? -picked : picked});
    }
  }
  return writer.finish();
}

std::vector<Violation> violations(const GroundProgram& ground, const ChosenAtoms& assignment,
                                  const std::vector<std::string>& shown) {
  std::set<int> statements;
  std::set<std::string> without_statement;
  std::set<std::string> unfounded;
  const std::vector<std::string> atoms = sorted_atoms(assignment);
  for (const std::string& mark : shown) {
    const std::size_t open = mark.find('(');
    if (open == std::string::npos) continue;
    const int number = std::atoi(mark.c_str() + open + 1);
    if (mark.compare(0, open, kStatementMark) == 0) {
      statements.insert(number);
    } else if (mark.compare(0, open, kAtomMark) == 0) {
      const std::string& atom = atoms[static_cast<std::size_t>(number)];
      const int statement = statement_of(ground, atom);
      if (derived(ground, atom)) {
        unfounded.insert(atom);
      } else if (statement >= 0) {
        statements.insert(statement);
      } else {
        without_statement.insert(atom);
      }
    }
  }
  std::vector<Violation> result;
  for (const int k : statements) {
    const asp::Statement& statement = ground.statements[static_cast<std::size_t>(k)];
    result.push_back({statement.name, statement.location});
  }
  if (!unfounded.empty()) {
    const compile::Origins origins(ground);
    const auto by_name = atoms_by_name(ground);
    const int k = origins.rule_of(static_cast<Atom>(by_name.at(*unfounded.begin())));
    result.push_back(
        {"founded", k < 0 ? SourceLocation{} : ground.statements[static_cast<std::size_t>(k)].location});
  }
  const std::unordered_set<std::string> chosen(assignment.chosen.begin(), assignment.chosen.end());
  for (const std::string& atom : without_statement) {
    result.push_back({atom + (chosen.count(atom) ? " cannot hold" : " holds always"), {}});
  }
  return result;
}

}  // namespace as2::verify
