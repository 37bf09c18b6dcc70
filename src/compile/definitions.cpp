#include "compile/definitions.h"

#include <algorithm>
#include <cstdlib>

#include "compile/graph.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::atom_of;
using asp::Lit;
using asp::WeightedLit;

}  // namespace

std::vector<Stratum> find_strata(const NormalProgram& program, const Guesses& guesses) {
  const auto derives = [&](Atom atom) {
    return program.truth[atom] == Truth::kUnknown &&
           (guesses.loop[atom] >= 0 || !guesses.positioned(program, atom));
  };
  std::vector<std::pair<int, int>> edges;
  for (Atom atom = 1; atom < program.truth.size(); ++atom) {
    if (!derives(atom)) continue;
    const auto add = [&](const std::vector<NormalRule>& rules, const std::vector<int>& indices) {
      for (const int index : indices) {
        for (const WeightedLit& literal : rules[static_cast<std::size_t>(index)].body) {
          if (guesses.inside_loop(atom, literal.lit) || !guesses.positioned(program, atom_of(literal.lit)))
            edges.emplace_back(static_cast<int>(atom), static_cast<int>(atom_of(literal.lit)));
        }
      }
    };
    add(program.rules, program.rules_of[atom]);
    add(program.choices, program.choices_of[atom]);
  }
  const Components components = components_of(Graph(static_cast<int>(program.truth.size()), edges));
  std::vector<Stratum> strata(components.is_cycle.size());
  for (Atom atom = 1; atom < program.truth.size(); ++atom) {
    if (derives(atom)) strata[static_cast<std::size_t>(components.of[atom])].atoms.push_back(atom);
  }
  for (std::size_t k = 0; k < strata.size(); ++k) strata[k].recursive = components.is_cycle[k] != 0;
  strata.erase(std::remove_if(strata.begin(), strata.end(),
                              [](const Stratum& stratum) { return stratum.atoms.empty(); }),
               strata.end());
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

// The least solution of a loop's rules. What a choice offers is derived if it is picked.
std::vector<Formula> recursive_formulas(Definitions& definitions, const NormalProgram& program,
                                        const Guesses& guesses, const std::vector<Atom>& atoms) {
  RecursiveComponent members(atoms.size());
  for (std::size_t member = 0; member < atoms.size(); ++member) {
    const Atom head = atoms[member];
    const auto add = [&](const NormalRule& rule) {
      RecursiveRule recursive;
      std::vector<Formula> outside;
      if (rule.choice) outside.push_back(definitions.of_atom[head]);
      if (rule.sum) outside.push_back(definitions.body(rule));
      for (const WeightedLit& literal : rule.sum ? std::vector<WeightedLit>() : rule.body) {
        if (guesses.inside_loop(head, literal.lit)) {
          const auto place = std::lower_bound(atoms.begin(), atoms.end(), atom_of(literal.lit));
          recursive.inside.push_back(static_cast<int>(place - atoms.begin()));
        } else {
          outside.push_back(definitions.of(literal.lit));
        }
      }
      std::optional<std::vector<Formula>> merged = definitions.formulas.merged(true, outside);
      if (!merged) return;
      recursive.outside = std::move(*merged);
      members[member].push_back(std::move(recursive));
    };
    for (const int index : program.rules_of[head]) add(program.rules[static_cast<std::size_t>(index)]);
    for (const int index : program.choices_of[head]) add(program.choices[static_cast<std::size_t>(index)]);
  }
  return definitions.formulas.recursive(members);
}

}  // namespace

Definitions build_definitions(const asp::GroundProgram& ground, const NormalProgram& program,
                              const Guesses& guesses, const Positions& positions,
                              const std::vector<Stratum>& strata) {
  std::vector<int> sizes;
  for (const Position& position : *positions.positions)
    sizes.push_back(static_cast<int>(position.symbols.size()));
  Definitions result;
  result.formulas = Formulas(std::move(sizes));
  result.of_atom.assign(program.truth.size(), kFalse);
  result.derived.assign(program.truth.size(), kFalse);
  // Atoms of positions first and in the positions' order, so that equal programs get equal circuits.
  for (std::size_t position = 0; position < positions.positions->size(); ++position) {
    const std::size_t symbols = (*positions.positions)[position].symbols.size();
    for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
      result.formulas.set(static_cast<int>(position), {static_cast<int>(symbol)});
    }
  }
  for (Atom atom = 1; atom < program.truth.size(); ++atom) {
    if (program.truth[atom] == Truth::kAlways) result.of_atom[atom] = kTrue;
    if (!guesses.positioned(program, atom)) continue;
    const AtomPlace place = positions.place[atom];
    result.of_atom[atom] = result.formulas.set(place.position, {place.symbol});
  }
  for (const Stratum& stratum : strata) {
    if (stratum.recursive) {
      const std::vector<Formula> formulas = recursive_formulas(result, program, guesses, stratum.atoms);
      for (std::size_t k = 0; k < formulas.size(); ++k) {
        result.derived[stratum.atoms[k]] = formulas[k];
        if (!guesses.positioned(program, stratum.atoms[k])) result.of_atom[stratum.atoms[k]] = formulas[k];
      }
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
      if (guesses.positioned(program, atom)) continue;
      result.has_name[static_cast<std::size_t>(formula.id)] = 1;
      ++result.count;
    }
  }
  return result;
}

}  // namespace as2::compile
