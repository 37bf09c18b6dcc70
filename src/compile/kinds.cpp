// What a constraint says, by the shape of its normal form:
//   sets only                                   nogood
//   one test of a sum over positions            at most one, exactly one, or linear
//   the same and a set of one other position    linear with a guard; instances over one sum and one guard
//                                               position are one joint constraint
//   anything else                               derived
#include <algorithm>

#include "compile/kinds.h"

namespace as2::compile {
namespace {

class Classifier {
 public:
  Classifier(const Positions& positions, Definitions& definitions)
      : positions_(*positions.positions), formulas_(definitions.formulas) {}

  void add(const Instance& instance, Kinds& kinds) {
    std::vector<int> sets;
    std::vector<Formula> tests;
    bool other = false;
    for (const Formula formula : instance.body) {
      const FormulaBody& body = formulas_[formula.id];
      if (body.kind == FormulaKind::kSet) {
        sets.push_back(formula.id);
      } else if (body.kind == FormulaKind::kTest && formulas_.sum(body.sum).others.empty()) {
        tests.push_back(formula);
      } else {
        other = true;
      }
    }
    if (!other && tests.empty()) {
      std::sort(sets.begin(), sets.end(), [&](int a, int b) { return position_of(a) < position_of(b); });
      kinds.nogoods.insert(std::move(sets));
    } else if (!other && tests.size() == 1 && sets.empty()) {
      add_test(formulas_.negation(tests.front()), kinds);
    } else if (!other && tests.size() == 1 && sets.size() == 1 &&
               !sums_over(tests.front(), position_of(sets.front()))) {
      const FormulaBody& test = formulas_[formulas_.negation(tests.front()).id];
      const SetLiteral guard = formulas_[sets.front()].set;
      add_linear(test.sum, guard.position, guard.symbols, test.values, kinds);
    } else {
      kinds.deriveds.insert(instance.body);
    }
  }

  // `test` must hold.
  void add_test(Formula test, Kinds& kinds) {
    for (const int sign : {1, -1}) {
      std::vector<int> members;
      const std::int64_t base = members_counted(formulas_[test.id].sum, sign, members);
      if (members.empty()) break;
      const Sum& sum = formulas_.sum(formulas_[test.id].sum);
      const auto means = [&](std::int64_t low, std::int64_t high) {
        const std::int64_t a = base + sign * low;
        const std::int64_t b = base + sign * high;
        return formulas_[test.id].values ==
               simplified(interval(std::min(a, b), std::max(a, b)), sum.reachable);
      };
      if (!about_atoms(members)) continue;
      if (means(0, 1)) return kinds.at_most_one.push_back({members, test});
      if (means(1, 1)) return kinds.exactly_one.push_back({members, test});
    }
    const FormulaBody& body = formulas_[test.id];
    add_linear(body.sum, -1, {0}, body.values, kinds);
  }

  void add_linear(int sum, int guard, const std::vector<int>& symbols, const ValueSet& allowed,
                  Kinds& kinds) {
    std::vector<ValueSet>& list = kinds.linears[{sum, guard}];
    const ValueSet& reachable = formulas_.sum(sum).reachable;
    if (list.empty()) {
      const std::size_t size = guard < 0 ? 1 : positions_[static_cast<std::size_t>(guard)].symbols.size();
      list.assign(size, simplified(reachable, reachable));
    }
    for (const int symbol : symbols) {
      ValueSet& entry = list[static_cast<std::size_t>(symbol)];
      entry = simplified(intersection(entry, allowed), reachable);
    }
  }

  // Does every set say that atoms hold (rather than that a position is false or unpicked)?
  bool about_atoms(const std::vector<int>& sets) const {
    return std::all_of(sets.begin(), sets.end(), [&](int id) {
      const SetLiteral& set = formulas_[id].set;
      const auto& atoms = positions_[static_cast<std::size_t>(set.position)].atoms;
      return std::none_of(set.symbols.begin(), set.symbols.end(),
                          [&](int symbol) { return atoms[static_cast<std::size_t>(symbol)].empty(); });
    });
  }

  int position_of(int set) const { return formulas_[set].set.position; }

  // The symbol that a set names; several symbols are joined into one text.
  std::string symbol_of(int set) const {
    std::string text;
    const Position& position = positions_[static_cast<std::size_t>(position_of(set))];
    for (const int symbol : formulas_[set].set.symbols)
      text += position.symbols[static_cast<std::size_t>(symbol)] + '\n';
    return text;
  }

 private:
  bool sums_over(Formula test, int position) const {
    const std::vector<int>& positions = formulas_.sum(formulas_[test.id].sum).positions;
    return std::binary_search(positions.begin(), positions.end(), position);
  }

