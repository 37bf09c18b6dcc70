#include "tp/circuit_builder.h"

#include <algorithm>

#include "overloaded.h"

namespace as2::tp {

using compile::Bound;
using compile::Conjunction;
using compile::Disjunction;
using compile::NodeRef;
using compile::SetLiteral;

CircuitBuilder::CircuitBuilder(const compile::ConstraintProgram& program, Reference zero, Reference one,
                               std::function<Reference(const compile::SetLiteral&)> set_reference)
    : program_(program), zero_(zero), one_(one), set_reference_(std::move(set_reference)) {
  const std::size_t words = (program.positions.size() + 63) / 64;
  support_.assign(program.nodes.size(), std::vector<std::uint64_t>(words));
  component_of_.assign(program.nodes.size(), -1);
  for (std::size_t c = 0; c < program.components.size(); ++c) {
    const compile::Component& component = program.components[c];
    // Members of a recursive component share what any of them depends on.
    for (int pass = 0; pass < (component.recursive ? 2 : 1); ++pass) {
      for (int node = component.begin; node < component.end; ++node) {
        component_of_[node] = static_cast<int>(c);
        auto& bits = support_[node];
        if (pass == 1) {
          bits = support_[component.begin];
          continue;
        }
        const compile::Node& source = program.nodes[node];
        const auto see = [&](const SetLiteral& set) {
          bits[set.position / 64] |= std::uint64_t{1} << set.position % 64;
        };
        std::visit(Overloaded{see, [](const Conjunction&) {}, [](const Disjunction&) {}, [](const Bound&) {}},
                   source.content);
        for (const NodeRef& in : source.inputs()) {
          for (std::size_t w = 0; w < words; ++w) bits[w] |= support_[in.node][w];
        }
        if (component.recursive) {
          for (std::size_t w = 0; w < words; ++w) support_[component.begin][w] |= bits[w];
        }
      }
    }
  }
}

std::vector<int> CircuitBuilder::support(const std::vector<NodeRef>& nodes) const {
  std::vector<int> positions;
  for (int position = 0; position < static_cast<int>(program_.positions.size()); ++position) {
    const bool any = std::any_of(nodes.begin(), nodes.end(),
                                 [&](const NodeRef& node) { return depends(node.node, position); });
    if (any) positions.push_back(position);
  }
  return positions;
}

bool CircuitBuilder::depends(int node, int position) const {
  return support_[node][position / 64] >> position % 64 & 1;
}

int CircuitBuilder::level_of(const std::vector<Reference>& inputs) const {
  int level = 0;
  for (const Reference& in : inputs) {
    if (in.index < 0) level = std::max(level, entries_[-1 - in.index].level + 1);
  }
  return level;
}

Reference CircuitBuilder::negated(Reference reference) const {
  if (reference == zero_) return one_;
  if (reference == one_) return zero_;
  return {reference.index, !reference.complement};
}

Reference CircuitBuilder::shared(std::vector<std::int64_t> key, Entry entry) {
  const auto [known, fresh] = known_.emplace(std::move(key), Reference{});
  if (fresh) {
    entry.level = level_of(entry.inputs);
    entries_.push_back(std::move(entry));
    known->second = {-static_cast<std::int64_t>(entries_.size())};
  }
  return known->second;
}

Reference CircuitBuilder::product_of(std::vector<Reference> inputs) {
  if (std::find(inputs.begin(), inputs.end(), zero_) != inputs.end()) return zero_;
  inputs.erase(std::remove(inputs.begin(), inputs.end(), one_), inputs.end());
  if (inputs.empty()) return one_;
  if (inputs.size() == 1) return inputs.front();
  std::sort(inputs.begin(), inputs.end());
  std::vector<std::int64_t> key{0};
  for (const Reference& in : inputs) key.insert(key.end(), {in.index, in.complement});
  Entry entry;
  entry.inputs = std::move(inputs);
  return shared(std::move(key), std::move(entry));
}

Reference CircuitBuilder::bound_of(const Bound& node, const std::vector<Reference>& inputs) {
  Entry entry;
  entry.form = Form::kBound;
  entry.allowed = &node.allowed;
  std::vector<std::int64_t> key{1};
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == one_) entry.constant += node.weights[k];
    if (inputs[k] == one_ || inputs[k] == zero_ || node.weights[k] == 0) continue;
    entry.inputs.push_back(inputs[k]);
    entry.weights.push_back(node.weights[k]);
    key.insert(key.end(), {inputs[k].index, inputs[k].complement, node.weights[k]});
  }
  if (entry.inputs.empty()) return node.allowed.contains(entry.constant) ? one_ : zero_;
  key.push_back(entry.constant);
  for (const auto& [low, high] : node.allowed.intervals) key.insert(key.end(), {low, high});
  return shared(std::move(key), std::move(entry));
}

std::unordered_map<int, Reference>& CircuitBuilder::cache(int node, Clamp clamp) {
  return clamp.position >= 0 && depends(node, clamp.position) ? clamped_ : base_;
}

