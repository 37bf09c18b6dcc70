#include "datasets/addition.h"

#include <numeric>
#include <sstream>

#include "as2/error.h"
#include "formats/gzip.h"
#include "random.h"
#include "text.h"

namespace as2::datasets {

Addition generate_addition(const Digits& digits, int addends, std::size_t count, std::uint64_t seed) {
  const auto total = static_cast<std::uint32_t>(digits.size());
  AS2_REQUIRE(addends >= 1 && static_cast<std::uint32_t>(addends) <= total,
              "as many addends as digits at most");
  Addition addition{addends, {}, {}, {}};
  std::vector<std::uint32_t> order(total);
  std::size_t next = total;
  for (std::uint64_t pass = 0; addition.size() < count;) {
    if (next + static_cast<std::size_t>(addends) > total) {
      std::iota(order.begin(), order.end(), 0u);
      Random(seed, pass++).shuffle(order.begin(), total);
      next = 0;
    }
    int sum = 0;
    for (int k = 0; k < addends; ++k, ++next) {
      addition.indices.push_back(order[next]);
      sum += digits.labels[order[next]];
    }
    addition.sums.push_back(sum);
  }
  return addition;
}

Addition parse_addition(const std::string& text, const std::string& name, int addends, std::size_t pictures) {
  Addition addition{addends, {}, {}, {}};
  std::istringstream lines(text);
  std::string content;
  for (int number = 1; std::getline(lines, content); ++number) {
    const auto fail = [&](const std::string& message) {
      throw InputError({name, number}, message, {"a line is picture indices, then the sum of their digits"});
    };
    std::istringstream words(content.substr(0, content.find('#')));
    std::vector<std::uint32_t> values;
    for (std::string word; words >> word;) {
      if (word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
        fail(in_quotes(word) + " is not a number");
      values.push_back(static_cast<std::uint32_t>(std::stoul(word)));
    }
    if (values.empty()) continue;
    if (static_cast<int>(values.size()) != addends + 1) {
      fail("found " + std::to_string(values.size()) + " numbers, expected " + std::to_string(addends) +
           " picture indices and their sum");
    }
    for (int k = 0; k < addends; ++k) {
      if (values[k] >= pictures)
        fail("picture " + std::to_string(values[k]) + " is not one of 0 to " + std::to_string(pictures - 1));
    }
    addition.indices.insert(addition.indices.end(), values.begin(), values.end() - 1);
    addition.sums.push_back(static_cast<int>(values.back()));
    addition.lines.push_back(number);
  }
  return addition;
}

Addition read_addition(const std::string& path, int addends, std::size_t pictures) {
  return parse_addition(formats::read_unpacked(path), path, addends, pictures);
}

std::string format_addition(const Addition& addition) {
  std::string text;
  auto index = addition.indices.begin();
  for (const int sum : addition.sums) {
    for (int k = 0; k < addition.addends; ++k) text += std::to_string(*index++) + " ";
    text += std::to_string(sum) + "\n";
  }
  return text;
}

}  // namespace as2::datasets
