// Exact search for the K assignments of least loss.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "as2/decoder.h"
#include "decode/row_search.h"
#include "decode/search_learning.h"
#include "decode/search_result.h"
#include "decode/state.h"

namespace as2::decode {

struct Limits {
  // The time now, where time or `stop` ends a search: the latest there is once `stop` is true.
  std::chrono::steady_clock::time_point now() const {
    return stop && *stop ? std::chrono::steady_clock::time_point::max() : std::chrono::steady_clock::now();
  }

  std::int64_t nodes = 0;      // 0: none
  std::int64_t patience = -1;  // nodes after which the search learns; -1: as the problem is
  bool timed = false;          // there is a deadline or a `stop`
  // Capped rounds without an answer end here.
  std::chrono::steady_clock::time_point halfway = std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;
};

// A workspace for one thread; everything it needs is allocated before the first node.
class Search {
 public:
  // `rows`: of the problem, where it has them.
  explicit Search(const Problem& problem, std::shared_ptr<const RowTables> rows = nullptr);

  // `losses`: per criterion, a loss per value; the least of each position is 0.
  SearchResult run(const std::vector<std::vector<std::int64_t>>& losses, const std::vector<Pin>& pins,
                   int models, const Limits& limits, Filter* filter = nullptr);
  State& state() { return state_; }

  std::vector<std::vector<std::int64_t>> losses;  // kept between runs for the caller to fill

 private:
  SearchResult run_rounds(const std::vector<std::vector<std::int64_t>>& given, const std::vector<Pin>& pins,
                          int models, const Limits& limits, Filter* filter);
  bool search_rows(const std::vector<std::vector<std::int64_t>>& given, const std::vector<Pin>& pins,
                   int models, const Limits& limits, SearchResult& result);
  bool start(const std::vector<std::vector<std::int64_t>>& losses, const std::vector<Pin>& pins,
             std::int64_t cap);
  void settle_loose();
  void explore();
  bool resolve();
  void record();
  void keep_found(std::vector<Found> models);
  int choose() const;
  bool out_of_budget();
  std::int64_t node_limit(bool found) const;
  bool learn(const std::vector<std::vector<std::int64_t>>& losses, const std::vector<Pin>& pins);
  std::int64_t patience(const std::vector<std::int64_t>& loss) const;

  State state_;
  std::unique_ptr<RowSearch> rows_;
  SearchResult result_;
  Limits limits_;
  std::size_t models_ = 1;
  std::int64_t cap_ = 0;
  std::int64_t patience_ = 0;
  std::int64_t offset_ = 0;  // the lower bound that shifting the losses has already proved
  Filter* filter_ = nullptr;
  std::unique_ptr<LearningSearch> learning_;
  std::int64_t instalment_ = 0;  // of either search, in nodes or conflicts; 0: learning ends it
  std::vector<std::vector<std::int64_t>> shifted_;
  std::vector<Found> proven_;  // the best models, proved by the last round that was searched to its end
  std::vector<int> open_;      // positions to decide
  bool abandoned_ = false;     // the cap was given up for want of budget
  bool impatient_ = false;     // time to learn from conflicts
};

}  // namespace as2::decode
