// The Hungarian method: rows join one after another by a shortest augmenting path. Prices of rows and columns
// keep every reduced cost −table[r][c] − row_price[r] − column_price[c] at 0 or above, and it is 0 where r
// and c are matched; O(n³).
#include "eval/matching.h"

#include <algorithm>
#include <limits>

namespace as2::eval {

std::int64_t best_matching(const std::vector<std::vector<std::int64_t>>& table) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  const std::size_t n = table.size();
  // Column n is where a row's search begins; row n is none.
  std::vector<std::int64_t> row_price(n + 1, 0), column_price(n + 1, 0);
  std::vector<std::size_t> row_of(n + 1, n);
  for (std::size_t row = 0; row < n; ++row) {
    std::vector<std::int64_t> distance(n, kFar);
    std::vector<std::size_t> before(n, n);
    std::vector<char> reached(n + 1, 0);
    std::size_t column = n;
    row_of[n] = row;
    while (row_of[column] != n) {
      reached[column] = 1;
      const std::size_t from = row_of[column];
      std::size_t nearest = n;
      for (std::size_t c = 0; c < n; ++c) {
        if (reached[c]) continue;
        const std::int64_t cost = -table[from][c] - row_price[from] - column_price[c];
        if (cost < distance[c]) {
          distance[c] = cost;
          before[c] = column;
        }
        if (nearest == n || distance[c] < distance[nearest]) nearest = c;
      }
      const std::int64_t step = distance[nearest];
      for (std::size_t c = 0; c <= n; ++c) {
        if (reached[c]) {
          row_price[row_of[c]] += step;
          column_price[c] -= step;
        } else if (c < n && distance[c] != kFar) {
          distance[c] -= step;
        }
      }
      column = nearest;
    }
    for (; column != n; column = before[column]) row_of[column] = row_of[before[column]];
    row_of[n] = n;
  }
  std::int64_t most = 0;
  for (std::size_t c = 0; c < n; ++c) most += table[row_of[c]][c];
  return most;
}

}  // namespace as2::eval
