#include "native/structure.h"

#include <algorithm>

namespace as2::native {

Structure Structure::of(const compile::ConstraintProgram& program) {
  Structure s;
  s.positions = static_cast<std::int64_t>(program.positions.size());
  s.symbols = program.max_symbols();
  s.families = static_cast<std::int64_t>(program.families.size());
  for (const compile::Position& position : program.positions) {
    s.domains.push_back(static_cast<std::int64_t>(position.symbols.size()));
    s.full = s.full && s.domains.back() == s.symbols;
  }
  std::vector<const compile::Group*> groups;
  for (const compile::Group& group : program.groups) {
    if (!group.positions.empty()) groups.push_back(&group);
  }
  std::stable_sort(groups.begin(), groups.end(), [](auto* a, auto* b) { return a->family < b->family; });
  s.family_groups.assign(program.families.size(), 0);
  for (const compile::Group* group : groups) {
    s.groups.items.insert(s.groups.items.end(), group->positions.begin(), group->positions.end());
    s.groups.close();
    s.group_family.push_back(group->family);
    ++s.family_groups[group->family];
  }
  return s;
}

Lists Structure::pools_along_groups() const {
  Lists pools;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    for (std::int64_t symbol = 0; symbol < symbols; ++symbol) {
      for (std::int64_t j = 0; j < groups.size(g); ++j) {
        const std::int32_t position = groups.of(g)[j];
        if (symbol < domains[position])
          pools.items.push_back(static_cast<std::int32_t>(symbol * positions + position));
      }
      pools.close();
    }
  }
  return pools;
}

Lists Structure::pools_over_symbols() const {
  Lists pools;
  for (std::int64_t position = 0; position < positions; ++position) {
    for (std::int64_t symbol = 0; symbol < domains[position]; ++symbol)
      pools.items.push_back(static_cast<std::int32_t>(symbol * positions + position));
    pools.close();
  }
  return pools;
}

std::vector<float> Structure::relation_bias(std::int64_t heads, const std::vector<float>& weight) const {
  std::vector<float> bias(static_cast<std::size_t>(heads * positions * positions));
  std::vector<char> related(static_cast<std::size_t>(positions * positions));
  std::int64_t g = 0;
  for (std::int64_t family = 0; family < families; ++family) {
    std::fill(related.begin(), related.end(), char{0});
    for (; g < groups.count() && group_family[g] == family; ++g) {
      for (std::int64_t a = 0; a < groups.size(g); ++a) {
        for (std::int64_t b = 0; b < groups.size(g); ++b) {
          if (a != b) related[groups.of(g)[a] * positions + groups.of(g)[b]] = 1;
        }
      }
    }
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::size_t pair = 0; pair < related.size(); ++pair) {
        if (related[pair])
          bias[static_cast<std::size_t>(head) * related.size() + pair] += weight[head * families + family];
      }
    }
  }
  return bias;
}

Holders Holders::of(const Structure& structure, const Lists& pools) {
  struct Held {
    std::int32_t pool;
    int family;
  };
  std::vector<std::vector<Held>> held(static_cast<std::size_t>(structure.atoms()));
  for (std::int64_t pool = 0; pool < pools.count(); ++pool) {
    const int family = structure.group_family[pool / structure.symbols];
    for (std::int64_t j = 0; j < pools.size(pool); ++j)
      held[pools.of(pool)[j]].push_back({static_cast<std::int32_t>(pool), family});
  }
  Holders holders;
  for (const std::vector<Held>& own : held) {
    for (const Held& one : own) {
      const auto same = std::count_if(own.begin(), own.end(),
                                      [&](const Held& other) { return other.family == one.family; });
      holders.pools.items.push_back(one.pool);
      holders.share.push_back(1.f / static_cast<float>(same));
    }
    holders.pools.close();
  }
  return holders;
}

}  // namespace as2::native
