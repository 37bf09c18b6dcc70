// From a program to a circuit: search that remembers what it has seen.
//
// The compiler decides positions one after the other on the decoder's own propagation. After every decision
// the open positions fall into parts that no constraint connects any more (residual.h). A part whose
// fingerprint was seen before is the node it became then; a new one becomes a sum over the symbols of one of
// its positions, each term the product of what propagation settled and of the parts that are left. So sums
// are deterministic (their terms differ in the decided position's symbol) and products decomposable, by
// construction; every position is settled exactly once on every way down, which makes the circuit smooth.
// This is the trace of a model counter with component caching (Bacchus, Dalmao and Pitassi 2003; Huang and
// Darwiche 2007), over positions instead of clauses: partial sums of a linear constraint are shared, since a
// fingerprint holds what the rest of the sum may still be and not how it came about, and definitions are
// settled by propagation once their inputs are.
//
// Rejected: a sweep over a path decomposition with tables of states. It does the same on Latin squares and
// grids, but has no propagation, so a Sudoku with clues drowns in states that cannot be finished; and it
// cannot drop independent parts. Rejected too: compiling to clauses for an existing compiler, where sums lose
// their structure.
//
// The order of decisions matters more than anything else, and none is best everywhere: a tree decomposition
// for columns of digits and sparse graphs, rows for Latin squares, fewest symbols left for boards with clues.
// So all run, in rounds of growing budgets counted in decisions (the same on every machine), until a round in
// which some finish; the smallest circuit wins.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>

#include "decode/state.h"
#include "prob/node_store.h"
#include "prob/order.h"
#include "prob/residual.h"
#include "stop.h"

namespace as2::prob {
namespace {

using compile::ConstraintProgram;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kFirstRound = 4000;  // decisions
constexpr std::int64_t kGrowth = 8;         // factor by which a round's decisions grow
constexpr std::int64_t kBytesPerPart = 64;  // a remembered part

struct Order {
  const char* name = "";
  std::vector<int> rank;        // per real position
  bool fewest_symbols = false;  // then by rank
};

// Why a search ended early.
struct OutOfDecisions {};  // of this round
struct OutOfTime {};
struct OutOfMemory {};

std::vector<char> observed_positions(const std::vector<int>& indicator_of) {
  std::vector<char> observed;
  for (const int indicator : indicator_of) observed.push_back(indicator >= 0 ? 1 : 0);
  return observed;
}

class CircuitSearch {
 public:
  CircuitSearch(const decode::Problem& problem, const Circuit& shape, const std::vector<int>& indicator_of,
                const Order& order, std::int64_t decisions, Clock::time_point deadline, const Budget& budget)
      : problem_(problem),
        shape_(shape),
        indicator_of_(indicator_of),
        order_(order),
        most_decisions_(decisions),
        deadline_(deadline),
        budget_(budget),
        state_(problem),
        residual_(problem, state_, observed_positions(indicator_of)),
        store_(shape.inputs()) {}

  int run() {
    if (!state_.consistent()) return NodeStore::kZero;
    state_.reset();
    std::vector<int> all;
    for (int i = 0; i < problem_.positions; ++i) all.push_back(i);
    frames_.emplace_back();  // the whole: a product, without a position to decide
    begin_product(all, 1.0);
    for (;;) {
      if (Product& product = frames_.back().product; product.next < product.parts.size()) {
        compile(product.parts[product.next], product.share);
      } else if (frames_.size() == 1) {
        return store_.product(std::move(product.factors));
      } else {
        end_term();
        if (!next_term()) end_part();
      }
    }
  }

  const NodeStore& store() const { return store_; }
  std::int64_t decisions() const { return decisions_; }
  double share() const { return share_; }
  std::size_t parts() const { return known_.size(); }
  std::int64_t bytes() const {
    return store_.bytes() + open_bytes_ + static_cast<std::int64_t>(known_.size()) * kBytesPerPart;
  }

 private:
  // What is settled in a scope, and the parts of it that are open.
  struct Product {
    std::vector<int> factors;
    std::vector<Part> parts;
    std::size_t next = 0;  // the parts before this one are among the factors
    double share = 1;      // of all assignments, per part
  };
  // A part on the way to a sum, one term per value of a position. They stand on a list and not on the
  // thread's stack, as they are as many as positions that constraints connect.
  struct Frame {
    Part part;
    double share = 1;  // of all assignments
    int position = -1;
    int level = 0;  // of the state, with no value decided
    std::vector<int> values;
    std::size_t next = 0;                                // the value before this one is decided
    Product product;                                     // the rest of its term
    std::map<std::vector<int>, std::vector<int>> terms;  // symbols after which the same is left share one
  };

  // Indicators are one factor: hundreds of atoms may be settled at once, and in many places the same ones.
  std::vector<int> decided_inputs(const std::vector<int>& scope, int except) {
    std::vector<int> inputs, indicators;
    for (const int position : scope) {
      if (position == except || state_.size(position) > 1) continue;
      const int symbol = state_.first_value(position) - problem_.value_begin[position];
      if (position < problem_.real) {
        inputs.push_back(shape_.input(position, symbol));
      } else if (indicator_of_[position] >= 0) {
        indicators.push_back(shape_.indicator(indicator_of_[position], symbol == 1));
      }
    }
    if (!indicators.empty()) inputs.push_back(store_.product(std::move(indicators)));
    return inputs;
  }

