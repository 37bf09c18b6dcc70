#include "cli/seeds.h"

#include <algorithm>
#include <sstream>

#include "as2/error.h"

namespace as2::cli {

std::vector<std::int64_t> parse_seeds(const std::string& text) {
  const auto fail = [&] {
    throw UsageError("--seeds " + text + ": expected a range like 0..2 or a list like 0,3,7");
  };
  const auto number = [&](const std::string& word) -> std::int64_t {
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos) fail();
    return std::stoll(word);
  };
  std::vector<std::int64_t> seeds;
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const std::int64_t first = number(text.substr(0, dots)), last = number(text.substr(dots + 2));
    if (last - first >= 10000) fail();
    for (std::int64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
  } else {
    std::stringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
      seeds.push_back(number(word));
      if (std::count(seeds.begin(), seeds.end(), seeds.back()) > 1)
        throw UsageError("--seeds " + text + ": " + word + " is given twice");
    }
  }
  if (seeds.empty()) fail();
  return seeds;
}

}  // namespace as2::cli
