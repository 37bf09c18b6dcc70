#include <algorithm>

#include "as2/decoder.h"
#include "decode/conflict.h"

namespace as2::decode {

Explanation explain(const compile::ConstraintProgram& program, const Beliefs& beliefs,
                    const compile::Assignment& decoded) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const std::size_t count = program.positions.size();
  AS2_REQUIRE(beliefs.size() == count * stride, "beliefs must be [positions, max_symbols]");
  AS2_REQUIRE(decoded.empty() || decoded.size() == count, "an assignment has one symbol per position");
  Explanation explanation;
  compile::Assignment reading(count);
  std::vector<Pin> read;  // positions with a single best symbol; a position with a tie was not read
  for (std::size_t i = 0; i < count; ++i) {
    const double* p = beliefs.data() + i * stride;
    const double* end = p + program.positions[i].symbols.size();
    const double* best = std::max_element(p, end);
    reading[i] = static_cast<int>(best - p);
    if (std::count(p, end, *best) > 1) continue;
    read.push_back({static_cast<int>(i), reading[i]});
    if (!decoded.empty() && decoded[i] != reading[i]) {
      explanation.changed.push_back({static_cast<int>(i), reading[i], decoded[i], *best, p[decoded[i]]});
    }
  }
  explanation.broken_groups = compile::violated_groups(program, reading);
  if (read.size() == count) return explanation;
  // Positions that were not read must not break anything: ask each group what the read ones alone say. Where
  // nothing was changed, an assignment that agrees with all of them has answered for the groups it satisfies.
  const bool agrees = !decoded.empty() && explanation.changed.empty();
  std::vector<char> satisfied(program.groups.size(), agrees);
  if (agrees) {
    for (const int group : compile::violated_groups(program, decoded)) satisfied[group] = 0;
  }
  const auto harmless = [&](int group) {
    if (satisfied[group]) return true;
    std::vector<char> enabled(program.groups.size(), 0);
    enabled[group] = 1;
    return satisfiable(program, enabled, read, {});
  };
  auto& broken = explanation.broken_groups;
  broken.erase(std::remove_if(broken.begin(), broken.end(), harmless), broken.end());
  return explanation;
}

}  // namespace as2::decode
