// Exclusive groups and linear constraints run in the kernels that training uses (tp/kernels); nogoods and
// derived constraints are plain loops over the same lists that LibTorch's tables are made from
// (tp/collected_terms.h): products of all but one from both ends, and the circuit value by value.
#include "native/soft_tp.h"

#include <algorithm>
#include <cmath>

#include "tp/chain_spec.h"
#include "tp/collected_terms.h"
#include "tp/kernel_tables.h"
#include "tp/kernels/lanes.h"

namespace as2::native {
namespace {

using tp::CircuitBuilder;
using tp::CollectedTerms;
using tp::Reference;
using Form = CircuitBuilder::Form;

// Where a factor applies.
struct Term {
  std::int32_t cell, family_cell;
  float family_weight, group_weight;  // its share of the mean in leave_one_out and in refine
};

struct Nogood {
  std::vector<Reference> literals;
  std::vector<std::vector<Term>> terms;  // [literals]
};

struct Derived {
  Reference violated;
  Term term;
};

// One value of the circuit.
struct Entry {
  Form form = Form::kProduct;
  std::vector<Reference> inputs;
  std::vector<std::vector<std::int32_t>> next;  // kBound: [inputs][2 · state + whether it holds] state after
  std::vector<float> allowed;                   // kBound: [final states] 1 or 0
  int component_size = 0;
};

float read(const Reference& reference, const float* values) {
  return reference.complement ? 1.f - values[reference.index] : values[reference.index];
}

}  // namespace

struct SoftTp::Tables {
  explicit Tables(const compile::ConstraintProgram& program);

  void evaluate_circuit(float* values) const;
  void evaluate_component(std::size_t first, float* values) const;
  float bound(const Entry& entry, const float* values, float* states) const;
  // visit(term, factor) for every term of nogoods, derived constraints and instances always violated.
  template <class Visit>
  void visit_others(const float* beliefs, Scratch& scratch, Visit visit) const;
  // Runs the kernels of exclusive groups and linear constraints.
  void run_kernels(const tp::Layouts& layouts, const tp::kernels::Block<float>& block) const;
  std::int64_t lanes_size() const;

  std::int64_t cells = 0, symbols = 0;
  std::vector<float> base;        // [families · cells]: 1 where a family has no term inside the domain
  std::vector<float> group_base;  // [cells]: the share of the position's groups that have no term there
  std::vector<char> inside;       // [cells]: of a domain
  std::unique_ptr<const tp::KernelTables> kernels;
  std::vector<std::vector<Reference>> sums;  // set literals of several symbols, values after 0 and 1
  std::vector<Entry> circuit;                // values after these
  std::vector<Nogood> nogoods;
  std::vector<Derived> deriveds;
  std::vector<Term> always_violated;
  std::int64_t most_states = 0, most_literals = 0;
  bool has_others = false;