  static std::int64_t bytes_of(const Part& part) {
    return static_cast<std::int64_t>(sizeof(Part) + part.positions.capacity() * sizeof(int));
  }

  // The product of the innermost frame: of what is decided in the scope, and of the parts that are open.
  // `share`: of all assignments.
  void begin_product(const std::vector<int>& scope, double share) {
    Product& product = frames_.back().product;
    product = {};
    product.factors = decided_inputs(scope, frames_.back().position);
    product.parts = residual_.split(scope);
    // Small parts first: one that cannot be satisfied spares the large ones.
    std::stable_sort(product.parts.begin(), product.parts.end(),
                     [](const Part& a, const Part& b) { return a.positions.size() < b.positions.size(); });
    if (product.parts.empty()) share_ += share;
    product.share = share / std::max(1.0, static_cast<double>(product.parts.size()));
    for (const Part& part : product.parts) open_bytes_ += bytes_of(part);
  }

  // The next part of the innermost product has become this node.
  void take(int node) {
    Product& product = frames_.back().product;
    product.factors.push_back(node);
    ++product.next;
    if (node != NodeStore::kZero) return;
    for (; product.next < product.parts.size(); ++product.next)
      open_bytes_ -= bytes_of(product.parts[product.next]);
    product.parts.clear();
    product.next = 0;
  }

  // The part, one of the innermost product's, becomes a node at once or a frame of its own.
  void compile(Part& part, double share) {
    const int position = choose(part);
    const auto at_once = [&](int node) {
      share_ += share;
      open_bytes_ -= bytes_of(part);
      take(node);
    };
    if (part.positions.size() == 1 && !part.constrained) {
      std::vector<int> symbols;
      for (int v = state_.first_value(position); v >= 0; v = state_.next_value(position, v)) {
        symbols.push_back(shape_.input(position, v - problem_.value_begin[position]));
      }
      return at_once(store_.sum(std::move(symbols)));
    }
    const auto known = known_.find(part.fingerprint);
    if (known != known_.end()) return at_once(known->second);
    Frame frame;
    frame.part = std::move(part);
    frame.share = share;
    frame.position = position;
    frame.level = state_.level();
    for (int v = state_.first_value(position); v >= 0; v = state_.next_value(position, v))
      frame.values.push_back(v);
    frames_.push_back(std::move(frame));
    open_bytes_ += static_cast<std::int64_t>(sizeof(Frame));
    if (!next_term()) end_part();
  }

  // Decides the next value of the innermost frame that propagation does not refute; false: there is none.
  bool next_term() {
    Frame& frame = frames_.back();
    const double share = frame.share / static_cast<double>(frame.values.size());
    while (frame.next < frame.values.size()) {
      count_decision();
      state_.decide(frame.values[frame.next++]);
      if (state_.propagate()) {
        begin_product(frame.part.positions, share);
        return true;
      }
      share_ += share;
      state_.backtrack(frame.level);
    }
    return false;
  }

  void end_term() {
    Frame& frame = frames_.back();
    std::vector<int>& rest = frame.product.factors;
    if (std::find(rest.begin(), rest.end(), NodeStore::kZero) == rest.end()) {
      std::sort(rest.begin(), rest.end());
      const int symbol = frame.values[frame.next - 1] - problem_.value_begin[frame.position];
      frame.terms[std::move(rest)].push_back(shape_.input(frame.position, symbol));
    }
    state_.backtrack(frame.level);
  }

  void end_part() {
    Frame& frame = frames_.back();
    std::vector<int> sum;
    for (auto& [rest, symbols] : frame.terms) {
      std::vector<int> factors = rest;
      factors.push_back(store_.sum(symbols));
      sum.push_back(store_.product(std::move(factors)));
    }
    const int node = store_.sum(std::move(sum));
    known_.emplace(frame.part.fingerprint, node);
    open_bytes_ -= static_cast<std::int64_t>(sizeof(Frame)) + bytes_of(frame.part);
    frames_.pop_back();
    take(node);
  }

  int choose(const Part& part) const {
    int best = -1;
    const auto before = [&](int a, int b) {
      if (order_.fewest_symbols && state_.size(a) != state_.size(b)) return state_.size(a) < state_.size(b);
      return order_.rank[a] < order_.rank[b];
    };
    for (const int position : part.positions) {
      if (position >= problem_.real) break;
      if (best < 0 || before(position, best)) best = position;
    }
    AS2_REQUIRE(best >= 0, "what definitions derive follows from positions");
    return best;
  }

  void count_decision() {
    if (++decisions_ > most_decisions_) throw OutOfDecisions();
    throw_if_stopped(budget_.stop, "compiling the circuit");
    if (budget_.seconds > 0 && Clock::now() > deadline_) throw OutOfTime();
    if (budget_.bytes > 0 && bytes() > budget_.bytes) throw OutOfMemory();
  }

