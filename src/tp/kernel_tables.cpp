#include "tp/kernel_tables.h"

#include <algorithm>
#include <map>

#include "overloaded.h"
#include "tp/chain_spec.h"

namespace as2::tp {
namespace {

std::int32_t size_of(const std::vector<std::int32_t>& values) {
  return static_cast<std::int32_t>(values.size());
}

}  // namespace

KernelTables::KernelTables(const compile::ConstraintProgram& program, const TermCounts& counts)
    : symbols_(program.max_symbols()),
      cells_(static_cast<std::int64_t>(program.positions.size()) * symbols_) {
  by_family.exclusive.cells = by_family.linear.cells = cells_;
  by_family.exclusive.families = by_family.linear.families =
      static_cast<std::int64_t>(program.families.size());
  std::vector<Use<compile::Slot>> slots;
  std::vector<Use<compile::Linear>> linears;
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const int family = program.groups[g].family;
    const auto group = static_cast<std::int64_t>(g);
    // Nogoods and definitions stay with the tensor form.
    std::visit(Overloaded{[&](const compile::Slots& parts) {
                            for (const compile::Slot& slot : parts) slots.push_back({&slot, family, group});
                          },
                          [&](const compile::Linears& parts) {
                            for (const compile::Linear& linear : parts)
                              linears.push_back({&linear, family, group});
                          },
                          [](const compile::Nogoods&) {}, [](const compile::DerivedNogoods&) {}},
               program.groups[g].content);
  }
  add_exclusive(slots, counts);
  add_linear(program, linears, counts);

  // Refinement: the same arrays, but every group's terms fall on one set of cells, with the groups' weights.
  by_group = by_family;
  by_group.exclusive.families = by_group.linear.families = 1;
  by_group.exclusive.term_family_cell = exclusive_terms_.cell.data();
  by_group.exclusive.term_weight = exclusive_terms_.group_weight.data();
  by_group.linear.term_family_cell = linear_terms_.cell.data();
  by_group.linear.term_weight = linear_terms_.group_weight.data();
}

void KernelTables::add_term(TermArrays& terms, const TermCounts& counts, std::int64_t family,
                            std::int64_t group, std::int64_t cell) const {
  terms.cell.push_back(static_cast<std::int32_t>(cell));
  terms.family_cell.push_back(static_cast<std::int32_t>(family * cells_ + cell));
  terms.family_weight.push_back(counts.family_weight(family, cell));
  terms.group_weight.push_back(counts.group_weight(group, cell));
}

void KernelTables::add_exclusive(const std::vector<Use<compile::Slot>>& uses, const TermCounts& counts) {
  kernels::ExclusiveLayout& layout = by_family.exclusive;
  for (const auto& [slot, family, group] : uses) {
    for (const compile::SetLiteral& member : slot->members) {
      for (const int symbol : member.symbols)
        add_term(exclusive_terms_, counts, family, group, member.position * symbols_ + symbol);
      member_terms_.push_back(size_of(exclusive_terms_.cell));
    }
    slot_members_.push_back(size_of(member_terms_) - 1);
    layout.widest_slot = std::max(layout.widest_slot, static_cast<std::int64_t>(slot->members.size()));
  }
  layout.slots = size_of(slot_members_) - 1;
  layout.terms = size_of(exclusive_terms_.cell);
  layout.slot_members = slot_members_.data();
  layout.member_terms = member_terms_.data();
  layout.term_cell = exclusive_terms_.cell.data();
  layout.term_family_cell = exclusive_terms_.family_cell.data();
  layout.term_weight = exclusive_terms_.family_weight.data();
}

