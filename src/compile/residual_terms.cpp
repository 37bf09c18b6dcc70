#include "compile/residual_terms.h"

#include "compile/support.h"
#include "overloaded.h"

namespace as2::compile {
namespace {

class TermCounter {
 public:
  explicit TermCounter(const ConstraintProgram& program) : program_(program), support_(program) {
    for (const Position& position : program.positions)
      all_symbols_ += static_cast<std::int64_t>(position.symbols.size());
  }

  std::int64_t terms_of(const Group& group) {
    return std::visit(Overloaded{[&](const Slots& slots) {
                                   std::int64_t terms = 0;
                                   for (const Slot& slot : slots) terms += terms_of(slot.members);
                                   return terms;
                                 },
                                 [&](const Linears& linears) {
                                   std::int64_t terms = 0;
                                   for (const Linear& linear : linears) terms += terms_of(linear);
                                   return terms;
                                 },
                                 [&](const Nogoods& nogoods) {
                                   std::int64_t terms = 0;
                                   for (const Nogood& nogood : nogoods) terms += terms_of(nogood.literals);
                                   return terms;
                                 },
                                 [&](const DerivedNogoods& nogoods) {
                                   std::int64_t terms = 0;
                                   for (const DerivedNogood& nogood : nogoods)
                                     terms += terms_of(support_.positions_of(nogood.body));
                                   return terms;
                                 }},
                      group.content);
  }

 private:
  std::int64_t domain_size(int position) const {
    return static_cast<std::int64_t>(program_.positions[static_cast<std::size_t>(position)].symbols.size());
  }

  std::int64_t terms_of(const std::vector<SetLiteral>& literals) const {
    std::int64_t terms = 0;
    for (const SetLiteral& literal : literals) terms += static_cast<std::int64_t>(literal.symbols.size());
    return literals.empty() ? all_symbols_ : terms;
  }

  std::int64_t terms_of(const std::vector<int>& positions) const {
    std::int64_t terms = 0;
    for (const int position : positions) terms += domain_size(position);
    return positions.empty() ? all_symbols_ : terms;
  }

  std::int64_t terms_of(const Linear& linear) const {
    std::int64_t terms = linear.guard < 0 ? 0 : domain_size(linear.guard);
    for (const int position : program_.aggregates[static_cast<std::size_t>(linear.aggregate)].positions)
      terms += domain_size(position);
    return terms;
  }

  const ConstraintProgram& program_;
  SupportFinder support_;
  std::int64_t all_symbols_ = 0;
};

}  // namespace

std::vector<std::int64_t> residual_terms(const ConstraintProgram& program) {
  TermCounter counter(program);
  std::vector<std::int64_t> terms;
  for (const Group& group : program.groups) terms.push_back(counter.terms_of(group));
  return terms;
}

std::vector<FamilySummary> summarise_families(const ConstraintProgram& program) {
  std::vector<FamilySummary> result(program.families.size());
  const std::vector<std::int64_t> terms = residual_terms(program);
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const Group& group = program.groups[g];
    FamilySummary& family = result[static_cast<std::size_t>(group.family)];
    const std::string kind = group.kind();
    family.kind = family.groups == 0 || family.kind == kind ? kind : "mixed";
    ++family.groups;
    family.terms += terms[g];
  }
  return result;
}

}  // namespace as2::compile
