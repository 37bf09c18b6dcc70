#include "infer/pooled_position.h"

#include <set>

namespace as2::infer {

int pooled_position(const compile::ConstraintProgram& program) {
  std::set<int> guards;
  for (const auto& group : program.groups) {
    const auto* linears = std::get_if<compile::Linears>(&group.content);
    if (linears == nullptr) continue;
    for (const auto& linear : *linears) guards.insert(linear.guard);
  }
  if (guards.size() != 1 || *guards.begin() < 0)
    throw InputError("a pooled head needs a program whose sums all guard one position, as addition's total",
                     {"set model.reasoner.pooled = false"});
  return *guards.begin();
}

}  // namespace as2::infer
