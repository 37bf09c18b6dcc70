#include "tp/soft_nodes.h"

#include <algorithm>
#include <numeric>

namespace as2::tp {

torch::Tensor SoftNodes::evaluate(const torch::Tensor& input) const {
  torch::Tensor values = input;
  for (const SoftNodeLevel& level : levels) {
    std::vector<torch::Tensor> parts{values};
    if (!level.recursion.empty()) {
      const IndexTable& conjunctions = level.recursion.conjunctions;
      const IndexTable& disjunctions = level.recursion.disjunctions;
      const std::int64_t batch = values.size(0);
      torch::Tensor both = torch::zeros({batch, conjunctions.rows}, values.options());
      torch::Tensor some = torch::zeros({batch, disjunctions.rows}, values.options());
      for (std::int64_t round = 0; round < level.recursion.rounds; ++round) {
        const torch::Tensor both_before = both, some_before = some;
        both = product(conjunctions.read(torch::cat({values, both, some}, 1)));
        some = disjunctions.read(torch::cat({values, both, some}, 1)).amax(-1);
        // The host looks at the values only on the CPU: on CUDA that would stall the stream.
        if (values.is_cpu() && torch::equal(both, both_before) && torch::equal(some, some_before)) break;
      }
      parts.push_back(both);
      parts.push_back(some);
    }
    for (const IndexTable& factors : level.products) parts.push_back(product(factors.read(values)));
    for (const Bounds& bounds : level.bounds) {
      const Chains& chains = bounds.chains;
      const torch::Tensor inputs =
          chains.inputs.read(values).view({values.size(0), chains.rows, chains.members, chains.classes});
      parts.push_back((prefixes(chains, inputs, kReal).back() * bounds.allowed).sum(-1));
    }
    values = torch::cat(parts, 1);
  }
  return values;
}

void SoftNodes::move(torch::Device device, torch::ScalarType type) {
  for (SoftNodeLevel& level : levels) {
    level.recursion.conjunctions = level.recursion.conjunctions.to(device, type);
    level.recursion.disjunctions = level.recursion.disjunctions.to(device, type);
    for (IndexTable& factors : level.products) factors = factors.to(device, type);
    for (Bounds& bounds : level.bounds) {
      bounds.chains.move(device, type);
      bounds.allowed = bounds.allowed.to(device, type);
    }
  }
}

Reference SoftNodeLayout::placed(Reference reference) const {
  return reference.index < 0 ? Reference{place_[-1 - reference.index], reference.complement} : reference;
}

SoftNodeLayout::SoftNodeLayout(const CircuitBuilder& builder, std::int64_t first) {
  using Entry = CircuitBuilder::Entry;
  using Form = CircuitBuilder::Form;
  const std::vector<Entry>& entries = builder.entries();
  place_.assign(entries.size(), 0);
  std::map<int, std::vector<int>> by_level;
  for (std::size_t e = 0; e < entries.size(); ++e) by_level[entries[e].level].push_back(static_cast<int>(e));
  for (const auto& [number, members] : by_level) {
    SoftNodeLevel level;
    std::vector<int> conjunctions, disjunctions;
    std::map<std::int64_t, std::vector<int>> products;
    std::map<std::vector<std::int64_t>, std::vector<int>> bounds;
    const auto chain_of = [&](const Entry& entry) {
      ChainSpec spec;
      spec.constant = entry.constant;
      for (std::size_t k = 0; k < entry.inputs.size(); ++k) {
        const Reference in = placed(entry.inputs[k]);
        spec.members.push_back({{0, {in.index, !in.complement}}, {entry.weights[k], in}});
      }
      return spec;
    };
    for (const int e : members) {
      const Entry& entry = entries[e];
      const std::int64_t width = static_cast<std::int64_t>(entry.inputs.size());
      if (entry.form == Form::kConjunctionMember) conjunctions.push_back(e);
      if (entry.form == Form::kDisjunctionMember) disjunctions.push_back(e);
      if (entry.form == Form::kProduct) products[size_class(width)].push_back(e);
      if (entry.form == Form::kBound) {
        const auto states = static_cast<std::int64_t>(reachable_sums(chain_of(entry)).back().size());
        bounds[{size_class(width), size_class(states)}].push_back(e);
      }
    }
    const auto place = [&](const std::vector<int>& group) {
      for (const int e : group) place_[e] = first++;
    };
    const auto table = [&](const std::vector<int>& group, Reference padding) {
      std::vector<std::vector<Reference>> rows;
      for (const int e : group) {
        rows.emplace_back();
        for (const Reference& in : entries[e].inputs) rows.back().push_back(placed(in));
      }
      return IndexTable::of(rows, padding);
    };
    place(conjunctions);
    place(disjunctions);
    if (!conjunctions.empty() || !disjunctions.empty()) {
      level.recursion.conjunctions = table(conjunctions, builder.one());
      level.recursion.disjunctions = table(disjunctions, builder.zero());
      for (const auto* group : {&conjunctions, &disjunctions}) {
        for (const int e : *group) {
          level.recursion.rounds = std::max<std::int64_t>(level.recursion.rounds, entries[e].component_size);
        }
      }
    }
    for (const auto& [width, group] : products) {
      level.products.push_back(table(group, builder.one()));
      place(group);
    }
    for (const auto& [size, group] : bounds) {
      Bounds table_of_bounds;
      std::vector<ChainSpec> specs;
      for (const int e : group) specs.push_back(chain_of(entries[e]));
      table_of_bounds.chains = Chains::of(specs, builder.zero(), builder.one());
      const std::int64_t states = table_of_bounds.chains.states.back();
      table_of_bounds.allowed =
          torch::zeros({static_cast<std::int64_t>(group.size()), states}, torch::kFloat64);
      auto allowed = table_of_bounds.allowed.accessor<double, 2>();
      for (std::size_t row = 0; row < group.size(); ++row) {
        const auto& sums = table_of_bounds.chains.reached[row].back();
        for (std::size_t state = 0; state < sums.size(); ++state) {
          allowed[row][state] = entries[group[row]].allowed->contains(sums[state]) ? 1 : 0;
        }
      }
      level.bounds.push_back(std::move(table_of_bounds));
      place(group);
    }
    nodes.levels.push_back(std::move(level));
  }
}

}  // namespace as2::tp
