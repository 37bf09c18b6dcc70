#include "prob/order.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace as2::prob {
namespace {

using Words = std::vector<std::uint64_t>;

// Past this many words touched, the number of neighbours takes the place of the fill: also a tree
// decomposition, usually a little wider, at a fraction of the price.
constexpr std::int64_t kMostWork = std::int64_t{1} << 25;

class Graph {
 public:
  explicit Graph(int size) : words_((size + 63) / 64), rows_(size, Words(words_, 0)) {}

  void connect(std::vector<int> clique) {
    std::sort(clique.begin(), clique.end());
    clique.erase(std::unique(clique.begin(), clique.end()), clique.end());
    for (const int a : clique) {
      for (const int b : clique) {
        if (a != b) rows_[a][b / 64] |= std::uint64_t{1} << (b % 64);
      }
    }
  }
  int degree(int v) const {
    int count = 0;
    for (const std::uint64_t word : rows_[v]) count += __builtin_popcountll(word);
    return count;
  }
  // Twice the edges missing among the neighbours.
  std::int64_t fill(int v) {
    const std::int64_t others = degree(v) - 1;
    std::int64_t missing = 0;
    for_each_neighbour(v, [&](int u) {
      std::int64_t common = 0;
      for (int w = 0; w < words_; ++w) common += __builtin_popcountll(rows_[v][w] & rows_[u][w]);
      missing += others - common;
    });
    work_ += (others + 2) * words_;
    return missing;
  }
  template <class Visit>
  void for_each_neighbour(int v, const Visit& visit) const {
    for (int w = 0; w < words_; ++w) {
      for (std::uint64_t rest = rows_[v][w]; rest; rest &= rest - 1) visit(64 * w + __builtin_ctzll(rest));
    }
  }
  // Joins the neighbours and takes the vertex out.
  void eliminate(int v) {
    for_each_neighbour(v, [&](int u) {
      for (int w = 0; w < words_; ++w) rows_[u][w] |= rows_[v][w];
      rows_[u][u / 64] &= ~(std::uint64_t{1} << (u % 64));
      rows_[u][v / 64] &= ~(std::uint64_t{1} << (v % 64));
    });
  }
  std::int64_t work() const { return work_; }

 private:
  int words_;
  std::vector<Words> rows_;
  std::int64_t work_ = 0;
};

Graph primal_graph(const decode::Problem& problem) {
  Graph graph(problem.positions);
  const auto connect = [&](const decode::Table& table) {
    for (int row = 0; row < table.rows(); ++row) {
      std::vector<int> clique;
      for (const int* item = table.first(row); item != table.last(row); ++item)
        clique.push_back(problem.position_of_literal(*item));
      graph.connect(std::move(clique));
    }
  };
  connect(problem.slots);
  connect(problem.nogoods);
  for (const decode::LinearConstraint& linear : problem.linears) {
    std::vector<int> clique = linear.positions;
    if (linear.guard >= 0) clique.push_back(linear.guard);
    graph.connect(std::move(clique));
  }
  return graph;
}

}  // namespace

std::vector<int> tree_order(const decode::Problem& problem) {
  Graph graph = primal_graph(problem);
  const int count = problem.positions;
  std::vector<std::int64_t> price(count);
  std::vector<char> gone(count, 0);
  std::vector<char> stale(count, 1);
  std::vector<int> rank(problem.real, 0);
  int next = problem.real;
  for (int step = 0; step < count; ++step) {
    int best = -1;
    for (int v = 0; v < count; ++v) {
      if (gone[v]) continue;
      if (stale[v]) {
        price[v] = graph.work() < kMostWork ? graph.fill(v) : graph.degree(v);
        stale[v] = 0;
      }
      if (best < 0 || price[v] < price[best]) best = v;
    }
    gone[best] = 1;
    if (best < problem.real) rank[best] = --next;
    // A vertex's degree changes with its own edges, its fill with those among its neighbours too.
    const bool fills = price[best] > 0 && graph.work() < kMostWork;
    graph.for_each_neighbour(best, [&](int u) {
      stale[u] = 1;
      if (fills) graph.for_each_neighbour(u, [&](int w) { stale[w] = 1; });
    });
    graph.eliminate(best);
  }
  return rank;
}

}  // namespace as2::prob
