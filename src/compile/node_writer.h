// Pass `circuit`: the formulas that constraints, objectives and shown atoms need, written as nodes.
#pragma once

#include <string>
#include <vector>

#include "as2/constraint_program.h"
#include "compile/definitions.h"

namespace as2::compile {

class NodeWriter {
 public:
  NodeWriter(const asp::GroundProgram& ground, const Positions& positions, const Definitions& definitions);

  // Marks a formula, and all it needs, as needed.
  void need(Formula formula);
  // Writes the nodes into the program; then `ref` may be asked.
  void write(ConstraintProgram& program);
  // The node of a formula; {-1, negated} for a constant.
  NodeRef ref(Formula formula) const;

 private:
  NodeContent content_of(const FormulaBody& body) const;
  void write_component(int component, int first, ConstraintProgram& program);

  const std::string& name_of(int formula) const {
    return ground_.names[atom_of_[static_cast<std::size_t>(formula)]];
  }

  const asp::GroundProgram& ground_;
  const Formulas& formulas_;
  std::vector<char> needed_;
  std::vector<int> node_of_;
  std::vector<asp::Atom> atom_of_;  // per formula: the first atom that says it, or 0
};

}  // namespace as2::compile
