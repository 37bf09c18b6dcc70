#include "compile/constraints.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace as2::compile {
namespace {

using asp::Atom;
using asp::StatementKind;

// Conjunctions inside a body are opened up to this many literals, auxiliary disjunctions split into up to
// this many instances; beyond, the constraint is evaluated through its definitions (kind `derived`).
constexpr std::size_t kMostLiterals = 64;
constexpr std::size_t kMostInstances = 64;

// Stand-ins for a statement, for instances that have none of their own.
constexpr int kFacts = -2;

class Collector {
 public:
  Collector(const asp::GroundProgram& ground, const NormalProgram& program, const Choices& choices,
            const Positions& positions, Definitions& definitions)
      : ground_(ground),
        program_(program),
        choices_(choices),
        positions_(positions),
        definitions_(definitions),
        formulas_(definitions.formulas) {}

  Constraints run() {
    for (std::size_t k = 0; k < program_.constraints.size(); ++k) {
      const NormalRule& rule = program_.constraints[k];
      if (!choices_.constraint_is_bound[k]) add(rule.statement, conjuncts(rule));
    }
    add_support();
    add_unpicked();
    int first_clue = static_cast<int>(ground_.statements.size());
    for (const auto& [atom, statement] : program_.clues) {
      if (statement >= 0) first_clue = std::min(first_clue, statement);
      add(kFacts, {formulas_.negation(definitions_.of_atom[atom])});
    }
    name_families(first_clue);
    return std::move(result_);
  }

 private:
  std::vector<Formula> conjuncts(const NormalRule& rule) {
    if (rule.sum) return {definitions_.body(rule)};
    std::vector<Formula> body;
    for (const asp::WeightedLit& literal : rule.body) body.push_back(definitions_.of(literal.lit));
    return body;
  }

  // A chosen atom holds only if a choice that offers it fires.
  void add_support() {
    std::vector<char> clue(program_.truth.size(), 0);
    for (const auto& [atom, statement] : program_.clues) clue[atom] = 1;
    for (Atom atom = 1; atom < program_.truth.size(); ++atom) {
      if (!program_.chosen(atom) || clue[atom]) continue;
      std::vector<Formula> bodies;
      for (const int rule : program_.choices_of[atom]) {
        bodies.push_back(definitions_.body(program_.choices[static_cast<std::size_t>(rule)]));
      }
      const Formula support = formulas_.disjunction(bodies);
      if (support == kTrue) continue;
      const int group = positions_.group[static_cast<std::size_t>(positions_.place[atom].position)];
      add(choices_.groups[static_cast<std::size_t>(group)].statement,
          {definitions_.of_atom[atom], formulas_.negation(support)});
    }
  }

  // A conditional position is picked if its body holds.
  void add_unpicked() {
    for (std::size_t p = 0; p < positions_.positions.size(); ++p) {
      const ChoiceGroup& group = choices_.groups[static_cast<std::size_t>(positions_.group[p])];
      if (group.boolean || group.body.empty()) continue;
      const int unpicked = static_cast<int>(positions_.positions[p].symbols.size()) - 1;
      std::vector<Formula> body = {formulas_.set(static_cast<int>(p), {unpicked})};
      for (const asp::Lit lit : group.body) body.push_back(definitions_.of(lit));
      add(group.statement, body);
    }
  }

  bool named(Formula formula) const {
    return static_cast<std::size_t>(formula.id) < definitions_.has_name.size() &&
           definitions_.has_name[static_cast<std::size_t>(formula.id)] != 0;
  }

  std::vector<Formula> inputs_of(Formula formula) {
    std::vector<Formula> inputs = formulas_[formula.id].inputs;
    if (formula.negated) {
      for (Formula& input : inputs) input = formulas_.negation(input);
    }
    return inputs;
  }

  bool is(Formula formula, bool conjunctive) const {
    const FormulaKind kind = formulas_[formula.id].kind;
    return kind == (conjunctive != formula.negated ? FormulaKind::kConjunction : FormulaKind::kDisjunction);
  }

