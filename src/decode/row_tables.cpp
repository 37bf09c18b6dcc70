#include <algorithm>
#include <map>

#include "decode/row_search.h"

namespace as2::decode {
namespace {

constexpr std::size_t kMostWords = 8;                     // in a plane
constexpr std::size_t kMostBytes = std::size_t{2} << 20;  // of masks: they should stay in a core's own cache

void clear(std::uint64_t* planes, int words, int row, int plane) {
  planes[plane * words + row / 64] &= ~(std::uint64_t{1} << (row % 64));
}

void set(std::uint64_t* planes, int words, int row, int plane) {
  planes[plane * words + row / 64] |= std::uint64_t{1} << (row % 64);
}

}  // namespace

std::shared_ptr<const RowTables> RowTables::of(const Problem& problem) {
  const bool slots_alone = problem.nogoods.rows() == 0 && problem.linears.empty() && problem.tables.empty() &&
                           problem.components.empty() && problem.loose.empty() && !problem.impossible &&
                           problem.positions == problem.real && problem.positions > 0;
  const auto wide = [&](int literal) { return literal >= problem.values; };
  if (!slots_alone || std::any_of(problem.slots.items.begin(), problem.slots.items.end(), wide)) {
    return nullptr;
  }
  Table row_values;
  for (int i = 0; i < problem.positions; ++i) {
    std::vector<int> row;
    for (int v = problem.value_begin[i]; v < problem.value_begin[i + 1]; ++v) row.push_back(v);
    row_values.push_row(row);
  }
  for (int e = 0; e < problem.exact.rows(); ++e) {
    row_values.push_row(std::vector<int>(problem.exact.first(e), problem.exact.last(e)));
  }
  const auto tables = std::make_shared<RowTables>();
  tables->positions = problem.positions;
  tables->rows = row_values.rows();
  for (int r = 0; r < row_values.rows(); ++r) tables->planes = std::max(tables->planes, row_values.size(r));
  const std::size_t needed = (static_cast<std::size_t>(tables->rows) + 63) / 64;
  const std::size_t words = needed <= 2 ? needed : (needed + 1) / 2 * 2;  // the sizes there are engines for
  const std::size_t bytes = static_cast<std::size_t>(problem.values) * (tables->planes + 1) * words * 8;
  if (words > kMostWords || tables->planes > 64 || bytes > kMostBytes) return nullptr;
  tables->words = static_cast<int>(words);
  tables->add_masks(problem, row_values);
  tables->add_shared(row_values);
  return tables;
}

void RowTables::add_masks(const Problem& problem, const Table& row_values) {
  const std::size_t size = static_cast<std::size_t>(planes) * words;
  all.assign(static_cast<std::size_t>(words), 0);
  root.assign(state_size(), 0);
  value_at.assign(static_cast<std::size_t>(rows) * planes, -1);
  std::vector<std::vector<int>> places_of(static_cast<std::size_t>(problem.values));
  for (int r = 0; r < rows; ++r) {
    set(all.data(), words, r, 0);
    for (int k = 0; k < row_values.size(r); ++k) {
      const int value = row_values.first(r)[k];
      value_at[r * planes + k] = value;
      places_of[value].push_back(r * planes + k);
      set(root.data(), words, r, k);
    }
  }
  for (const auto& list : places_of) places.push_row(list);
  const auto remove = [&](std::uint64_t* state, int value) {
    for (const int place : places_of[value]) clear(state, words, place / planes, place % planes);
  };
  for (const int literal : problem.units) {
    for (int v = 0; v < problem.values; ++v) {
      if (problem.literal_has(literal, v)) remove(root.data(), v);
    }
  }
  keep.assign(static_cast<std::size_t>(problem.values) * size, ~std::uint64_t{0});
  settles.assign(static_cast<std::size_t>(problem.values) * words, 0);
  for (int v = 0; v < problem.values; ++v) {
    std::uint64_t* mask = keep.data() + v * size;
    const auto exclude = [&](int other) {
      if (other != v) remove(mask, other);
    };
    for (const int place : places_of[v]) {
      const int row = place / planes;
      set(settles.data() + static_cast<std::ptrdiff_t>(v) * words, words, row, 0);
      std::for_each(row_values.first(row), row_values.last(row), exclude);
    }
    for (const int* s = problem.slots_of_literal.first(v); s != problem.slots_of_literal.last(v); ++s) {
      std::for_each(problem.slots.first(*s), problem.slots.last(*s), exclude);
    }
  }
}

// Pairs of rows that share several values, but not all, by the planes in which the first has them.
void RowTables::add_shared(const Table& row_values) {
  std::map<std::pair<int, int>, std::uint64_t> planes_of;  // of the first row, by both
  for (int v = 0; v < places.rows(); ++v) {
    for (const int* a = places.first(v); a != places.last(v); ++a) {
      for (const int* b = places.first(v); b != places.last(v); ++b) {
        if (a != b) planes_of[{*a / planes, *b / planes}] |= std::uint64_t{1} << (*a % planes);
      }
    }
  }
  const auto some_not_all = [&](const std::pair<int, int>& pair, std::uint64_t mine) {
    const int count = __builtin_popcountll(mine);
    return count >= 2 && count < row_values.size(pair.first) && count < row_values.size(pair.second);
  };
  std::map<std::uint64_t, int> index_of;  // by planes
  for (const auto& [pair, mine] : planes_of) {
    if (some_not_all(pair, mine)) index_of.emplace(mine, 0);
  }
  if (index_of.size() > kMostShared) return;
  for (auto& entry : index_of) {
    entry.second = static_cast<int>(shared.size());
    shared.emplace_back();
    shared.back().planes = entry.first;
  }
  for (const auto& [pair, mine] : planes_of) {
    if (!some_not_all(pair, mine)) continue;
    const auto [row, partner] = pair;
    Shared& entry = shared[static_cast<std::size_t>(index_of.at(mine))];
    if (entry.rows.empty()) {
      entry.rows.assign(static_cast<std::size_t>(words), 0);
      entry.partner.assign(static_cast<std::size_t>(rows), -1);
      entry.theirs.assign(static_cast<std::size_t>(rows), 0);
    }
    if (entry.partner[row] >= 0) continue;  // one partner is enough to be sound
    set(entry.rows.data(), words, row, 0);
    entry.partner[row] = partner;
    entry.theirs[row] = index_of.at(planes_of.at({partner, row}));
  }
}

}  // namespace as2::decode
