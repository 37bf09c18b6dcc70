#include "compile/passes.h"

#include <algorithm>
#include <cstdlib>

#include "compile/dump.h"
#include "compile/groups.h"
#include "compile/shift.h"
#include "stop.h"

namespace as2::compile {
namespace {

// The cycle behind a guess without gringo's auxiliary atoms; a negation passes on to the next that has a
// name.
std::vector<std::string> named_literals(const asp::GroundProgram& ground, const GuessedAtom& guess) {
  std::vector<std::string> result;
  if (!guess.cycle.empty()) result.push_back(ground.names[guess.atom]);
  bool negated = false;
  for (const asp::Lit lit : guess.cycle) {
    negated = negated != (lit < 0);
    const auto atom = static_cast<std::size_t>(std::abs(lit));
    if (atom >= ground.names.size() || ground.names[atom].empty()) continue;
    result.push_back((negated ? "not " : "") + ground.names[atom]);
    negated = false;
  }
  return result;
}

void run_positions(Compilation& c) {
  ConstraintProgram& program = c.result.program;
  c.positions = name_positions(c.ground, c.choices, program.positions);
  for (const Position& position : program.positions) {
    for (const std::string& atom : position.atoms) program.atoms += atom.empty() ? 0 : 1;
  }
  for (const GuessedAtom& guessed : c.guesses.atoms) {
    Guess guess;
    guess.position = c.positions.place[guessed.atom].position;
    if (!program.positions[static_cast<std::size_t>(guess.position)].guess) continue;
    guess.reason = guessed.reason;
    guess.cycle = named_literals(c.ground, guessed);
    program.guesses.push_back(std::move(guess));
  }
  std::sort(program.guesses.begin(), program.guesses.end(),
            [](const Guess& a, const Guess& b) { return a.position < b.position; });
}

void run_choices(Compilation& c) {
  c.choices = find_choices(c.ground, c.normal, c.guesses);
  for (const auto& [rival, declares] : c.choices.rivals) {
    if (rival < 0 || declares < 0) continue;
    const asp::Statement& other = c.ground.statements[static_cast<std::size_t>(rival)];
    const asp::Statement& first = c.ground.statements[static_cast<std::size_t>(declares)];
    c.result.notes.push_back(
        {other.location, "`" + other.text + "` could declare the positions too; line " +
                             std::to_string(first.location.line) +
                             " comes first and declares them, so this is a constraint on them. Put this "
                             "statement first to have it the other way round."});
  }
}

void run_definitions(Compilation& c) {
  c.definitions = build_definitions(c.ground, c.normal, c.guesses, c.positions, c.strata);
  c.result.program.definitions = c.definitions.count;
}

void run_constraints(Compilation& c) {
  c.constraints = collect_constraints(c.ground, c.normal, c.guesses, c.choices, c.positions, c.definitions);
  c.result.program.families = c.constraints.families;
  // No later pass reads them, and they are a large part of the memory.
  c.normal = {};
  c.choices = {};
  c.strata = {};
}

void run_circuit(Compilation& c) {
  ConstraintProgram& program = c.result.program;
  NodeWriter& nodes = c.nodes.emplace(c.ground, c.positions, c.definitions);
  for (const Kinds& family : c.kinds) {
    for (const auto& body : family.deriveds) {
      for (const Formula formula : body) nodes.need(formula);
    }
  }
  for (const auto& level : c.objectives.levels) {
    for (const FormulaCost& cost : level.second) nodes.need(cost.condition);
  }
  for (const auto& shown : c.shown) nodes.need(shown.second);
  nodes.write(program);

  program.objective_statements = c.objectives.statements;
  for (const auto& [priority, costs] : c.objectives.levels) {
    ObjectiveLevel level;
    level.priority = priority;
    for (const FormulaCost& cost : costs)
      level.costs.push_back({cost.weight, nodes.ref(cost.condition), cost.statement});
    program.objectives.push_back(std::move(level));
  }
  for (const auto& [atom, condition] : c.shown) program.shown.push_back({atom, nodes.ref(condition)});
}

// Warns of a family that nothing satisfies or that everything satisfies (a family without ground instances
// was warned of during grounding).
void warn(Compilation& c) {
  const ConstraintProgram& program = c.result.program;
  std::vector<int> groups(program.families.size(), 0);
  std::vector<char> hopeless(program.families.size(), 0);
  for (const Group& group : program.groups) {
    ++groups[static_cast<std::size_t>(group.family)];
    if (group.positions.empty()) hopeless[static_cast<std::size_t>(group.family)] = 1;
  }
  for (std::size_t k = 0; k < program.families.size(); ++k) {
    const Family& family = program.families[k];
    std::string message;
    if (hopeless[k]) {
      message = "`" + family.name + "` is violated whatever is chosen: the program has no answer set";
    } else if (groups[k] == 0 && c.constraints.ground_instances[k] > 0) {
      message = "`" + family.name + "` holds whatever is chosen: it constrains nothing";
    }
    if (!message.empty()) c.result.warnings.push_back({family.location, message});
  }
}

void run_groups(Compilation& c) {
  write_groups(c.kinds, c.definitions, *c.nodes, c.result.program);
  warn(c);
}

}  // namespace

const std::vector<Pass>& passes() {
  static const std::vector<Pass> kPasses = {
      {"normalise", "facts and what follows from them fold away; clues are kept apart",
       [](Compilation& c) { c.normal = normalise(c.ground); }, dump_normal},
      {"shift", "rules with several heads become choices, or rules with one head",
       [](Compilation& c) { shift_disjunctions(c.ground, c.normal); }, dump_normal},
      {"guesses",
       "atoms that cannot be computed from what is chosen become positions, as few as can be found",
       [](Compilation& c) { c.guesses = find_guesses(c.ground, c.normal); }, dump_guesses},
      {"strata", "what must be derived, in the order of evaluation",
       [](Compilation& c) { c.strata = find_strata(c.normal, c.guesses); }, dump_strata},
      {"choices", "exactly-one choices are found, all other chosen atoms are Boolean", run_choices,
       dump_choices},
      {"positions", "positions get their names and stand in clingo's order", run_positions, dump_positions},
      {"definitions",
       "every atom as a formula; auxiliary atoms turn back into aggregates, equal ones are shared",
       run_definitions, dump_definitions},
      {"constraints", "ground constraints as conjunctions of sets, tests and definitions", run_constraints,
       dump_constraints},
      {"kinds", "nogoods, at-most-one, exactly-one, linear with guards, derived",
       [](Compilation& c) { c.kinds = classify(c.constraints, c.positions, c.definitions); }, dump_kinds},
      {"cliques", "pairwise nogoods become at-most-one, whole cliques at once",
       [](Compilation& c) { merge_cliques(c.kinds, c.positions, c.definitions); }, dump_kinds},
      {"exclusive", "per-symbol instances over the same positions become one group",
       [](Compilation& c) { merge_exclusive(c.kinds, c.positions, c.definitions); }, dump_kinds},
      {"objectives", "weak constraints and #minimize by priority",
       [](Compilation& c) { c.objectives = collect_objectives(c.ground, c.definitions); }, dump_objectives},
      {"shown", "the atoms clingo would show",
       [](Compilation& c) { c.shown = collect_shown(c.ground, c.definitions, c.result.program.hidden); },
       dump_shown},
      {"circuit", "the nodes that constraints, objectives and shown atoms need", run_circuit, dump_circuit},
      {"groups", "the compiled groups, by family", run_groups, dump_groups},
      {"hash", "a name for what the program means",
       [](Compilation& c) { c.result.program.hash = meaning_hash(c.result.program); },
       [](const Compilation& c) { return c.result.program.hash + "\n"; }},
  };
  return kPasses;
}

Compiled compile(const asp::GroundProgram& ground, const PassObserver& observe,
                 const std::atomic<bool>* stop) {
  Compilation compilation(ground);
  compilation.result.warnings = ground.warnings;
  compilation.result.files = ground.files;
  for (const Pass& pass : passes()) {
    throw_if_stopped(stop, "compiling the program");
    pass.run(compilation);
    if (observe) observe(pass.name, pass.dump(compilation));
  }
  return std::move(compilation.result);
}

Compiled compile_files(const std::vector<std::string>& files, const asp::GroundOptions& options) {
  return compile(asp::ground(files, options));
}

Compiled compile_text(const std::string& text, const std::string& name, const asp::GroundOptions& options) {
  return compile(asp::ground_text(text, name, options));
}

}  // namespace as2::compile
