// Directed graphs of many nodes, and their strongly connected components.
#pragma once

#include <utility>
#include <vector>

namespace as2::compile {

// Edges by source, in one array.
class Graph {
 public:
  Graph(int nodes, const std::vector<std::pair<int, int>>& edges);

  int nodes() const { return static_cast<int>(begin_.size()) - 1; }
  const int* first(int node) const { return targets_.data() + begin_[static_cast<std::size_t>(node)]; }
  const int* last(int node) const { return targets_.data() + begin_[static_cast<std::size_t>(node) + 1]; }

 private:
  std::vector<int> begin_;
  std::vector<int> targets_;
};

struct Components {
  std::vector<int> of;         // per node: its component; what a component depends on has smaller numbers
  std::vector<char> is_cycle;  // per component: more than one node, or one with an edge to itself
};
Components components_of(const Graph& graph);

}  // namespace as2::compile