  std::int64_t first_sum() const { return cells + 2; }
  std::int64_t first_entry() const { return first_sum() + static_cast<std::int64_t>(sums.size()); }
  std::int64_t values() const { return first_entry() + static_cast<std::int64_t>(circuit.size()); }
};

SoftTp::Tables::Tables(const compile::ConstraintProgram& program) {
  CollectedTerms collected(program);
  const tp::TermCounts counts = collected.counts();
  cells = collected.cells;
  symbols = collected.symbols;
  for (const double one : collected.family_base(counts)) base.push_back(static_cast<float>(one));
  for (const double share : counts.shares_without_term(cells))
    group_base.push_back(static_cast<float>(share));
  for (const compile::Position& position : program.positions) {
    for (std::int64_t s = 0; s < symbols; ++s)
      inside.push_back(s < static_cast<std::int64_t>(position.symbols.size()));
  }
  kernels = std::make_unique<tp::KernelTables>(program, counts);
  sums = collected.sums;

  const auto placed = [&](Reference reference) {
    if (reference.index < 0) reference.index = first_entry() - 1 - reference.index;
    return reference;
  };
  const auto term = [&](int family, std::int64_t group, std::int64_t cell) {
    return Term{static_cast<std::int32_t>(cell), static_cast<std::int32_t>(family * cells + cell),
                static_cast<float>(counts.family_weight(family, cell)),
                static_cast<float>(counts.group_weight(group, cell))};
  };
  for (const CollectedTerms::Product& product : collected.nogoods) {
    Nogood nogood;
    for (std::size_t k = 0; k < product.members.size(); ++k) {
      nogood.literals.push_back(placed(product.members[k]));
      nogood.terms.emplace_back();
      for (const std::int64_t cell : product.cells[k])
        nogood.terms.back().push_back(term(product.family, product.group, cell));
    }
    most_literals = std::max(most_literals, static_cast<std::int64_t>(nogood.literals.size()));
    nogoods.push_back(std::move(nogood));
  }
  for (const CollectedTerms::Derived& derived : collected.deriveds)
    deriveds.push_back({placed(derived.violated), term(derived.family, derived.group, derived.cell)});
  for (const CollectedTerms::AlwaysViolated& always : collected.always_violated)
    always_violated.push_back(term(always.family, always.group, always.cell));
  if (!deriveds.empty()) {
    for (const CircuitBuilder::Entry& given : collected.circuit.entries()) {
      Entry entry;
      entry.form = given.form;
      entry.component_size = given.component_size;
      for (const Reference& input : given.inputs) entry.inputs.push_back(placed(input));
      if (given.form == Form::kBound) {
        tp::ChainSpec spec;
        spec.constant = given.constant;
        for (const std::int64_t weight : given.weights) spec.members.push_back({{0, {}}, {weight, {}}});
        const auto reached = tp::reachable_sums(spec);
        for (std::size_t level = 0; level < given.weights.size(); ++level) {
          entry.next.emplace_back();
          const auto& after = reached[level + 1];
          for (const std::int64_t sum : reached[level]) {
            for (const std::int64_t added : {std::int64_t{0}, given.weights[level]}) {
              const auto found = std::lower_bound(after.begin(), after.end(), sum + added);
              entry.next.back().push_back(static_cast<std::int32_t>(found - after.begin()));
            }
          }
          most_states = std::max(most_states, static_cast<std::int64_t>(after.size()));
        }
        for (const std::int64_t sum : reached.back())
          entry.allowed.push_back(given.allowed->contains(sum) ? 1.f : 0.f);
      }
      circuit.push_back(std::move(entry));
    }
  }
  has_others = !nogoods.empty() || !deriveds.empty() || !always_violated.empty();
}

// P(Σ of the weights that hold is allowed), the inputs being independent: α of tp/chains.h.
float SoftTp::Tables::bound(const Entry& entry, const float* values, float* states) const {
  float *now = states, *after = states + most_states + 1;
  now[0] = 1;
  std::size_t count = 1;
  for (std::size_t level = 0; level < entry.inputs.size(); ++level) {
    const float holds = read(entry.inputs[level], values);
    const auto& next = entry.next[level];
    const auto reached = static_cast<std::size_t>(*std::max_element(next.begin(), next.end())) + 1;
    std::fill_n(after, reached, 0.f);
    for (std::size_t state = 0; state < count; ++state) {
      after[next[2 * state]] += now[state] * (1.f - holds);
      after[next[2 * state + 1]] += now[state] * holds;
    }
    std::swap(now, after);
    count = reached;
  }
  float sum = 0;
  for (std::size_t state = 0; state < count; ++state) sum += now[state] * entry.allowed[state];
  return sum;
}

// The members of a recursive component, from 0 until nothing moves: a conjunction is a product, a disjunction
// the maximum.
void SoftTp::Tables::evaluate_component(std::size_t first, float* values) const {
  const auto size = static_cast<std::size_t>(circuit[first].component_size);
  float* own = values + first_entry() + static_cast<std::int64_t>(first);
  std::fill_n(own, size, 0.f);
  bool moved = true;
  for (std::size_t round = 0; round < size && moved; ++round) {
    moved = false;
    for (std::size_t k = 0; k < size; ++k) {
      const Entry& entry = circuit[first + k];
      float value = entry.form == Form::kDisjunctionMember ? 0.f : 1.f;
      for (const Reference& input : entry.inputs) {
        const float other = read(input, values);
        value = entry.form == Form::kDisjunctionMember ? std::max(value, other) : value * other;
      }
      moved = moved || value != own[k];
      own[k] = value;
    }
  }
}

void SoftTp::Tables::evaluate_circuit(float* values) const {
  float* states = values + this->values();  // behind the values
  for (std::size_t k = 0; k < circuit.size(); ++k) {
    const Entry& entry = circuit[k];
    float& value = values[first_entry() + static_cast<std::int64_t>(k)];
    if (entry.form == Form::kProduct) {
      value = 1;
      for (const Reference& input : entry.inputs) value *= read(input, values);
    } else if (entry.form == Form::kBound) {
      value = bound(entry, values, states);
    } else {
      evaluate_component(k, values);
      k += static_cast<std::size_t>(entry.component_size) - 1;
    }
  }
}

template <class Visit>
void SoftTp::Tables::visit_others(const float* beliefs, Scratch& scratch, Visit visit) const {
  if (!has_others) return;
  float* values = scratch.values.data();
  std::copy_n(beliefs, cells, values);
  values[cells] = 0;
  values[cells + 1] = 1;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    float& sum = values[first_sum() + static_cast<std::int64_t>(k)];
    sum = 0;
    for (const Reference& part : sums[k]) sum += read(part, values);
  }
  evaluate_circuit(values);
  for (const Term& term : always_violated) visit(term, 0.f);
  for (const Derived& derived : deriveds) visit(derived.term, 1.f - read(derived.violated, values));
  float* before = values + this->values();
  for (const Nogood& nogood : nogoods) {
    const std::size_t size = nogood.literals.size();
    float running = 1;
    for (std::size_t k = 0; k < size; ++k) {
      before[k] = running;
      running *= read(nogood.literals[k], values);
    }
    running = 1;
    for (std::size_t k = size; k-- > 0;) {
      const float factor = 1.f - before[k] * running;
      running *= read(nogood.literals[k], values);
      for (const Term& term : nogood.terms[k]) visit(term, factor);
    }
  }
}