void KernelTables::add_linear(const compile::ConstraintProgram& program,
                              const std::vector<Use<compile::Linear>>& uses_in_order,
                              const TermCounts& counts) {
  kernels::LinearLayout& layout = by_family.linear;
  std::map<int, std::vector<Use<compile::Linear>>> by_aggregate;
  for (const Use<compile::Linear>& use : uses_in_order) by_aggregate[use.part->aggregate].push_back(use);
  for (const auto& [index, uses] : by_aggregate) {
    const compile::Aggregate& aggregate = program.aggregates[index];
    const auto members = symbols_by_value(aggregate);
    ChainSpec spec;
    spec.constant = aggregate.constant;
    for (const auto& by_value : members) {
      spec.members.emplace_back();
      for (const auto& [value, literal] : by_value) spec.members.back().push_back({value, {}});
    }
    const auto sums = reachable_sums(spec);
    const std::int32_t first_class = size_of(class_cells_) - 1;
    const std::int32_t first_cell = size_of(cell_);
    std::int64_t states = 0;
    for (std::size_t level = 0; level < sums.size(); ++level) {
      states += static_cast<std::int64_t>(sums[level].size());
      layout.most_states = std::max(layout.most_states, static_cast<std::int64_t>(sums[level].size()));
      if (level == members.size()) break;
      for (const auto& [value, literal] : members[level]) {
        for (const int symbol : literal.symbols) {
          cell_.push_back(static_cast<std::int32_t>(literal.position * symbols_ + symbol));
        }
        class_cells_.push_back(size_of(cell_));
      }
      member_classes_.push_back(size_of(class_cells_) - 1);
      member_states_.push_back(static_cast<std::int32_t>(sums[level].size()));
      member_next_.push_back(static_cast<std::int64_t>(next_.size()));
      const auto& after = sums[level + 1];
      for (const std::int64_t sum : sums[level]) {
        for (const auto& [value, literal] : members[level]) {
          const auto found = std::lower_bound(after.begin(), after.end(), sum + value);
          next_.push_back(static_cast<std::int32_t>(found - after.begin()));
        }
      }
    }
    const std::vector<std::int64_t>& final_sums = sums.back();
    chain_members_.push_back(size_of(member_states_));
    chain_final_states_.push_back(static_cast<std::int32_t>(final_sums.size()));
    layout.most_chain_states = std::max(layout.most_chain_states, states);
    layout.most_chain_classes = std::max(layout.most_chain_classes,
                                         static_cast<std::int64_t>(size_of(class_cells_) - 1 - first_class));
    for (const Use<compile::Linear>& use : uses) {
      for (std::int32_t k = first_cell; k < size_of(cell_); ++k)
        add_term(linear_terms_, counts, use.family, use.group, cell_[k]);
      const compile::Linear& linear = *use.part;
      for (std::size_t symbol = 0; symbol < linear.allowed.size(); ++symbol) {
        const std::int64_t at = linear.guard * symbols_ + static_cast<std::int64_t>(symbol);
        guard_cell_.push_back(linear.guard < 0 ? -1 : static_cast<std::int32_t>(at));
        if (linear.guard >= 0) add_term(linear_terms_, counts, use.family, use.group, at);
        for (const auto& [low, high] : linear.allowed[symbol].intervals) {
          auto state = std::lower_bound(final_sums.begin(), final_sums.end(), low);
          for (; state != final_sums.end() && *state <= high; ++state) {
            allowed_state_.push_back(static_cast<std::int32_t>(state - final_sums.begin()));
          }
        }
        guard_states_.push_back(size_of(allowed_state_));
      }
      layout.most_guards = std::max(layout.most_guards, static_cast<std::int64_t>(linear.allowed.size()));
      linear_guards_.push_back(size_of(guard_cell_));
      linear_term_ends_.push_back(size_of(linear_terms_.cell));
    }
    chain_linears_.push_back(size_of(linear_guards_) - 1);
  }
  layout.chains = size_of(chain_members_) - 1;
  layout.linears = size_of(linear_guards_) - 1;
  layout.chain_members = chain_members_.data();
  layout.chain_linears = chain_linears_.data();
  layout.chain_final_states = chain_final_states_.data();
  layout.member_classes = member_classes_.data();
  layout.member_states = member_states_.data();
  layout.member_next = member_next_.data();
  layout.next = next_.data();
  layout.class_cells = class_cells_.data();
  layout.cell = cell_.data();
  layout.linear_guards = linear_guards_.data();
  layout.guard_cell = guard_cell_.data();
  layout.guard_states = guard_states_.data();
  layout.allowed_state = allowed_state_.data();
  layout.linear_terms = linear_term_ends_.data();
  layout.term_family_cell = linear_terms_.family_cell.data();
  layout.term_weight = linear_terms_.family_weight.data();
}

}  // namespace as2::tp
