#include "compile/definitions.h"

#include <algorithm>
#include <cstdlib>

#include "compile/refusals.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::Lit;
using asp::WeightedLit;

Atom atom_of(Lit lit) {
  return static_cast<Atom>(std::abs(lit));
}

// Tarjan's components with an explicit stack: programs may chain tens of thousands of rules.
class ComponentFinder {
 public:
  explicit ComponentFinder(const NormalProgram& program)
      : program_(program),
        index_(program.truth.size(), 0),
        low_(program.truth.size(), 0),
        on_stack_(program.truth.size(), 0) {}

  std::vector<std::vector<Atom>> run() {
    for (Atom atom = 1; atom < index_.size(); ++atom) {
      if (index_[atom] == 0 && program_.truth[atom] == Truth::kUnknown) visit(atom);
    }
    return std::move(components_);
  }

  std::vector<Atom> successors(Atom atom) const {
    std::vector<Atom> result;
    const auto add = [&](const NormalRule& rule) {
      for (const WeightedLit& literal : rule.body) result.push_back(atom_of(literal.lit));
    };
    for (const int rule : program_.rules_of[atom]) add(program_.rules[static_cast<std::size_t>(rule)]);
    for (const int rule : program_.choices_of[atom]) add(program_.choices[static_cast<std::size_t>(rule)]);
    return result;
  }

 private:
  struct Frame {
    Atom atom;
    std::vector<Atom> successors;
    std::size_t next = 0;
  };

  void enter(Atom atom) {
    index_[atom] = low_[atom] = ++counter_;
    stack_.push_back(atom);
    on_stack_[atom] = 1;
    frames_.push_back({atom, successors(atom)});
  }

  void visit(Atom root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const Atom atom = frame.atom;
      if (frame.next < frame.successors.size()) {
        const Atom next = frame.successors[frame.next++];
        if (index_[next] == 0) {
          enter(next);
        } else if (on_stack_[next]) {
          low_[atom] = std::min(low_[atom], index_[next]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().atom] = std::min(low_[frames_.back().atom], low_[atom]);
      if (low_[atom] == index_[atom]) close(atom);
    }
  }

  void close(Atom root) {
    std::vector<Atom> component;
    Atom atom = 0;
    do {
      atom = stack_.back();
      stack_.pop_back();
      on_stack_[atom] = 0;
      component.push_back(atom);
    } while (atom != root);
    std::sort(component.begin(), component.end());
    components_.push_back(std::move(component));
  }

  const NormalProgram& program_;
  std::vector<int> index_;
  std::vector<int> low_;
  std::vector<char> on_stack_;
  std::vector<Atom> stack_;
  std::vector<Frame> frames_;
  std::vector<std::vector<Atom>> components_;
  int counter_ = 0;
};

bool contains(const std::vector<Atom>& sorted, Atom atom) {
  return std::binary_search(sorted.begin(), sorted.end(), atom);
}

void check_recursion(const asp::GroundProgram& ground, const NormalProgram& program,
                     const std::vector<Atom>& component) {
  for (const Atom atom : component) {
    if (program.chosen(atom)) refuse_choice_cycle(ground, component);
  }
  for (const Atom atom : component) {
    for (const int index : program.rules_of[atom]) {
      const NormalRule& rule = program.rules[static_cast<std::size_t>(index)];
      for (const WeightedLit& literal : rule.body) {
        if (!contains(component, atom_of(literal.lit))) continue;
        if (rule.sum) refuse_aggregate_cycle(ground, component);
        if (literal.lit < 0) refuse_negation_cycle(ground, component);
      }
    }
  }
}

}  // namespace

std::vector<Stratum> find_strata(const asp::GroundProgram& ground, const NormalProgram& program) {
  ComponentFinder finder(program);
  std::vector<Stratum> strata;
  for (std::vector<Atom>& component : finder.run()) {
    const std::vector<Atom> successors = finder.successors(component.front());
    Stratum stratum;
    stratum.recursive = component.size() > 1 || std::find(successors.begin(), successors.end(),
                                                          component.front()) != successors.end();
    if (stratum.recursive) check_recursion(ground, program, component);
    if (program.chosen(component.front())) continue;
    stratum.atoms = std::move(component);
    strata.push_back(std::move(stratum));
  }
  return strata;
}