const compile::Component* CircuitBuilder::recursive_component(int node) const {
  const int index = component_of_[node];
  return index >= 0 && program_.components[index].recursive ? &program_.components[index] : nullptr;
}

Reference CircuitBuilder::value(NodeRef node, Clamp clamp) {
  const Reference reference = value(node.node, clamp);
  return node.negated ? negated(reference) : reference;
}

Reference CircuitBuilder::value(int wanted, Clamp clamp) {
  std::vector<int> pending{wanted};
  while (!pending.empty()) {
    const int node = pending.back();
    if (cache(node, clamp).count(node)) {
      pending.pop_back();
      continue;
    }
    const compile::Component* component = recursive_component(node);
    const std::size_t before = pending.size();
    for (int member = component ? component->begin : node; member < (component ? component->end : node + 1);
         ++member) {
      for (const NodeRef& in : program_.nodes[member].inputs()) {
        const bool inside = component && in.node >= component->begin && in.node < component->end;
        if (!inside && !cache(in.node, clamp).count(in.node)) pending.push_back(in.node);
      }
    }
    if (pending.size() > before) continue;
    if (component) {
      expand_recursive(*component, clamp);
    } else {
      expand(node, clamp);
    }
  }
  return cache(wanted, clamp).at(wanted);
}

void CircuitBuilder::expand(int index, Clamp clamp) {
  const auto inputs_of = [&](const std::vector<NodeRef>& refs, bool complemented) {
    std::vector<Reference> inputs;
    for (const NodeRef& in : refs) {
      const Reference reference = cache(in.node, clamp).at(in.node);
      inputs.push_back(in.negated != complemented ? negated(reference) : reference);
    }
    return inputs;
  };
  const Reference expanded = std::visit(
      Overloaded{[&](const SetLiteral& set) {
                   if (set.position != clamp.position) return set_reference_(set);
                   return std::binary_search(set.symbols.begin(), set.symbols.end(), clamp.symbol) ? one_
                                                                                                   : zero_;
                 },
                 [&](const Conjunction& all) { return product_of(inputs_of(all.inputs, false)); },
                 [&](const Disjunction& some) { return negated(product_of(inputs_of(some.inputs, true))); },
                 [&](const Bound& sum) { return bound_of(sum, inputs_of(sum.inputs, false)); }},
      program_.nodes[index].content);
  cache(index, clamp)[index] = expanded;
}

void CircuitBuilder::expand_recursive(const compile::Component& component, Clamp clamp) {
  // Members that do not depend on the clamped position share the unclamped component; if one does not depend
  // on it, none does.
  auto& known = cache(component.begin, clamp);
  const std::int64_t first = static_cast<std::int64_t>(entries_.size());
  const int size = component.end - component.begin;
  std::vector<Entry> members;
  std::vector<Reference> outside;
  std::vector<std::int64_t> key{2, size};
  for (int index = component.begin; index < component.end; ++index) {
    const compile::Node& node = program_.nodes[index];
    Entry member;
    member.component_size = size;
    key.insert(key.end(), {static_cast<std::int64_t>(node.content.index()),
                           static_cast<std::int64_t>(node.inputs().size())});
    const auto add_outside = [&](Reference reference) {
      member.inputs.push_back(reference);
      outside.push_back(reference);
      key.insert(key.end(), {reference.index, reference.complement});
    };
    std::visit(Overloaded{[&](const SetLiteral&) {  // a conjunction of one outside value
                            member.form = Form::kConjunctionMember;
                            expand(index, clamp);
                            add_outside(known.at(index));
                          },
                          [&](const Conjunction&) { member.form = Form::kConjunctionMember; },
                          [&](const Disjunction&) { member.form = Form::kDisjunctionMember; },
                          [](const Bound&) { AS2_REQUIRE(false, "a recursive component has no bounds"); }},
               node.content);
    for (const NodeRef& in : node.inputs()) {
      if (in.node < component.begin || in.node >= component.end) {
        add_outside(value(in, clamp));
        continue;
      }
      member.inputs.push_back({-1 - (first + in.node - component.begin)});
      key.insert(key.end(), {in.node - component.begin, 2});
    }
    members.push_back(std::move(member));
  }
  const auto [shared_first, fresh] = known_.emplace(std::move(key), Reference{-1 - first});
  if (fresh) {
    const int level = level_of(outside);
    for (Entry& member : members) {
      member.level = level;
      entries_.push_back(std::move(member));
    }
  }
  for (int index = component.begin; index < component.end; ++index) {
    known[index] = {shared_first->second.index - (index - component.begin)};
  }
}

Reference CircuitBuilder::conjunction(const std::vector<NodeRef>& nodes, Clamp clamp) {
  if (clamp.position != current_.position || clamp.symbol != current_.symbol) {
    clamped_.clear();
    current_ = clamp;
  }
  std::vector<Reference> inputs;
  for (const NodeRef& node : nodes) inputs.push_back(value(node, clamp));
  return product_of(std::move(inputs));
}

}  // namespace as2::tp
