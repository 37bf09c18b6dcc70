// The best one-to-one matching of what was read with what is right.
#pragma once

#include <cstdint>
#include <vector>

namespace as2::eval {

// The most that a square table adds up to with one entry from each row and each column.
std::int64_t best_matching(const std::vector<std::vector<std::int64_t>>& table);

}  // namespace as2::eval
