// Deletion: leave out a run of constraints; if the rest still conflicts, they stay out, otherwise the run is
// halved, down to single constraints, which then belong to the conflict. A conflict of k constraints among n
// takes about k·log(n/k) proofs instead of the n of one-by-one deletion.
#include "decode/conflict.h"

#include <algorithm>

namespace as2::decode {

bool satisfiable(const compile::ConstraintProgram& program, const std::vector<char>& enabled,
                 const std::vector<Pin>& pins, const Limits& limits) {
  const Problem problem(program, enabled);
  Search search(problem);
  const std::vector<std::vector<std::int64_t>> losses(1, std::vector<std::int64_t>(problem.values, 0));
  const SearchResult result = search.run(losses, pins, 1, limits);
  return !result.found.empty() || !result.complete;
}

Conflict minimal_conflict(const compile::ConstraintProgram& program, const std::vector<Pin>& pins,
                          const Limits& limits) {
  // Candidates: the groups, then the pins.
  const std::size_t groups = program.groups.size();
  std::vector<char> kept(groups + pins.size(), 1);
  const auto conflicts = [&] {
    const std::vector<char> enabled(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(groups));
    std::vector<Pin> held;
    for (std::size_t k = 0; k < pins.size(); ++k) {
      if (kept[groups + k]) held.push_back(pins[k]);
    }
    // An empty vector would mean every group.
    return groups == 0 ? !satisfiable(program, {}, held, limits)
                       : !satisfiable(program, enabled, held, limits);
  };
  std::size_t run = std::max<std::size_t>(1, kept.size() / 2);
  for (std::size_t begin = 0; begin < kept.size();) {
    const std::size_t end = std::min(kept.size(), begin + run);
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(begin),
              kept.begin() + static_cast<std::ptrdiff_t>(end), 0);
    if (conflicts()) {
      begin = end;
      run *= 2;
      continue;
    }
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(begin),
              kept.begin() + static_cast<std::ptrdiff_t>(end), 1);
    if (end - begin == 1) {
      begin = end;
    } else {
      run = (end - begin) / 2;
    }
  }
  Conflict conflict;
  for (std::size_t g = 0; g < groups; ++g) {
    if (kept[g]) conflict.groups.push_back(static_cast<int>(g));
  }
  for (std::size_t k = 0; k < pins.size(); ++k) {
    if (kept[groups + k]) conflict.pins.push_back(pins[k]);
  }
  return conflict;
}

}  // namespace as2::decode
