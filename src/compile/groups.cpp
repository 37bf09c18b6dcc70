#include "compile/groups.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "compile/support.h"
#include "overloaded.h"

namespace as2::compile {
namespace {

// Collects the groups of one family, by kind and set of positions.
class GroupWriter {
 public:
  GroupWriter(const Definitions& definitions, const NodeWriter& nodes, ConstraintProgram& program)
      : formulas_(definitions.formulas), nodes_(nodes), program_(program), support_(program) {}

  void write(int family, const Kinds& kinds) {
    groups_.clear();
    for (const ExclusiveGroup& exclusive : kinds.exclusive) {
      Slots& slots = content_for<Slots>(exclusive.positions);
      for (const ExclusiveInstance& instance : exclusive.instances)
        slots.push_back({literals(instance.members)});
      std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
        return std::lexicographical_compare(a.members.begin(), a.members.end(), b.members.begin(),
                                            b.members.end(), before);
      });
    }
    for (const auto& [key, allowed] : kinds.linears) add_linear(key.first, key.second, allowed);
    for (const std::vector<int>& nogood : kinds.nogoods) {
      std::vector<int> positions;
      for (const int set : nogood) positions.push_back(formulas_[set].set.position);
      content_for<Nogoods>(positions).push_back({literals(nogood)});
    }
    for (const std::vector<Formula>& body : kinds.deriveds) {
      DerivedNogood derived;
      for (const Formula formula : body) derived.body.push_back(nodes_.ref(formula));
      content_for<DerivedNogoods>(support_.positions_of(derived.body)).push_back(std::move(derived));
    }
    for (auto& [key, content] : groups_) program_.groups.push_back({family, key.first, std::move(content)});
  }

 private:
  static bool before(const SetLiteral& a, const SetLiteral& b) {
    return a.position != b.position ? a.position < b.position : a.symbols < b.symbols;
  }

  // The family's group of this kind over these positions.
  template <class Kind>
  Kind& content_for(const std::vector<int>& positions) {
    const GroupContent empty = Kind{};
    return std::get<Kind>(groups_.emplace(std::pair(positions, empty.index()), empty).first->second);
  }

  std::vector<SetLiteral> literals(const std::vector<int>& sets) const {
    std::vector<SetLiteral> result;
    for (const int set : sets) result.push_back(formulas_[set].set);
    return result;
  }

  void add_linear(int sum, int guard, const std::vector<ValueSet>& allowed) {
    const int aggregate = aggregate_of(sum);
    std::vector<int> positions = program_.aggregates[static_cast<std::size_t>(aggregate)].positions;
    if (guard >= 0) positions.insert(std::lower_bound(positions.begin(), positions.end(), guard), guard);
    content_for<Linears>(positions).push_back({aggregate, guard, allowed});
  }

  int aggregate_of(int index) {
    const auto [place, is_new] = aggregates_.emplace(index, static_cast<int>(program_.aggregates.size()));
    if (is_new) {
      const Sum& sum = formulas_.sum(index);
      Aggregate aggregate;
      aggregate.positions = sum.positions;
      aggregate.values = sum.values;
      aggregate.constant = sum.constant;
      aggregate.min = sum.reachable.intervals.front().first;
      aggregate.max = sum.reachable.intervals.back().second;
      program_.aggregates.push_back(std::move(aggregate));
    }
    return place->second;
  }

  const Formulas& formulas_;
  const NodeWriter& nodes_;
  ConstraintProgram& program_;
  SupportFinder support_;
  std::map<int, int> aggregates_;                                            // by sum
  std::map<std::pair<std::vector<int>, std::size_t>, GroupContent> groups_;  // by positions, then kind
};