  const decode::Problem& problem_;
  const Circuit& shape_;
  const std::vector<int>& indicator_of_;  // per position: index into Circuit::observed, or -1
  const Order& order_;
  std::int64_t most_decisions_;
  Clock::time_point deadline_;
  const Budget& budget_;
  decode::State state_;
  Residual residual_;
  NodeStore store_;
  FingerprintMap<int> known_;
  std::deque<Frame> frames_;     // from the whole inwards
  std::int64_t open_bytes_ = 0;  // of the frames and their parts
  std::int64_t decisions_ = 0;
  double share_ = 0;  // of all assignments the part, 0 to 1, that the circuit covers so far
};

std::vector<Order> orders_of(const decode::Problem& problem) {
  std::vector<Order> orders(3);
  orders[0].name = "in the order of their names";
  for (int i = 0; i < problem.real; ++i) orders[0].rank.push_back(i);
  orders[1].name = "along a tree decomposition";
  orders[1].rank = tree_order(problem);
  orders[2].name = "by the fewest symbols left";
  orders[2].rank = orders[0].rank;
  orders[2].fewest_symbols = true;
  return orders;
}

[[noreturn]] void refuse(const ConstraintProgram& program, const CircuitSearch& search, const Order& order,
                         const Budget& budget, double seconds) {
  char text[400];
  std::snprintf(
      text, sizeof text,
      "the circuit does not fit its budget of %g s and %lld MiB: after %.1f s, deciding positions %s, "
      "it had %lld nodes, %lld edges (%lld MiB) and %zu parts remembered, with %.3g %% of all assignments "
      "settled",
      budget.seconds, static_cast<long long>(budget.bytes >> 20), seconds, order.name,
      static_cast<long long>(search.store().nodes()), static_cast<long long>(search.store().edges()),
      static_cast<long long>(search.bytes() >> 20), search.parts(), 100 * search.share());
  SourceLocation location;
  if (!program.positions.empty()) location.file = program.positions.front().location.file;
  throw CircuitTooLarge(
      location, text,
      {"`--approx top-k` sums the best answers and bounds what is missing; `--approx sample` "
       "draws answers (`as2 prob`, `as2 predict`; approximate() in Python)",
       "clues as facts, or a smaller program, leave less to compile; `--time-budget` and "
       "`--memory-budget` allow more (time_budget= and memory_budget= in Python)",
       "in training losses.circuit.seconds and losses.circuit.mib allow more; losses.query.approx = "
       "\"search\", where positions alone are observed, and losses.constraint do without a circuit"});
}

}  // namespace

Circuit compile_circuit(const ConstraintProgram& program, const std::vector<int>& observed,
                        const Budget& budget) {
  ConstraintProgram source = program;
  source.objectives.clear();  // costs do not decide what holds
  Circuit shape;
  shape.positions = static_cast<int>(source.positions.size());
  shape.symbols = source.max_symbols();
  for (const int node : observed) {
    AS2_REQUIRE(node >= 0 && node < static_cast<int>(source.nodes.size()), "an observed node does not exist");
    if (!std::holds_alternative<compile::SetLiteral>(source.nodes[node].content))
      shape.observed.push_back(node);
  }
  std::sort(shape.observed.begin(), shape.observed.end());
  shape.observed.erase(std::unique(shape.observed.begin(), shape.observed.end()), shape.observed.end());

  const auto begin = Clock::now();
  const decode::Problem problem(source, {}, shape.observed);
  std::vector<int> indicator_of(static_cast<std::size_t>(problem.positions), -1);
  for (std::size_t k = 0; k < shape.observed.size(); ++k) {
    indicator_of[problem.position_of[problem.node_literal(shape.observed[k])]] = static_cast<int>(k);
  }
  const std::vector<Order> orders = orders_of(problem);
  const auto deadline =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(budget.seconds));
  for (std::int64_t decisions = kFirstRound;; decisions *= kGrowth) {
    std::optional<Circuit> best;
    std::size_t too_large = 0;
    for (const Order& order : orders) {
      CircuitSearch search(problem, shape, indicator_of, order, decisions, deadline, budget);
      const auto give_up = [&] {
        refuse(program, search, order, budget, std::chrono::duration<double>(Clock::now() - begin).count());
      };
      try {
        Circuit circuit = search.store().finish(search.run());
        if (!best || circuit.children.size() < best->children.size()) best = std::move(circuit);
        decisions =
            std::min(decisions, search.decisions());  // another order is worth no more than this one took
      } catch (const OutOfDecisions&) {
      } catch (const OutOfTime&) {
        if (best) break;
        give_up();
      } catch (const OutOfMemory&) {
        if (!best && ++too_large == orders.size()) give_up();
      }
    }
    if (!best) continue;
    best->positions = shape.positions;
    best->symbols = shape.symbols;
    best->observed = shape.observed;
    return *std::move(best);
  }
}

}  // namespace as2::prob