void SoftTp::Tables::run_kernels(const tp::Layouts& layouts, const tp::kernels::Block<float>& block) const {
  using namespace tp::kernels;
  if (layouts.exclusive.slots > 0) best_version<float, ExclusiveLayout>().narrow(layouts.exclusive, block);
  if (layouts.linear.linears > 0) best_version<float, LinearLayout>().narrow(layouts.linear, block);
}

std::int64_t SoftTp::Tables::lanes_size() const {
  using tp::kernels::scratch_per_lane;
  using tp::kernels::Task;
  return std::max(scratch_per_lane(kernels->by_family.exclusive, Task::kFactors),
                  scratch_per_lane(kernels->by_family.linear, Task::kFactors));
}

SoftTp::SoftTp(const compile::ConstraintProgram& program)
    : tables_(std::make_unique<const Tables>(program)) {}
SoftTp::~SoftTp() = default;

SoftTp::Scratch SoftTp::scratch() const {
  const std::int64_t behind = std::max(2 * (tables_->most_states + 1), tables_->most_literals);
  return {std::vector<float>(static_cast<std::size_t>(tables_->values() + behind)),
          std::vector<float>(static_cast<std::size_t>(tables_->lanes_size()))};
}

std::size_t SoftTp::scratch_bytes() const {
  const Scratch own = scratch();
  return sizeof(float) * (own.values.size() + own.lanes.size());
}

void SoftTp::leave_one_out(const float* beliefs, float* factors, Scratch& scratch) const {
  std::copy(tables_->base.begin(), tables_->base.end(), factors);
  tp::kernels::Block<float> block;
  block.task = tp::kernels::Task::kFactors;
  block.lanes = 1;
  block.beliefs = beliefs;
  block.sums = factors;
  block.scratch = scratch.lanes.data();
  tables_->run_kernels(tables_->kernels->by_family, block);
  tables_->visit_others(beliefs, scratch, [&](const Term& term, float factor) {
    factors[term.family_cell] += term.family_weight * factor;
  });
}

void SoftTp::refine(float* beliefs, int steps, Scratch& scratch) const {
  constexpr float kStill = 1e-7F;
  const Tables& tables = *tables_;
  for (std::int64_t cell = 0; cell < tables.cells; ++cell) {
    if (!tables.inside[static_cast<std::size_t>(cell)]) beliefs[cell] = 0;
  }
  std::vector<float> factors;
  bool moved = true;
  for (int step = 0; step < steps && moved; ++step) {
    factors = tables.group_base;
    tp::kernels::Block<float> block;
    block.task = tp::kernels::Task::kFactors;
    block.lanes = 1;
    block.beliefs = beliefs;
    block.sums = factors.data();
    block.scratch = scratch.lanes.data();
    tables.run_kernels(tables.kernels->by_group, block);
    tables.visit_others(beliefs, scratch, [&](const Term& term, float factor) {
      factors[static_cast<std::size_t>(term.cell)] += term.group_weight * factor;
    });
    moved = false;
    for (std::int64_t first = 0; first < tables.cells; first += tables.symbols) {
      float total = 0;
      for (std::int64_t cell = first; cell < first + tables.symbols; ++cell)
        total += factors[static_cast<std::size_t>(cell)] *= beliefs[cell];
      if (total <= 0) continue;  // nothing is left: the position stays as it was
      for (std::int64_t cell = first; cell < first + tables.symbols; ++cell) {
        const float refined = factors[static_cast<std::size_t>(cell)] / total;
        moved = moved || std::abs(refined - beliefs[cell]) > kStill;
        beliefs[cell] = refined;
      }
    }
  }
}

float SoftTp::max_residual(const float* beliefs, Scratch& scratch) const {
  float largest = 0;
  tp::kernels::Block<float> block;
  block.task = tp::kernels::Task::kLargest;
  block.lanes = 1;
  block.beliefs = beliefs;
  block.losses = &largest;
  block.scratch = scratch.lanes.data();
  tables_->run_kernels(tables_->kernels->by_family, block);
  tables_->visit_others(beliefs, scratch, [&](const Term& term, float factor) {
    largest = std::max(largest, std::abs(beliefs[term.cell] * (1.f - factor)));
  });
  return largest;
}

}  // namespace as2::native
