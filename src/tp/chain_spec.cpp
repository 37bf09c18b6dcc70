#include "tp/chain_spec.h"

#include <algorithm>

namespace as2::tp {
namespace {

constexpr std::size_t kMaxSums = std::size_t{1} << 20;

}  // namespace

std::vector<std::map<std::int64_t, compile::SetLiteral>> symbols_by_value(
    const compile::Aggregate& aggregate) {
  std::vector<std::map<std::int64_t, compile::SetLiteral>> members(aggregate.positions.size());
  for (std::size_t k = 0; k < members.size(); ++k) {
    for (std::size_t symbol = 0; symbol < aggregate.values[k].size(); ++symbol) {
      compile::SetLiteral& literal = members[k][aggregate.values[k][symbol]];
      literal.position = aggregate.positions[k];
      literal.symbols.push_back(static_cast<int>(symbol));
    }
  }
  return members;
}

std::vector<std::vector<std::int64_t>> reachable_sums(const ChainSpec& spec) {
  std::vector<std::vector<std::int64_t>> levels{{spec.constant}};
  for (const auto& member : spec.members) {
    std::vector<std::int64_t> sums;
    for (const ValueClass& choice : member) {
      for (const std::int64_t sum : levels.back()) sums.push_back(sum + choice.value);
    }
    std::sort(sums.begin(), sums.end());
    sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
    if (sums.size() > kMaxSums) {
      throw InputError("an aggregate can take more than " + std::to_string(kMaxSums) + " different values",
                       {"use smaller or rounder weights, or split the aggregate"});
    }
    levels.push_back(std::move(sums));
  }
  return levels;
}

}  // namespace as2::tp
