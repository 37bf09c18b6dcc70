// Many nogoods over the same few positions say one thing: which tuples are allowed. If which tuples are
// allowed depends only on the sum of the positions' integers (with signs), as in `A+B+C != 15`, they become a
// sum constraint, whose bounds prune more than nogoods do. Where the table of allowed tuples is small, it is
// used as well, because it prunes everything that can be pruned.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "decode/problem.h"

namespace as2::decode {
namespace {

constexpr std::size_t kFewestNogoods = 8;
constexpr std::size_t kMostTuples = std::size_t{1} << 16;  // of all tuples, allowed or not
constexpr std::size_t kMostAllowed = 4096;

// The positions' symbols as integers, if they all are.
std::optional<std::vector<std::vector<std::int64_t>>> integers_of(const compile::ConstraintProgram& program,
                                                                  const std::vector<int>& positions) {
  std::vector<std::vector<std::int64_t>> result;
  for (const int i : positions) {
    if (i >= static_cast<int>(program.positions.size())) return std::nullopt;
    std::vector<std::int64_t>& row = result.emplace_back();
    for (const std::string& symbol : program.positions[i].symbols) {
      int number = 0;
      const char* end = symbol.data() + symbol.size();
      const auto [rest, error] = std::from_chars(symbol.data(), end, number);
      if (error != std::errc{} || rest != end) return std::nullopt;
      row.push_back(number);
    }
  }
  return result;
}

// Calls visit(tuple number, symbols) for every tuple of the product of the sizes, first position fastest.
template <typename Visit>
void for_each_tuple(const std::vector<std::vector<int>>& symbols, const std::vector<std::size_t>& strides,
                    const Visit& visit) {
  std::vector<std::size_t> at(symbols.size(), 0);
  for (;;) {
    std::size_t tuple = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      tuple += strides[k] * static_cast<std::size_t>(symbols[k][at[k]]);
    }
    visit(tuple);
    std::size_t k = 0;
    while (k < at.size() && ++at[k] == symbols[k].size()) at[k++] = 0;
    if (k == at.size()) return;
  }
}

// A sum of the positions' integers, some negated, that alone decides which tuples are forbidden.
std::optional<LinearConstraint> sum_of_table(const std::vector<int>& positions,
                                             std::vector<std::vector<std::int64_t>> integers,
                                             const std::vector<char>& forbidden) {
  const std::size_t count = positions.size();
  for (std::uint32_t signs = 0; signs < (std::uint32_t{1} << (count - 1)); ++signs) {
    const std::uint32_t changed = signs == 0 ? 0 : signs ^ (signs - 1);
    for (std::size_t k = 1; k < count; ++k) {
      if ((changed >> (k - 1)) & 1U) {
        for (std::int64_t& x : integers[k]) x = -x;
      }
    }
    std::map<std::int64_t, bool> allowed;
    bool consistent = true;
    std::vector<std::size_t> at(count, 0);
    for (std::size_t tuple = 0; tuple < forbidden.size() && consistent; ++tuple) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < count; ++k) sum += integers[k][at[k]];
      const bool fine = forbidden[tuple] == 0;
      const auto [it, fresh] = allowed.emplace(sum, fine);
      consistent = fresh || it->second == fine;
      for (std::size_t k = 0; k < count && ++at[k] == integers[k].size(); ++k) at[k] = 0;
    }
    if (!consistent) continue;
    compile::ValueSet set;
    bool open = false;  // whether the previous sum was allowed
    for (const auto& [sum, fine] : allowed) {
      if (fine && open) set.intervals.back().second = sum;
      if (fine && !open) set.intervals.emplace_back(sum, sum);
      open = fine;
    }
    // If the allowed sums have holes, bounds prune no more than the nogoods do.
    if (set.intervals.size() > 1) return std::nullopt;
    return LinearConstraint{positions, std::move(integers), -1, {std::move(set)}};
  }
  return std::nullopt;
}

}  // namespace

void Problem::recognise_tables(const compile::ConstraintProgram& program) {
  std::map<std::vector<int>, std::vector<int>> rows_of;  // by positions
  for (int n = 0; n < nogoods.rows(); ++n) {
    std::vector<int> key;
    for (const int* l = nogoods.first(n); l != nogoods.last(n); ++l) key.push_back(position_of_literal(*l));
    rows_of[std::move(key)].push_back(n);
  }
  tabled.assign(static_cast<std::size_t>(nogoods.rows()), 0);
  std::vector<char> replaced(tabled.size(), 0);
  for (const auto& [members, rows] : rows_of) {
    std::size_t product = 1;
    std::vector<std::size_t> strides;
    for (const int i : members) {
      strides.push_back(product);
      product *= static_cast<std::size_t>(value_begin[i + 1] - value_begin[i]);
      if (product > kMostTuples) break;
    }
    if (product > kMostTuples || rows.size() < kFewestNogoods) continue;
    std::vector<char> forbidden(product, 0);
    for (const int n : rows) {
      std::vector<std::vector<int>> symbols;
      for (const int* l = nogoods.first(n); l != nogoods.last(n); ++l) symbols.push_back(symbols_of(*l));
      for_each_tuple(symbols, strides, [&](std::size_t tuple) { forbidden[tuple] = 1; });
    }
    const std::size_t allowed = static_cast<std::size_t>(std::count(forbidden.begin(), forbidden.end(), 0));
    const bool small = allowed <= kMostAllowed && 2 * allowed <= product;
    auto integers = integers_of(program, members);
    if (auto sum = integers ? sum_of_table(members, std::move(*integers), forbidden) : std::nullopt) {
      sum->tabled = small;
      linears.push_back(std::move(*sum));
      for (const int n : rows) replaced[n] = 1;
    }
    if (!small) continue;
    for (const int n : rows) tabled[n] = 1;
    TupleTable table;
    table.positions = members;
    table.words = (allowed + 63) / 64;
    std::size_t values_before = 0;
    for (const int i : members) {
      table.row_begin.push_back(values_before);
      values_before += static_cast<std::size_t>(value_begin[i + 1] - value_begin[i]);
    }
    table.rows.assign(values_before * table.words, 0);
    std::size_t index = 0;
    for (std::size_t tuple = 0; tuple < product; ++tuple) {
      if (forbidden[tuple]) continue;
      for (std::size_t k = 0; k < members.size(); ++k) {
        const int i = members[k];
        const std::size_t symbol =
            tuple / strides[k] % static_cast<std::size_t>(value_begin[i + 1] - value_begin[i]);
        table.rows[(table.row_begin[k] + symbol) * table.words + index / 64] |= std::uint64_t{1}
                                                                                << index % 64;
      }
      ++index;
    }
    tables.push_back(std::move(table));
  }
  // A sum replaces its nogoods.
  Table kept;
  std::vector<char> kept_tabled;
  for (int n = 0; n < nogoods.rows(); ++n) {
    if (replaced[n]) continue;
    kept.push_row(std::vector<int>(nogoods.first(n), nogoods.last(n)));
    kept_tabled.push_back(tabled[n]);
  }
  nogoods = std::move(kept);
  tabled = std::move(kept_tabled);
}

}  // namespace as2::decode