  // If the sum is base + sign·(number of positions whose symbol lies in a set), the sets; else none.
  std::int64_t members_counted(int index, int sign, std::vector<int>& members) {
    const Sum sum = formulas_.sum(index);
    std::int64_t base = sum.constant;
    for (std::size_t k = 0; k < sum.positions.size(); ++k) {
      const auto [low, high] = std::minmax_element(sum.values[k].begin(), sum.values[k].end());
      const std::int64_t rest = sign > 0 ? *low : *high;
      std::vector<int> symbols;
      for (std::size_t s = 0; s < sum.values[k].size(); ++s) {
        if (sum.values[k][s] == rest) continue;
        if (sum.values[k][s] != rest + sign) {
          members.clear();
          return 0;
        }
        symbols.push_back(static_cast<int>(s));
      }
      base += rest;
      members.push_back(formulas_.set(sum.positions[k], std::move(symbols)).id);
    }
    return base;
  }

  const std::vector<Position>& positions_;
  Formulas& formulas_;
};

// Pairwise nogoods of one family as a graph whose nodes are sets.
class ConflictGraph {
 public:
  void add(int a, int b) {
    unite(a, b);
    edges_.emplace_back(a, b);
  }

  // Connected components: their nodes and how many edges they have.
  struct Component {
    std::vector<int> nodes;
    std::vector<std::pair<int, int>> edges;
  };
  std::map<int, Component> components() {
    std::map<int, Component> result;
    for (const auto& [node, parent] : parents_) result[find(node)].nodes.push_back(node);
    for (const auto& edge : edges_) result[find(edge.first)].edges.push_back(edge);
    return result;
  }

 private:
  int find(int node) {
    auto place = parents_.emplace(node, node).first;
    while (place->second != place->first) {
      auto parent = parents_.find(place->second);
      place->second = parent->second;
      place = parent;
    }
    return place->first;
  }
  void unite(int a, int b) {
    const int root = find(a);
    parents_[find(b)] = root;
  }

  std::map<int, int> parents_;
  std::vector<std::pair<int, int>> edges_;
};

}  // namespace

std::vector<Kinds> classify(const Constraints& constraints, const Positions& positions,
                            Definitions& definitions) {
  std::vector<Kinds> kinds(constraints.families.size());
  Classifier classifier(positions, definitions);
  for (const Instance& instance : constraints.instances) {
    classifier.add(instance, kinds[static_cast<std::size_t>(instance.family)]);
  }
  return kinds;
}

void merge_cliques(std::vector<Kinds>& kinds, const Positions& positions, Definitions& definitions) {
  Formulas& formulas = definitions.formulas;
  const Classifier classifier(positions, definitions);
  for (Kinds& family : kinds) {
    ConflictGraph graph;
    for (auto nogood = family.nogoods.begin(); nogood != family.nogoods.end();) {
      if (nogood->size() == 2 && classifier.about_atoms(*nogood)) {
        graph.add((*nogood)[0], (*nogood)[1]);
        nogood = family.nogoods.erase(nogood);
      } else {
        ++nogood;
      }
    }
    for (auto& [root, component] : graph.components()) {
      // The component is a clique if every two nodes of different positions conflict; nodes of one position
      // count as one.
      std::map<int, std::vector<Formula>> by_position;
      for (const int node : component.nodes)
        by_position[classifier.position_of(node)].push_back({node, false});
      std::size_t pairs = component.nodes.size() * component.nodes.size();
      for (const auto& entry : by_position) pairs -= entry.second.size() * entry.second.size();
      std::vector<int> members;
      for (const auto& entry : by_position) members.push_back(formulas.disjunction(entry.second).id);
      const bool whole_domain = std::find(members.begin(), members.end(), 0) != members.end();
      if (2 * component.edges.size() == pairs && !whole_domain) {
        family.at_most_one.push_back({std::move(members), kTrue});
        continue;
      }
      // Without cliques, each edge is an exclusive pair if all edges forbid the same symbol, as in a graph
      // colouring.
      const std::string symbol = classifier.symbol_of(component.nodes.front());
      const bool one_symbol = std::all_of(component.nodes.begin(), component.nodes.end(),
                                          [&](int node) { return classifier.symbol_of(node) == symbol; });
      for (const auto& [a, b] : component.edges) {
        if (one_symbol) {
          family.at_most_one.push_back({{a, b}, kTrue});
        } else {
          family.nogoods.insert({a, b});
        }
      }
    }
  }
}

namespace {

// Groups exclusive instances of one family.
class ExclusiveMerger {
 public:
  ExclusiveMerger(const Positions& positions, const Formulas& formulas)
      : positions_(*positions.positions), formulas_(formulas) {}

