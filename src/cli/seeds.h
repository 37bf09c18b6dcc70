// The option --seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace as2::cli {

// `0..2` or `0,3,7`; anything else is a UsageError.
std::vector<std::int64_t> parse_seeds(const std::string& text);

}  // namespace as2::cli
