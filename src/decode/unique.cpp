// A reading gives every evidence position a symbol; its probability is that of the evidence alone. Readings
// that can be completed are visited in order of probability (up to the width of a cap), and each is tested:
// with the evidence pinned, is there a second completion? If so, the reading and all answers that share it
// are given up at once. The first readings that survive are the most probable ones with a single completion,
// because the search under the cap is exhaustive: everything more probable has been tested and given up.
//
// Rejected: asking whether the answer of plain decoding is unique and, if not, changing one clue at a time.
// Two misread clues would be missed, and a change that leaves no completion costs as much as one that does.
#include "decode/unique.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace as2::decode {
namespace {

constexpr std::int64_t kNodesPerReading = 200000;
// Plain search spends little on each rejected reading, so it is given more nodes before learning takes over.
constexpr std::int64_t kMorePatience = 20;

}  // namespace

SearchResult find_unique(Search& search, Search& tester, const Query& query, int stride,
                         const DecodeOptions& options, const Limits& limits, UniqueReading& reading) {
  const Problem& problem = search.state().problem();
  // Only the evidence counts: elsewhere all symbols are equal, and objectives weigh nothing.
  std::vector<char> is_evidence(static_cast<std::size_t>(problem.real), 0);
  for (const int position : query.evidence) is_evidence[position] = 1;
  Query evidence_only = query;
  for (int i = 0; i < problem.real; ++i) {
    const auto row = evidence_only.beliefs.begin() + static_cast<std::ptrdiff_t>(i) * stride;
    if (!is_evidence[i]) std::fill(row, row + stride, 1.0);
  }
  DecodeOptions plain = options;
  plain.objective_first = false;
  plain.objective_weights.assign(problem.constant_cost.size(), 0.0);
  const double scale = fill_losses(problem, evidence_only, stride, plain, search.losses)[0];

  const std::vector<std::vector<std::int64_t>> no_losses(
      1, std::vector<std::int64_t>(static_cast<std::size_t>(problem.values), 0));
  Limits test_limits = limits;
  test_limits.nodes = kNodesPerReading;
  bool undecided = false;
  struct Tested {
    bool unique;
    std::int64_t loss;
  };
  std::map<std::vector<int>, Tested> tested;
  Filter filter;
  filter.positions = query.evidence;
  filter.margin = std::llround(std::min(options.unique_margin * scale, 1e18));
  filter.accepts = [&](const compile::Assignment& answer, std::int64_t loss) {
    std::vector<int> symbols;
    for (const int position : query.evidence) symbols.push_back(answer[position]);
    const auto known = tested.find(symbols);
    if (known != tested.end()) return known->second.unique;
    if (static_cast<int>(tested.size()) >= options.unique_readings) {
      filter.exhausted = true;
      return false;
    }
    std::vector<Pin> pins = query.pins;
    for (const int position : query.evidence) pins.push_back({position, answer[position]});
    const SearchResult completions = tester.run(no_losses, pins, 2, test_limits);
    undecided = undecided || (completions.found.size() < 2 && !completions.complete);
    const bool unique = completions.found.size() == 1 && completions.complete;
    tested.emplace(std::move(symbols), Tested{unique, loss});
    return unique;
  };
  filter.patience = kMorePatience;
  SearchResult result = search.run(search.losses, query.pins, options.models, limits, &filter);
  result.complete = result.complete && !filter.exhausted && !undecided;

  // The margin is known only once the most probable reading is, so the first round may reach past it.
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& [symbols, test] : tested) least = std::min(least, test.loss);
  while (!result.found.empty() && result.found.back().loss[0] - least > filter.margin)
    result.found.pop_back();
  reading.found = !result.found.empty();
  reading.readings = static_cast<int>(tested.size());
  reading.complete = result.complete;
  if (reading.found) {
    const std::int64_t loss = result.found.front().loss[0];
    reading.rank = 1 + static_cast<int>(std::count_if(tested.begin(), tested.end(), [&](const auto& entry) {
                     return !entry.second.unique && entry.second.loss < loss;
                   }));
  }
  return result;
}

}  // namespace as2::decode
