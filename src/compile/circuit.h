// Passes `objectives`, `shown` and `circuit`: what depends on definitions, and the nodes that decide it.
#pragma once

#include <vector>

#include "as2/constraint_program.h"
#include "compile/constraints.h"

namespace as2::compile {

struct FormulaCost {
  std::int64_t weight = 0;
  Formula condition;
  int statement = 0;
};

struct Objectives {
  std::vector<Family> statements;
  std::vector<std::pair<std::int32_t, std::vector<FormulaCost>>> levels;  // highest priority first
};
Objectives collect_objectives(const asp::GroundProgram& ground, Definitions& definitions);

// Atoms and the formulas that say whether they are shown, in clingo's term order.
std::vector<std::pair<std::string, Formula>> collect_shown(const asp::GroundProgram& ground,
                                                           Definitions& definitions);

// The nodes that constraints, objectives and shown atoms need.
class Circuit {
 public:
  Circuit(const asp::GroundProgram& ground, const Positions& positions, const Definitions& definitions);

  // Marks a formula, and all it needs, as needed.
  void need(Formula formula);
  // Writes the nodes into the program; then `ref` may be asked.
  void write(ConstraintProgram& program);
  // The node of a formula; {-1, negated} for a constant.
  NodeRef ref(Formula formula) const;

 private:
  NodeContent content_of(const FormulaBody& body) const;
  void write_component(int component, int first, ConstraintProgram& program);

  const Formulas& formulas_;
  std::vector<char> needed_;
  std::vector<int> node_of_;
  std::vector<std::string> atom_of_;  // per formula: the first atom that says it
};

}  // namespace as2::compile
