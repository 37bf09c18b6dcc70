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
constexpr int kFounded = -3;

class Collector {
 public:
  Collector(const asp::GroundProgram& ground, const NormalProgram& program, const Guesses& guesses,
            const Choices& choices, const Positions& positions, Definitions& definitions)
      : ground_(ground),
        program_(program),
        guesses_(guesses),
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

  // An atom with a position holds only if something supports it, and does if a rule derives it.
  void add_support() {
    for (Atom atom = 1; atom < program_.truth.size(); ++atom) {
      if (!guesses_.positioned(program_, atom) || program_.clue[atom]) continue;
      const Formula holds = definitions_.of_atom[atom];
      const bool loop = guesses_.loop[atom] >= 0;
      const bool plain_choice = !loop && program_.rules_of[atom].empty();
      const int group = positions_.group[static_cast<std::size_t>(positions_.place[atom].position)];
      const int family = plain_choice ? choices_.groups[static_cast<std::size_t>(group)].statement : kFounded;
      const Formula support = loop ? definitions_.derived[atom] : supported(atom);
      if (support != kTrue) add(family, {holds, formulas_.negation(support)});
      for (const int rule : program_.rules_of[atom]) {
        std::vector<Formula> body = conjuncts(program_.rules[static_cast<std::size_t>(rule)]);
        body.push_back(formulas_.negation(holds));
        add(family, body);
      }
    }
  }

  // The bodies of all rules and choices with this head.
  Formula supported(Atom atom) {
    std::vector<Formula> bodies;
    for (const int rule : program_.rules_of[atom])
      bodies.push_back(definitions_.body(program_.rules[static_cast<std::size_t>(rule)]));
    for (const int rule : program_.choices_of[atom])
      bodies.push_back(definitions_.body(program_.choices[static_cast<std::size_t>(rule)]));
    return formulas_.disjunction(bodies);
  }

  // A conditional position is picked if its body holds.
  void add_unpicked() {
    for (std::size_t p = 0; p < positions_.positions->size(); ++p) {
      const ChoiceGroup& group = choices_.groups[static_cast<std::size_t>(positions_.group[p])];
      if (group.boolean || group.body.empty()) continue;
      const int unpicked = static_cast<int>((*positions_.positions)[p].symbols.size()) - 1;
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

  // What is left of a disjunction beside these sets: alternatives they contradict are dropped, and one they
  // imply makes it true.
  Formula beside(Formula disjunction, const std::vector<Formula>& conjuncts) {
    std::vector<Formula> left;
    bool changed = false;
    for (const Formula alternative : inputs_of(disjunction)) {
      const SetLiteral& set = formulas_[alternative.id].set;
      const auto known = std::find_if(conjuncts.begin(), conjuncts.end(), [&](Formula conjunct) {
        return is_set(alternative) && is_set(conjunct) && formulas_[conjunct.id].set.position == set.position;
      });
      if (known == conjuncts.end()) {
        left.push_back(alternative);
        continue;
      }
      const Formula both = formulas_.conjunction({*known, alternative});
      if (both == *known) return kTrue;
      if (both == kFalse) {
        changed = true;
      } else {
        left.push_back(alternative);
      }
    }
    return changed ? formulas_.disjunction(left) : disjunction;
  }

  bool is_set(Formula formula) const { return formulas_[formula.id].kind == FormulaKind::kSet; }

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
        } else if (is(formula, false)) {
          body.push_back(beside(formula, *merged));
          changed |= body.back() != formula;
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
    if (used.count(kFounded) > 0) add_family(kFounded, {"founded", founded_location(), ""}, false);
    for (Instance& instance : result_.instances) instance.family = family_of_[instance.family];
  }

  // Where the first of what must be founded is derived or chosen.
  SourceLocation founded_location() const {
    int first = static_cast<int>(ground_.statements.size());
    for (std::size_t p = 0; p < positions_.positions->size(); ++p) {
      const ChoiceGroup& group = choices_.groups[static_cast<std::size_t>(positions_.group[p])];
      const bool founded = std::any_of(group.atoms.begin(), group.atoms.end(), [&](Atom atom) {
        return guesses_.loop[atom] >= 0 || !program_.rules_of[atom].empty();
      });
      if (founded && group.statement >= 0) first = std::min(first, group.statement);
    }
    if (first < static_cast<int>(ground_.statements.size()))
      return ground_.statements[static_cast<std::size_t>(first)].location;
    SourceLocation whole;
    whole.file = ground_.file;
    whole.line = 1;
    return whole;
  }

  const asp::GroundProgram& ground_;
  const NormalProgram& program_;
  const Guesses& guesses_;
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
                                const Guesses& guesses, const Choices& choices, const Positions& positions,
                                Definitions& definitions) {
  return Collector(ground, program, guesses, choices, positions, definitions).run();
}

}  // namespace as2::compile
