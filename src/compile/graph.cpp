#include "compile/graph.h"

#include <algorithm>

namespace as2::compile {

Graph::Graph(int nodes, const std::vector<std::pair<int, int>>& edges)
    : begin_(static_cast<std::size_t>(nodes) + 1, 0), targets_(edges.size()) {
  for (const auto& edge : edges) ++begin_[static_cast<std::size_t>(edge.first) + 1];
  for (std::size_t k = 1; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  std::vector<int> next(begin_.begin(), begin_.end() - 1);
  for (const auto& [source, target] : edges)
    targets_[static_cast<std::size_t>(next[static_cast<std::size_t>(source)]++)] = target;
}

namespace {

// Tarjan's algorithm with an explicit stack: programs may chain tens of thousands of rules.
class ComponentFinder {
 public:
  explicit ComponentFinder(const Graph& graph)
      : graph_(graph),
        index_(static_cast<std::size_t>(graph.nodes()), 0),
        low_(static_cast<std::size_t>(graph.nodes()), 0) {
    result_.of.assign(static_cast<std::size_t>(graph.nodes()), -1);
  }

  Components run() {
    for (int node = 0; node < graph_.nodes(); ++node) {
      if (index_[static_cast<std::size_t>(node)] == 0) visit(node);
    }
    return std::move(result_);
  }

 private:
  struct Frame {
    int node;
    const int* next;
  };

  void enter(int node) {
    index_[static_cast<std::size_t>(node)] = low_[static_cast<std::size_t>(node)] = ++counter_;
    stack_.push_back(node);
    frames_.push_back({node, graph_.first(node)});
  }

  void visit(int root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const auto node = static_cast<std::size_t>(frame.node);
      if (frame.next != graph_.last(frame.node)) {
        const int target = *frame.next++;
        if (index_[static_cast<std::size_t>(target)] == 0) {
          enter(target);
        } else if (result_.of[static_cast<std::size_t>(target)] < 0) {
          low_[node] = std::min(low_[node], index_[static_cast<std::size_t>(target)]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) {
        int& above = low_[static_cast<std::size_t>(frames_.back().node)];
        above = std::min(above, low_[node]);
      }
      if (low_[node] == index_[node]) close(static_cast<int>(node));
    }
  }

  void close(int root) {
    const int component = static_cast<int>(result_.is_cycle.size());
    bool cycle =
        stack_.back() != root || std::find(graph_.first(root), graph_.last(root), root) != graph_.last(root);
    int node = -1;
    do {
      node = stack_.back();
      stack_.pop_back();
      result_.of[static_cast<std::size_t>(node)] = component;
    } while (node != root);
    result_.is_cycle.push_back(cycle);
  }

  const Graph& graph_;
  std::vector<int> index_;
  std::vector<int> low_;
  std::vector<int> stack_;
  std::vector<Frame> frames_;
  Components result_;
  int counter_ = 0;
};

}  // namespace

Components components_of(const Graph& graph) {
  return ComponentFinder(graph).run();
}

}  // namespace as2::compile