  // Opens nested conjunctions and merges literals until nothing changes. Returns no value if the body can
  // never hold.
  std::optional<std::vector<Formula>> opened(std::vector<Formula> body) {
    while (true) {
      std::optional<std::vector<Formula>> merged = formulas_.merged(true, body);
      if (!merged) return std::nullopt;
      body.clear();
      bool changed = false;
      std::size_t size = merged->size();
      for (const Formula formula : *merged) {
        const std::size_t inputs = formulas_[formula.id].inputs.size();
        if (is(formula, true) && size + inputs <= kMostLiterals) {
          const std::vector<Formula> inner = inputs_of(formula);
          body.insert(body.end(), inner.begin(), inner.end());
          size += inputs;
          changed = true;
        } else {
          body.push_back(formula);
        }
      }
      if (!changed) return body;
    }
  }

  void add(int statement, const std::vector<Formula>& body) {
    ++ground_count_[statement];
    std::vector<std::vector<Formula>> open = {body};
    std::vector<std::vector<Formula>> done;
    while (!open.empty()) {
      std::optional<std::vector<Formula>> instance = opened(std::move(open.back()));
      open.pop_back();
      if (!instance) continue;
      const auto alternatives = std::find_if(instance->begin(), instance->end(), [&](Formula formula) {
        return is(formula, false) && !named(formula) &&
               open.size() + done.size() + formulas_[formula.id].inputs.size() <= kMostInstances;
      });
      if (alternatives == instance->end()) {
        done.push_back(std::move(*instance));
        continue;
      }
      for (const Formula alternative : inputs_of(*alternatives)) {
        std::vector<Formula> next = *instance;
        next[static_cast<std::size_t>(alternatives - instance->begin())] = alternative;
        open.push_back(std::move(next));
      }
    }
    for (std::vector<Formula>& instance : done) result_.instances.push_back({statement, std::move(instance)});
  }

  std::string unique(const std::string& name) {
    int& uses = uses_[name];
    return ++uses == 1 ? name : name + "#" + std::to_string(uses);
  }

  void add_family(int statement, Family family, bool may_be_empty) {
    family_of_[statement] = static_cast<int>(result_.families.size());
    family.name = unique(family.name);
    result_.families.push_back(std::move(family));
    result_.may_be_empty.push_back(may_be_empty);
    result_.ground_instances.push_back(ground_count_[statement]);
  }

  // Families in source order; statements of instances become family indices.
  void name_families(int first_clue) {
    std::set<int> used;
    for (const Instance& instance : result_.instances) used.insert(instance.family);
    if (used.count(-1) > 0) add_family(-1, {"constraint", {}, ""}, false);
    for (int k = 0; k <= static_cast<int>(ground_.statements.size()); ++k) {
      if (k == first_clue && used.count(kFacts) > 0) {
        Family facts{"facts", {}, ""};
        if (k < static_cast<int>(ground_.statements.size())) {
          facts.location = ground_.statements[static_cast<std::size_t>(k)].location;
          facts.text = ground_.statements[static_cast<std::size_t>(k)].text;
        }
        add_family(kFacts, std::move(facts), false);
      }
      if (k == static_cast<int>(ground_.statements.size())) break;
      const asp::Statement& statement = ground_.statements[static_cast<std::size_t>(k)];
      const bool constraint = statement.kind == StatementKind::kConstraint;
      if (constraint || used.count(k) > 0)
        add_family(k, {statement.name, statement.location, statement.text}, constraint);
    }
    for (Instance& instance : result_.instances) instance.family = family_of_[instance.family];
  }

  const asp::GroundProgram& ground_;
  const NormalProgram& program_;
  const Choices& choices_;
  const Positions& positions_;
  Definitions& definitions_;
  Formulas& formulas_;
  Constraints result_;
  std::map<int, int> ground_count_;
  std::map<int, int> family_of_;
  std::map<std::string, int> uses_;
};

}  // namespace

Constraints collect_constraints(const asp::GroundProgram& ground, const NormalProgram& program,
                                const Choices& choices, const Positions& positions,
                                Definitions& definitions) {
  return Collector(ground, program, choices, positions, definitions).run();
}

}  // namespace as2::compile