// FNV-1a over everything that is fed to it, each piece with its length.
class Hash {
 public:
  void add(const std::string& text) {
    add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) mix(static_cast<unsigned char>(c));
  }
  void add(std::int64_t value) {
    for (int k = 0; k < 8; ++k) mix(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * k)));
  }
  void add(const std::vector<int>& list) {
    add(static_cast<std::int64_t>(list.size()));
    for (const int value : list) add(static_cast<std::int64_t>(value));
  }
  void add(const SetLiteral& literal) {
    add(static_cast<std::int64_t>(literal.position));
    add(literal.symbols);
  }
  void add(const std::vector<SetLiteral>& literals) {
    add(static_cast<std::int64_t>(literals.size()));
    for (const SetLiteral& literal : literals) add(literal);
  }
  void add(const ValueSet& set) {
    add(static_cast<std::int64_t>(set.intervals.size()));
    for (const auto& [low, high] : set.intervals) {
      add(low);
      add(high);
    }
  }
  void add(const NodeRef& ref) { add(2 * std::int64_t{ref.node} + ref.negated); }

  std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(state_));
    return text;
  }

 private:
  void mix(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

void write_groups(const std::vector<Kinds>& kinds, const Definitions& definitions, const NodeWriter& nodes,
                  ConstraintProgram& program) {
  GroupWriter writer(definitions, nodes, program);
  for (std::size_t family = 0; family < kinds.size(); ++family)
    writer.write(static_cast<int>(family), kinds[family]);
}

std::string meaning_hash(const ConstraintProgram& program) {
  Hash hash;
  for (const Position& position : program.positions) {
    hash.add(position.name);
    for (const std::string& symbol : position.symbols) hash.add(symbol);
  }
  for (const Node& node : program.nodes) {
    hash.add(static_cast<std::int64_t>(node.content.index()));
    const auto add_node = [&hash](const SetLiteral& set, const std::vector<NodeRef>& inputs,
                                  const std::vector<std::int64_t>& weights, const ValueSet& allowed) {
      hash.add(set);
      for (const NodeRef& ref : inputs) hash.add(ref);
      for (const std::int64_t weight : weights) hash.add(weight);
      hash.add(allowed);
    };
    std::visit(Overloaded{[&](const SetLiteral& set) { add_node(set, {}, {}, {}); },
                          [&](const Conjunction& all) { add_node({}, all.inputs, {}, {}); },
                          [&](const Disjunction& some) { add_node({}, some.inputs, {}, {}); },
                          [&](const Bound& sum) { add_node({}, sum.inputs, sum.weights, sum.allowed); }},
               node.content);
  }
  for (const Aggregate& aggregate : program.aggregates) {
    hash.add(aggregate.positions);
    hash.add(aggregate.constant);
    for (const auto& values : aggregate.values) {
      for (const std::int64_t value : values) hash.add(value);
    }
  }
  for (const Group& group : program.groups) {
    hash.add(static_cast<std::int64_t>(group.family));
    hash.add(static_cast<std::int64_t>(group.content.index()));
    std::visit(Overloaded{[&](const Slots& slots) {
                            for (const Slot& slot : slots) hash.add(slot.members);
                          },
                          [&](const Linears& linears) {
                            for (const Linear& linear : linears) {
                              hash.add(static_cast<std::int64_t>(linear.aggregate));
                              hash.add(static_cast<std::int64_t>(linear.guard));
                              for (const ValueSet& allowed : linear.allowed) hash.add(allowed);
                            }
                          },
                          [&](const Nogoods& nogoods) {
                            for (const Nogood& nogood : nogoods) hash.add(nogood.literals);
                          },
                          [&](const DerivedNogoods& nogoods) {
                            for (const DerivedNogood& nogood : nogoods) {
                              hash.add(static_cast<std::int64_t>(nogood.body.size()));
                              for (const NodeRef& ref : nogood.body) hash.add(ref);
                            }
                          }},
               group.content);
  }
  for (const ObjectiveLevel& level : program.objectives) {
    hash.add(static_cast<std::int64_t>(level.priority));
    for (const Cost& cost : level.costs) {
      hash.add(cost.weight);
      hash.add(cost.condition);
    }
  }
  for (const ShownAtom& shown : program.shown) {
    hash.add(shown.atom);
    hash.add(shown.condition);
  }
  return hash.hex();
}

}  // namespace as2::compile
