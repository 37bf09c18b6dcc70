#include "train/fuzzy_truth.h"

#include "as2/error.h"
#include "overloaded.h"

namespace as2::train {
namespace {

using compile::ConstraintProgram;
using compile::NodeRef;
using torch::Tensor;

constexpr double kSmallest = 1e-12;   // under roots, whose slope at 0 is infinite
constexpr double kImpossible = -1e6;  // Łukasiewicz sums: of values that cannot be reached

Tensor mass(const Tensor& beliefs, const compile::SetLiteral& set) {
  std::vector<Tensor> each;
  for (const int symbol : set.symbols) each.push_back(beliefs.select(1, set.position).select(1, symbol));
  return each.size() == 1 ? each[0] : torch::stack(each).sum(0);
}

Tensor read(const std::vector<Tensor>& nodes, const NodeRef& ref) {
  const Tensor& value = nodes[static_cast<std::size_t>(ref.node)];
  return ref.negated ? 1 - value : value;
}

}  // namespace

FuzzyTruth::FuzzyTruth(const ConstraintProgram& program, std::vector<task::ObservedAtom> atoms,
                       FuzzyConfig config)
    : program_(program),
      atoms_(std::move(atoms)),
      config_(std::move(config)),
      logic_(config_.logic == "goedel"        ? Logic::kGoedel
             : config_.logic == "lukasiewicz" ? Logic::kLukasiewicz
                                              : Logic::kProduct) {
  for (const compile::Node& node : program.nodes) {
    if (std::holds_alternative<compile::Bound>(node.content))
      throw InputError("losses.ltn has no connective for an aggregate in a rule" +
                           (node.atom.empty() ? "" : " (it decides " + node.atom + ")"),
                       {"write the sum as a constraint on a position, as programs/addition.lp does, or use "
                        "losses.query"});
  }
}

Tensor FuzzyTruth::all(const Values& values) const {
  if (values.size() == 1) return values[0];
  const Tensor each = torch::stack(values);
  switch (logic_) {
    case Logic::kProduct:
      return each.prod(0);
    case Logic::kGoedel:
      return each.amin(0);
    case Logic::kLukasiewicz:
      return (each.sum(0) - static_cast<double>(values.size() - 1)).clamp_min(0);
  }
  AS2_REQUIRE(false, "a logic");
}

Tensor FuzzyTruth::any(const Values& values) const {
  if (values.size() == 1) return values[0];
  const Tensor each = torch::stack(values);
  switch (logic_) {
    case Logic::kProduct:
      return 1 - (1 - each).prod(0);
    case Logic::kGoedel:
      return each.amax(0);
    case Logic::kLukasiewicz:
      return each.sum(0).clamp_max(1);
  }
  AS2_REQUIRE(false, "a logic");
}

Tensor FuzzyTruth::conjunction(const Values& nodes, const std::vector<NodeRef>& inputs) const {
  Values values;
  for (const NodeRef& input : inputs) values.push_back(read(nodes, input));
  return all(values);
}

Tensor FuzzyTruth::disjunction(const Values& nodes, const std::vector<NodeRef>& inputs,
                               bool recursive) const {
  Values values;
  for (const NodeRef& input : inputs) values.push_back(read(nodes, input));
  return recursive ? torch::stack(values).amax(0) : any(values);
}

// The truth of every definition. A recursive component starts from false; every round takes the newest
// values, so that as many rounds as it has alternatives reach the fixpoint.
FuzzyTruth::Values FuzzyTruth::nodes(const Tensor& beliefs) const {
  const Tensor none = torch::zeros({beliefs.size(0)}, beliefs.options());
  Values values(program_.nodes.size(), none);
  for (const compile::Component& component : program_.components) {
    int rounds = 1;
    for (int n = component.begin; component.recursive && n < component.end; ++n)
      rounds +=
          std::holds_alternative<compile::Disjunction>(program_.nodes[static_cast<std::size_t>(n)].content);
    for (int round = 0; round < rounds; ++round) {
      for (int n = component.begin; n < component.end; ++n) {
        Tensor& value = values[static_cast<std::size_t>(n)];
        std::visit(
            Overloaded{[&](const compile::SetLiteral& set) { value = mass(beliefs, set); },
                       [&](const compile::Conjunction& body) {
                         value = body.inputs.empty() ? 1 - none : conjunction(values, body.inputs);
                       },
                       [&](const compile::Disjunction& heads) {
                         value = heads.inputs.empty()
                                     ? none
                                     : disjunction(values, heads.inputs, component.recursive);
                       },
                       [](const compile::Bound&) { AS2_REQUIRE(false, "refused by the constructor"); }},
            program_.nodes[static_cast<std::size_t>(n)].content);
      }
    }
  }
  return values;
}

// [batch, values from min to max]: how true it is that the positions add up to each, with ∃ and ∧ as one
// pair of operations that distribute: Σ and × of pth powers, max and min, or max and + of a − 1.
Tensor FuzzyTruth::sums(const Tensor& beliefs, const compile::Aggregate& aggregate) const {
  const double nothing = logic_ == Logic::kLukasiewicz ? kImpossible : 0;
  Tensor state =
      torch::full({beliefs.size(0), 1}, logic_ == Logic::kLukasiewicz ? 0.0 : 1.0, beliefs.options());
  for (std::size_t k = 0; k < aggregate.positions.size(); ++k) {
    const std::vector<std::int64_t>& values = aggregate.values[k];
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    std::vector<Tensor> shifted;
    for (std::size_t s = 0; s < values.size(); ++s) {
      const Tensor a = beliefs.select(1, aggregate.positions[k]).narrow(1, static_cast<std::int64_t>(s), 1);
      const Tensor moved = torch::constant_pad_nd(state, {values[s] - *low, *high - values[s]}, nothing);
      switch (logic_) {
        case Logic::kProduct:
          shifted.push_back(moved * (a + kSmallest).pow(config_.p));
          break;
        case Logic::kGoedel:
          shifted.push_back(torch::minimum(moved, a));
          break;
        case Logic::kLukasiewicz:
          shifted.push_back(moved + a - 1);
          break;
      }
    }
    const Tensor each = torch::stack(shifted);
    state = logic_ == Logic::kProduct ? each.sum(0) : each.amax(0);
  }
  return state;
}

// The sum has some value that is allowed; with a guard, one that its symbol allows.
Tensor FuzzyTruth::linear(const Tensor& beliefs, const compile::Linear& linear) const {
  const compile::Aggregate& aggregate = program_.aggregates[static_cast<std::size_t>(linear.aggregate)];
  const Tensor state = sums(beliefs, aggregate);
  Tensor ways = state;  // tuples of symbols behind every value, for the mean
  if (logic_ == Logic::kProduct)
    ways =
        FuzzyTruth(program_, {}, {"product", 1}).sums(torch::ones_like(beliefs.narrow(0, 0, 1)), aggregate);
  Values options;
  for (std::size_t g = 0; g < linear.allowed.size(); ++g) {
    std::vector<std::int64_t> allowed;
    for (std::int64_t v = aggregate.min; v <= aggregate.max; ++v) {
      if (linear.allowed[g].contains(v)) allowed.push_back(v - aggregate.min);
    }
    if (allowed.empty()) continue;
    const Tensor index = torch::tensor(allowed, state.options().dtype(torch::kInt64));
    const Tensor found = state.index_select(1, index);
    Tensor truth;
    if (logic_ == Logic::kProduct)
      truth = (found.sum(1) / ways.index_select(1, index).sum(1) + kSmallest).pow(1 / config_.p);
    else
      truth = logic_ == Logic::kGoedel ? found.amax(1) : (found.amax(1) + 1).clamp_min(0);
    if (linear.guard >= 0)
      truth = all({truth, beliefs.select(1, linear.guard).select(1, static_cast<std::int64_t>(g))});
    options.push_back(truth);
  }
  return options.empty() ? torch::zeros({beliefs.size(0)}, beliefs.options()) : any(options);
}

Tensor FuzzyTruth::truths(const Tensor& beliefs, const Tensor& observed) const {
  const Values values = nodes(beliefs);
  const Tensor none = torch::zeros({beliefs.size(0)}, beliefs.options());
  Values formulas;  // [formulas of it, batch] each
  const auto add = [&](const Tensor& truth) { formulas.push_back(truth.unsqueeze(0)); };
  const auto masses = [&](const std::vector<compile::SetLiteral>& sets) {
    Values each;
    for (const compile::SetLiteral& set : sets) each.push_back(mass(beliefs, set));
    return each;
  };
  for (const compile::Group& group : program_.groups) {
    std::visit(
        Overloaded{
            [&](const compile::Slots& slots) {
              for (const compile::Slot& slot : slots) {
                if (slot.members.size() < 2) continue;
                const Tensor each = torch::stack(masses(slot.members));
                const Tensor pairs =
                    torch::triu_indices(each.size(0), each.size(0), 1, each.options().dtype(torch::kInt64));
                formulas.push_back(1 - all({each.index_select(0, pairs[0]), each.index_select(0, pairs[1])}));
              }
            },
            [&](const compile::Linears& linears) {
              for (const compile::Linear& each : linears) add(linear(beliefs, each));
            },
            [&](const compile::Nogoods& nogoods) {
              for (const compile::Nogood& each : nogoods)
                add(each.literals.empty() ? none : 1 - all(masses(each.literals)));
            },
            [&](const compile::DerivedNogoods& nogoods) {
              for (const compile::DerivedNogood& each : nogoods)
                add(each.body.empty() ? none : 1 - conjunction(values, each.body));
            }},
        group.content);
  }
  for (std::size_t a = 0; a < atoms_.size() && observed.defined(); ++a) {
    const prob::Observable& about = atoms_[a].about;
    const Tensor holds =
        about.kind == prob::Observable::Kind::kSet ? mass(beliefs, about.set) : read(values, about.node);
    const Tensor said = observed.select(1, static_cast<std::int64_t>(a));
    add(torch::where(said == 1, holds, torch::where(said == 0, 1 - holds, torch::ones_like(holds))));
  }
  AS2_REQUIRE(!formulas.empty(), "a program that says something");
  return torch::cat(formulas).t();
}

Tensor FuzzyTruth::loss(const Tensor& beliefs, const Tensor& observed) const {
  return ((1 - truths(beliefs, observed)).square().mean() + kSmallest).sqrt();
}

}  // namespace as2::train
