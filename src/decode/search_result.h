// What searching is asked for, beside the problem, and what it gives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::decode {

inline constexpr std::int64_t kNoCap = std::numeric_limits<std::int64_t>::max() - 1;

struct Found {
  compile::Assignment assignment;
  std::vector<std::int64_t> loss;  // per criterion
};

// Keeps at most `models`, in order of their losses.
inline void keep_best(std::vector<Found>& found, Found model, std::size_t models) {
  const auto place = std::upper_bound(found.begin(), found.end(), model,
                                      [](const Found& a, const Found& b) { return a.loss < b.loss; });
  found.insert(place, std::move(model));
  if (found.size() > models) found.pop_back();
}

struct SearchResult {
  std::vector<Found> found;  // best first
  bool complete = true;      // nothing better exists; false: a limit ended the search
  std::int64_t bound = 0;    // no assignment has a smaller loss of the first criterion
  std::int64_t nodes = 0;
};

// Decides whether an answer counts. One that does not is rejected together with all answers that agree with
// it on `positions`.
struct Filter {
  std::vector<int> positions;
  // The answer and its loss of the first criterion.
  std::function<bool(const compile::Assignment&, std::int64_t)> accepts;
  std::int64_t patience = 1;  // how many times longer plain search goes on before learning
  std::int64_t margin = 0;    // how far the loss of an accepted answer may exceed the least loss of any
  bool exhausted = false;     // set by accepts: no more answers are to be tried
  std::int64_t least_seen = kNoCap;  // loss of an answer, accepted or not
};

inline bool accepted(Filter* filter, const Found& model, std::int64_t offset) {
  if (!filter) return true;
  const std::int64_t loss = model.loss[0] + offset;
  filter->least_seen = std::min(filter->least_seen, loss);
  return filter->accepts(model.assignment, loss);
}

// Larger caps are pointless: no loss is that large, or the filter's margin is exceeded.
inline std::int64_t largest_cap(const Filter* filter, std::int64_t offset) {
  if (!filter || filter->least_seen > kNoCap - filter->margin) return kNoCap;
  return std::max<std::int64_t>(0, filter->least_seen + filter->margin - offset);
}

// With a filter the cap grows by 1/16, so that answers come nearly in order.
inline constexpr std::int64_t kFineSteps = 16;

}  // namespace as2::decode