  std::vector<ExclusiveGroup> merge(const std::vector<ExclusiveInstance>& instances) const {
    std::map<std::vector<int>, ExclusiveGroup> groups;
    std::set<std::vector<int>> seen;
    for (const ExclusiveInstance& instance : instances) {
      if (!seen.insert(instance.members).second) continue;
      std::vector<int> key;
      for (const int member : instance.members) key.push_back(formulas_[member].set.position);
      ExclusiveGroup& group = groups[key];
      group.positions = key;
      group.instances.push_back(instance);
    }
    join_smaller(groups);
    std::vector<ExclusiveGroup> result;
    for (auto& entry : groups) {
      if (!entry.second.instances.empty()) result.push_back(std::move(entry.second));
    }
    return result;
  }

  // As many instances as positions, and every symbol of every position in exactly one: then each position
  // counts once, so at most one in each instance is exactly one.
  bool pigeonhole(const ExclusiveGroup& group) const {
    if (group.instances.size() != group.positions.size()) return false;
    std::set<std::pair<int, int>> covered;
    std::size_t total = 0;
    for (const ExclusiveInstance& instance : group.instances) {
      for (const int member : instance.members) {
        for (const int symbol : formulas_[member].set.symbols) {
          if (!covered.emplace(formulas_[member].set.position, symbol).second) return false;
        }
      }
    }
    for (const int position : group.positions)
      total += positions_[static_cast<std::size_t>(position)].symbols.size();
    return covered.size() == total;
  }

 private:
  // The symbol all members name, or nothing.
  const std::string* common_symbol(const ExclusiveInstance& instance) const {
    const std::string* common = nullptr;
    for (const int member : instance.members) {
      const SetLiteral& set = formulas_[member].set;
      if (set.symbols.size() != 1) return nullptr;
      const std::string& symbol = positions_[static_cast<std::size_t>(set.position)]
                                      .symbols[static_cast<std::size_t>(set.symbols.front())];
      if (common != nullptr && *common != symbol) return nullptr;
      common = &symbol;
    }
    return common;
  }

  bool has_symbol(int position, const std::string& symbol) const {
    const auto& symbols = positions_[static_cast<std::size_t>(position)].symbols;
    return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
  }

  // The instance of symbol v joins a larger group G if its positions are exactly those of G that have v.
  void join_smaller(std::map<std::vector<int>, ExclusiveGroup>& groups) const {
    std::size_t smallest = ~std::size_t{0};
    std::map<int, std::vector<ExclusiveGroup*>> containing;
    for (auto& entry : groups) {
      smallest = std::min(smallest, entry.first.size());
    }
    for (auto& entry : groups) {
      if (entry.first.size() == smallest) continue;
      for (const int position : entry.first) containing[position].push_back(&entry.second);
    }
    for (auto& entry : groups) {
      const std::vector<int>& own = entry.first;
      const auto candidates = containing.find(own.front());
      if (candidates == containing.end()) continue;
      auto& instances = entry.second.instances;
      instances.erase(std::remove_if(instances.begin(), instances.end(),
                                     [&](const ExclusiveInstance& instance) {
                                       ExclusiveGroup* larger =
                                           group_to_join(instance, own, candidates->second);
                                       if (larger != nullptr) larger->instances.push_back(instance);
                                       return larger != nullptr;
                                     }),
                      instances.end());
    }
  }

  ExclusiveGroup* group_to_join(const ExclusiveInstance& instance, const std::vector<int>& own,
                                const std::vector<ExclusiveGroup*>& candidates) const {
    const std::string* symbol = common_symbol(instance);
    if (symbol == nullptr) return nullptr;
    for (ExclusiveGroup* candidate : candidates) {
      if (candidate->positions.size() <= own.size()) continue;
      std::vector<int> having;
      for (const int position : candidate->positions) {
        if (has_symbol(position, *symbol)) having.push_back(position);
        if (having.size() > own.size()) break;
      }
      if (having == own) return candidate;
    }
    return nullptr;
  }

  const std::vector<Position>& positions_;
  const Formulas& formulas_;
};

}  // namespace

void merge_exclusive(std::vector<Kinds>& kinds, const Positions& positions, Definitions& definitions) {
  const ExclusiveMerger merger(positions, definitions.formulas);
  Classifier classifier(positions, definitions);
  for (Kinds& family : kinds) {
    for (const ExclusiveGroup& group : merger.merge(family.exactly_one)) {
      const bool at_most_one_suffices = merger.pigeonhole(group);
      for (const ExclusiveInstance& instance : group.instances) {
        if (at_most_one_suffices) {
          family.at_most_one.push_back(instance);
        } else {
          const FormulaBody& test = definitions.formulas[instance.test.id];
          classifier.add_linear(test.sum, -1, {0}, test.values, family);
        }
      }
    }
    family.exclusive = merger.merge(family.at_most_one);
  }
}

}  // namespace as2::compile
