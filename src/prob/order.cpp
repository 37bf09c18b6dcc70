#include "prob/order.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace as2::prob {
namespace {

using Words = std::vector<std::uint64_t>;

// Past this many words touched, the number of neighbours takes the place of the fill: also a tree
// decomposition, usually a little wider, at a fraction of the price.
constexpr std::int64_t kMostWork = std::int64_t{1} << 25;
// A graph is a matrix of bits: 128 MiB of this many vertices. More are decided in the order of their names.
constexpr std::size_t kMostPositions = std::size_t{1} << 15;

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

// Hands every set of positions that some constraint mentions to `take`.
template <class Take>
void for_each_clique(const decode::Problem& problem, const Take& take) {
  std::vector<int> clique;
  for (const decode::Table* table : {&problem.slots, &problem.nogoods}) {
    for (int row = 0; row < table->rows(); ++row) {
      clique.clear();
      for (const int* item = table->first(row); item != table->last(row); ++item)
        clique.push_back(problem.position_of_literal(*item));
      if (!clique.empty()) take(clique);
    }
  }
  for (const decode::LinearConstraint& linear : problem.linears) {
    clique = linear.positions;
    if (linear.guard >= 0) clique.push_back(linear.guard);
    if (!clique.empty()) take(clique);
  }
}

// The positions in sets that no constraint connects with one another, each ascending.
std::vector<std::vector<int>> connected_sets(const decode::Problem& problem) {
  std::vector<int> parent(static_cast<std::size_t>(problem.positions));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for_each_clique(problem, [&](const std::vector<int>& clique) {
    for (const int v : clique) parent[root(v)] = root(clique.front());
  });
  std::vector<std::vector<int>> sets;
  std::vector<int> index(parent.size(), -1);
  for (int v = 0; v < problem.positions; ++v) {
    int& own = index[root(v)];
    if (own < 0) {
      own = static_cast<int>(sets.size());
      sets.emplace_back();
    }
    sets[own].push_back(v);
  }
  return sets;
}

// The vertices in the order in which they are eliminated.
std::vector<int> elimination_order(Graph& graph, int count) {
  std::vector<std::int64_t> price(count);
  std::vector<char> gone(count, 0);
  std::vector<char> stale(count, 1);
  std::vector<int> order;
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
    order.push_back(best);
    // A vertex's degree changes with its own edges, its fill with those among its neighbours too.
    const bool fills = price[best] > 0 && graph.work() < kMostWork;
    graph.for_each_neighbour(best, [&](int u) {
      stale[u] = 1;
      if (fills) graph.for_each_neighbour(u, [&](int w) { stale[w] = 1; });
    });
    graph.eliminate(best);
  }
  return order;
}

}  // namespace

std::vector<int> tree_order(const decode::Problem& problem) {
  const std::vector<std::vector<int>> sets = connected_sets(problem);
  std::vector<int> set_of(static_cast<std::size_t>(problem.positions)), place(set_of.size());
  for (std::size_t c = 0; c < sets.size(); ++c) {
    for (std::size_t k = 0; k < sets[c].size(); ++k) {
      set_of[sets[c][k]] = static_cast<int>(c);
      place[sets[c][k]] = static_cast<int>(k);
    }
  }
  std::vector<std::vector<std::vector<int>>> cliques(sets.size());
  for_each_clique(problem, [&](std::vector<int> clique) {
    const auto set = static_cast<std::size_t>(set_of[clique.front()]);
    for (int& v : clique) v = place[v];
    if (sets[set].size() <= kMostPositions) cliques[set].push_back(std::move(clique));
  });
  std::vector<int> rank(problem.real, 0);
  int next = problem.real;
  const auto eliminate = [&](int v) {
    if (v < problem.real) rank[v] = --next;
  };
  for (std::size_t c = 0; c < sets.size(); ++c) {
    const std::vector<int>& positions = sets[c];
    if (positions.size() == 1 || positions.size() > kMostPositions) {
      std::for_each(positions.rbegin(), positions.rend(), eliminate);
      continue;
    }
    const int count = static_cast<int>(positions.size());
    Graph graph(count);
    for (std::vector<int>& clique : cliques[c]) graph.connect(std::move(clique));
    cliques[c].clear();
    for (const int v : elimination_order(graph, count)) eliminate(positions[v]);
  }
  return rank;
}

}  // namespace as2::prob