Formula Definitions::of(Lit lit) {
  const Formula formula = of_atom[atom_of(lit)];
  return lit > 0 ? formula : formulas.negation(formula);
}

Formula Definitions::body(const NormalRule& rule) {
  if (rule.sum) {
    std::vector<WeightedFormula> inputs;
    for (const WeightedLit& literal : rule.body) inputs.push_back({of(literal.lit), literal.weight});
    return formulas.test(inputs, at_least(rule.bound));
  }
  std::vector<Formula> inputs;
  for (const WeightedLit& literal : rule.body) inputs.push_back(of(literal.lit));
  return formulas.conjunction(inputs);
}

namespace {

std::vector<Formula> recursive_formulas(Definitions& definitions, const NormalProgram& program,
                                        const std::vector<Atom>& atoms) {
  RecursiveComponent members(atoms.size());
  for (std::size_t member = 0; member < atoms.size(); ++member) {
    for (const int index : program.rules_of[atoms[member]]) {
      const NormalRule& rule = program.rules[static_cast<std::size_t>(index)];
      RecursiveRule recursive;
      std::vector<Formula> outside;
      if (rule.sum) {
        outside.push_back(definitions.body(rule));
      } else {
        for (const WeightedLit& literal : rule.body) {
          const auto place = std::lower_bound(atoms.begin(), atoms.end(), atom_of(literal.lit));
          if (place != atoms.end() && *place == atom_of(literal.lit)) {
            recursive.inside.push_back(static_cast<int>(place - atoms.begin()));
          } else {
            outside.push_back(definitions.of(literal.lit));
          }
        }
      }
      std::optional<std::vector<Formula>> merged = definitions.formulas.merged(true, outside);
      if (!merged) continue;
      recursive.outside = std::move(*merged);
      members[member].push_back(std::move(recursive));
    }
  }
  return definitions.formulas.recursive(members);
}

}  // namespace

Definitions build_definitions(const asp::GroundProgram& ground, const NormalProgram& program,
                              const Positions& positions, const std::vector<Stratum>& strata) {
  std::vector<int> sizes;
  for (const Position& position : positions.positions)
    sizes.push_back(static_cast<int>(position.symbols.size()));
  Definitions result;
  result.formulas = Formulas(std::move(sizes));
  result.of_atom.assign(program.truth.size(), kFalse);
  // Atoms of positions first and in the positions' order, so that equal programs get equal circuits.
  for (std::size_t position = 0; position < positions.positions.size(); ++position) {
    const std::size_t symbols = positions.positions[position].symbols.size();
    for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
      result.formulas.set(static_cast<int>(position), {static_cast<int>(symbol)});
    }
  }
  for (Atom atom = 1; atom < program.truth.size(); ++atom) {
    if (program.truth[atom] == Truth::kAlways) result.of_atom[atom] = kTrue;
    if (!program.chosen(atom)) continue;
    const AtomPlace place = positions.place[atom];
    result.of_atom[atom] = result.formulas.set(place.position, {place.symbol});
  }
  for (const Stratum& stratum : strata) {
    if (stratum.recursive) {
      const std::vector<Formula> formulas = recursive_formulas(result, program, stratum.atoms);
      for (std::size_t k = 0; k < formulas.size(); ++k) result.of_atom[stratum.atoms[k]] = formulas[k];
      continue;
    }
    const Atom atom = stratum.atoms.front();
    std::vector<Formula> bodies;
    for (const int rule : program.rules_of[atom]) {
      bodies.push_back(result.body(program.rules[static_cast<std::size_t>(rule)]));
    }
    result.of_atom[atom] = result.formulas.disjunction(bodies);
  }
  result.has_name.assign(static_cast<std::size_t>(result.formulas.size()), 0);
  for (const Stratum& stratum : strata) {
    for (const Atom atom : stratum.atoms) {
      const Formula formula = result.of_atom[atom];
      if (atom >= ground.names.size() || ground.names[atom].empty() || formula.id == 0) continue;
      result.has_name[static_cast<std::size_t>(formula.id)] = 1;
      ++result.count;
    }
  }
  return result;
}

}  // namespace as2::compile
