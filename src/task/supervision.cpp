#include "task/supervision.h"

#include <algorithm>
#include <set>

#include "as2/decoder.h"
#include "as2/error.h"
#include "compile/position_hints.h"
#include "infer/pictures.h"
#include "prob/observation.h"

namespace as2::task {
namespace {

using compile::ConstraintProgram;
using Kind = prob::Observable::Kind;

// Marks the positions that match; false: there is none.
bool mark_positions(const ConstraintProgram& program, const std::string& pattern, std::vector<char>& mask) {
  bool found = false;
  for (std::size_t position = 0; position < program.positions.size(); ++position) {
    if (!infer::matches(pattern, program.positions[position].name)) continue;
    mask[position] = found = true;
  }
  return found;
}

// Derived atoms whose text matches a pattern with `*`.
std::vector<ObservedAtom> derived_by_text(const ConstraintProgram& program, const std::string& pattern) {
  std::set<std::string> names, chosen;
  for (const compile::Node& node : program.nodes) names.insert(node.atom);
  for (const compile::ShownAtom& shown : program.shown) names.insert(shown.atom);
  names.erase("");
  for (const compile::Position& position : program.positions)
    chosen.insert(position.atoms.begin(), position.atoms.end());
  std::vector<ObservedAtom> atoms;
  for (const std::string& name : names) {
    if (chosen.count(name) == 0 && infer::matches(pattern, name))
      atoms.push_back({name, prob::parse_observation(program, name).at(0)});
  }
  return atoms;
}

std::vector<ObservedAtom> atoms_named(const ConstraintProgram& program, const std::string& pattern) {
  if (pattern.find('*') != std::string::npos) return derived_by_text(program, pattern);
  std::vector<ObservedAtom> atoms;
  for (auto& [name, about] : prob::matching_atoms(program, pattern)) atoms.push_back({name, about});
  return atoms;
}

// An atom of the program that the pattern names, to say so in a message; empty: none.
std::string named_atom(const ConstraintProgram& program, const std::string& pattern) {
  try {
    const std::vector<ObservedAtom> atoms = atoms_named(program, pattern);
    return atoms.empty() ? "" : atoms.front().name;
  } catch (const InputError&) {
    return "";  // no atom by its form
  }
}

std::string position_hint(const ConstraintProgram& program) {
  return compile::position_names(program) +
         "; `*` stands for any text, and `as2 check --show positions` lists them";
}

std::vector<char> labelled_positions(const ConstraintProgram& program,
                                     const std::vector<std::string>& patterns) {
  std::vector<char> mask(program.positions.size(), 0);
  for (const std::string& pattern : patterns) {
    if (mark_positions(program, pattern, mask)) continue;
    const std::string atom = named_atom(program, pattern);
    if (atom.empty())
      throw InputError("labels.positions: no position of the program matches '" + pattern + "'",
                       {position_hint(program)});
    throw InputError("labels.positions: '" + pattern + "' names the atom " + atom + ", not a position",
                     {"atoms are named in labels.observed, for losses.query", position_hint(program)});
  }
  return mask;
}

bool is_whole(const std::int16_t* labels, std::size_t positions) {
  return std::find(labels, labels + positions, -1) == labels + positions;
}

// The truth of each atom in every example whose labels leave one way to complete them; -1 in the others.
Table<std::int8_t> atoms_of_labels(const std::shared_ptr<const ConstraintProgram>& program,
                                   const std::vector<ObservedAtom>& atoms,
                                   const Table<std::int16_t>& labels) {
  constexpr std::int64_t kAtOnce = 1024;  // a query holds a belief for every symbol of every position
  const auto positions = static_cast<std::size_t>(labels.columns);
  const decode::Beliefs uniform(positions * static_cast<std::size_t>(program->max_symbols()), 1.0);
  Table<std::int8_t> truth(labels.rows, static_cast<std::int64_t>(atoms.size()), -1);
  const decode::Decoder decoder(program);
  decode::DecodeOptions options;
  options.models = 2;
  options.minimal_conflict = false;
  for (std::int64_t first = 0; first < labels.rows; first += kAtOnce) {
    const std::int64_t end = std::min(first + kAtOnce, labels.rows);
    std::vector<decode::Query> queries;  // of the examples whose labels leave positions open
    for (std::int64_t n = first; n < end; ++n) {
      if (is_whole(labels[n], positions)) continue;
      decode::Query& query = queries.emplace_back();
      query.beliefs = uniform;
      for (std::size_t i = 0; i < positions; ++i) {
        if (labels[n][i] >= 0) query.pins.push_back({static_cast<int>(i), labels[n][i]});
      }
    }
    const std::vector<decode::Decoded> decoded = decoder.decode_batch(queries, options);
    auto completed = decoded.begin();
    for (std::int64_t n = first; n < end; ++n) {
      compile::Assignment answer(labels[n], labels[n] + positions);
      if (!is_whole(labels[n], positions)) {
        const std::vector<decode::Model>& models = (completed++)->models;
        if (models.size() != 1) continue;
        answer = models[0].assignment;
      }
      const std::vector<char> nodes = compile::evaluate_nodes(*program, answer);
      for (std::size_t a = 0; a < atoms.size(); ++a)
        truth[n][a] = prob::holds({atoms[a].about}, answer, nodes) ? 1 : 0;
    }
  }
  return truth;
}

}  // namespace

Supervision read_supervision(const ConstraintProgram& program, const std::vector<std::string>& labelled,
                             const std::vector<std::string>& observed, LabelPlace place) {
  Supervision supervision;
  supervision.place = place;
  supervision.labelled = labelled_positions(program, labelled);
  supervision.observed.assign(program.positions.size(), 0);
  std::set<std::string> seen;
  for (const std::string& pattern : observed) {
    bool found = mark_positions(program, pattern, supervision.observed), constant = false;
    if (found && pattern.find('*') == std::string::npos) continue;  // a position's own name
    for (ObservedAtom& atom : atoms_named(program, pattern)) {
      if (atom.about.kind == Kind::kNever || atom.about.kind == Kind::kAlways) {
        constant = true;
        continue;
      }
      found = true;
      if (seen.insert(atom.name).second) supervision.atoms.push_back(std::move(atom));
    }
    if (found) continue;
    if (constant)
      throw InputError("labels.observed: what '" + pattern + "' names holds always or never",
                       {"observing it says nothing about any picture"});
    throw InputError(
        "labels.observed: the program has no position and no atom that matches '" + pattern + "'",
        {"name a derived atom, total(7), or a whole family of them, total(_)", position_hint(program)});
  }
  return supervision;
}

Instances supervised(const std::shared_ptr<const ConstraintProgram>& program, const Supervision& supervision,
                     const Instances& instances, bool use_all) {
  Instances whole = instances.completed();
  const bool says = instances.observed.defined();
  for (std::int64_t n = 0; n < whole.size(); ++n) {
    for (std::int64_t i = 0; i < whole.positions(); ++i) {
      const bool given = whole.evidence[n][i] != 0;
      const bool may = supervision.place == LabelPlace::kEverywhere ||
                       given == (supervision.place == LabelPlace::kEvidence);
      const auto position = static_cast<std::size_t>(i);
      if (!says) whole.observed[n][i] = whole.known[n][i] && supervision.observed[position] && may;
      if (!use_all) whole.known[n][i] = whole.known[n][i] && supervision.labelled[position] && may;
    }
  }
  if (!says && !supervision.atoms.empty())
    whole.atoms = atoms_of_labels(program, supervision.atoms, whole.labels);
  return whole;
}

}  // namespace as2::task
