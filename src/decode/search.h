// Exact search for the K assignments of least loss.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "as2/decoder.h"
#include "decode/state.h"

namespace as2::decode {

struct Limits {
  std::int64_t nodes = 0;      // 0: none
  std::int64_t patience = -1;  // nodes after which the search learns; -1: as the problem is
  bool timed = false;
  std::chrono::steady_clock::time_point halfway;  // capped rounds without an answer end here
  std::chrono::steady_clock::time_point deadline;
};

struct Found {
  compile::Assignment assignment;
  std::vector<std::int64_t> loss;  // per criterion
};

// Decides whether an answer counts. One that does not is rejected together with all answers that agree with
// it on `positions`.
struct Filter {
  std::vector<int> positions;
  // The answer and its loss of the first criterion.
  std::function<bool(const compile::Assignment&, std::int64_t)> accepts;
  std::int64_t patience = 1;  // how many times longer plain search goes on before learning
  std::int64_t margin = 0;  // how far the loss of an accepted answer may exceed the least loss of any answer
  bool exhausted = false;   // set by accepts: no more answers are to be tried
};

struct SearchResult {
  std::vector<Found> found;  // best first
  bool complete = true;      // nothing better exists; false: a limit ended the search
  std::int64_t bound = 0;    // no assignment has a smaller loss of the first criterion
  std::int64_t nodes = 0;
};

// A workspace for one thread; everything it needs is allocated before the first node.
class Search {
 public:
  explicit Search(const Problem& problem) : state_(problem) {}

  // `losses`: per criterion, a loss per value; the least of each position is 0.
  SearchResult run(const std::vector<std::vector<std::int64_t>>& losses, const std::vector<Pin>& pins,
                   int models, const Limits& limits, Filter* filter = nullptr);
  State& state() { return state_; }

  std::vector<std::vector<std::int64_t>> losses;  // kept between runs for the caller to fill

 private:
  bool start(const std::vector<std::vector<std::int64_t>>& losses, const std::vector<Pin>& pins,
             std::int64_t cap);
  void settle_loose();
  void explore();
  bool resolve();
  void record();
  void keep_proven();
  int choose() const;
  bool out_of_budget();
  void learn(const std::vector<std::vector<std::int64_t>>& losses, const std::vector<Pin>& pins,
             std::int64_t lower);
  void keep(Found model);
  bool accepts(const Found& model);
  std::int64_t largest_cap() const;
  std::int64_t patience(const std::vector<std::int64_t>& loss) const;

  State state_;
  SearchResult result_;
  Limits limits_;
  std::size_t models_ = 1;
  std::int64_t cap_ = 0;
  std::int64_t patience_ = 0;
  std::int64_t offset_ = 0;  // the lower bound that shifting the losses has already proved
  Filter* filter_ = nullptr;
  std::int64_t least_seen_ = 0;  // loss of an answer, accepted or not, in the losses given
  std::int64_t lower_ = 0;       // the lower bound that learning has proved for the first criterion
  std::vector<std::vector<std::int64_t>> shifted_;
  std::vector<Found> proven_;  // the best models, proved by the last round that was searched to its end
  std::vector<int> open_;      // positions to decide
  bool abandoned_ = false;     // the cap was given up for want of budget
  bool impatient_ = false;     // time to learn from conflicts
};

}  // namespace as2::decode
