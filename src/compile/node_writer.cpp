#include "compile/node_writer.h"

#include <algorithm>

namespace as2::compile {

using asp::Atom;

NodeWriter::NodeWriter(const asp::GroundProgram& ground, const Positions& positions,
                       const Definitions& definitions)
    : ground_(ground),
      formulas_(definitions.formulas),
      needed_(static_cast<std::size_t>(formulas_.size()), 0),
      node_of_(static_cast<std::size_t>(formulas_.size()), -1),
      atom_of_(static_cast<std::size_t>(formulas_.size()), 0) {
  // A node is named after the position's own atom rather than after a definition that says the same.
  for (const bool chosen : {true, false}) {
    for (Atom atom = 1; atom < ground.names.size(); ++atom) {
      const Formula formula = definitions.of_atom[atom];
      const bool is_chosen = atom < positions.place.size() && positions.place[atom].position >= 0;
      if (is_chosen != chosen || ground.names[atom].empty() || formula.id == 0 || formula.negated) continue;
      Atom& first = atom_of_[static_cast<std::size_t>(formula.id)];
      if (first == 0) first = atom;
    }
  }
}

void NodeWriter::need(Formula formula) {
  std::vector<int> open = {formula.id};
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (id == 0 || needed_[static_cast<std::size_t>(id)]) continue;
    needed_[static_cast<std::size_t>(id)] = 1;
    const FormulaBody& body = formulas_[id];
    for (const Formula input : body.inputs) open.push_back(input.id);
    if (body.kind == FormulaKind::kTest) {
      for (const WeightedFormula& input : formulas_.sum(body.sum).inputs) open.push_back(input.formula.id);
    }
    if (body.kind == FormulaKind::kRecursive) {
      const int first = id - body.member;
      const RecursiveComponent& component = formulas_.component(body.component);
      for (std::size_t member = 0; member < component.size(); ++member) {
        needed_[static_cast<std::size_t>(first) + member] = 1;
        for (const RecursiveRule& rule : component[member]) {
          for (const Formula input : rule.outside) open.push_back(input.id);
        }
      }
    }
  }
}

NodeRef NodeWriter::ref(Formula formula) const {
  return {formula.id == 0 ? -1 : node_of_[static_cast<std::size_t>(formula.id)], formula.negated};
}

NodeContent NodeWriter::content_of(const FormulaBody& body) const {
  if (body.kind == FormulaKind::kSet) return body.set;
  if (body.kind == FormulaKind::kTest) {
    const Sum& sum = formulas_.sum(body.sum);
    Bound bound;
    for (const WeightedFormula& input : sum.inputs) {
      bound.inputs.push_back(ref(input.formula));
      bound.weights.push_back(input.weight);
    }
    bound.allowed = affine(body.values, 1, -sum.constant);
    return bound;
  }
  std::vector<NodeRef> inputs;
  for (const Formula input : body.inputs) inputs.push_back(ref(input));
  if (body.kind == FormulaKind::kConjunction) return Conjunction{std::move(inputs)};
  return Disjunction{std::move(inputs)};
}

void NodeWriter::write_component(int component, int first, ConstraintProgram& program) {
  const RecursiveComponent& members = formulas_.component(component);
  const int begin = static_cast<int>(program.nodes.size());
  for (std::size_t member = 0; member < members.size(); ++member) {
    node_of_[static_cast<std::size_t>(first) + member] = begin + static_cast<int>(member);
    program.nodes.push_back({Disjunction{}, name_of(first + static_cast<int>(member))});
  }
  for (std::size_t member = 0; member < members.size(); ++member) {
    Disjunction alternatives;
    for (const RecursiveRule& rule : members[member]) {
      Conjunction body;
      for (const Formula input : rule.outside) body.inputs.push_back(ref(input));
      for (const int inside : rule.inside) body.inputs.push_back({begin + inside, false});
      if (body.inputs.size() == 1) {
        alternatives.inputs.push_back(body.inputs.front());
      } else {
        alternatives.inputs.push_back({static_cast<int>(program.nodes.size()), false});
        program.nodes.emplace_back();
        program.nodes.back().content = std::move(body);
      }
    }
    program.nodes[static_cast<std::size_t>(begin) + member].content = std::move(alternatives);
  }
  program.components.push_back({begin, static_cast<int>(program.nodes.size()), true});
}

void NodeWriter::write(ConstraintProgram& program) {
  program.nodes.reserve(static_cast<std::size_t>(std::count(needed_.begin(), needed_.end(), 1)));
  for (int id = 1; id < formulas_.size(); ++id) {
    if (!needed_[static_cast<std::size_t>(id)] || node_of_[static_cast<std::size_t>(id)] >= 0) continue;
    const FormulaBody& body = formulas_[id];
    if (body.kind == FormulaKind::kRecursive) {
      write_component(body.component, id, program);
      continue;
    }
    const int index = static_cast<int>(program.nodes.size());
    node_of_[static_cast<std::size_t>(id)] = index;
    program.nodes.push_back({content_of(body), name_of(id)});
    if (program.components.empty() || program.components.back().recursive) {
      program.components.push_back({index, index + 1, false});
    } else {
      program.components.back().end = index + 1;
    }
  }
}

}  // namespace as2::compile
