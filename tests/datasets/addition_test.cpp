#include "datasets/addition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "as2/error.h"
#include "support/made_up_digits.h"

namespace as2::datasets {
namespace {

using test::made_up_digits;
using testing::HasSubstr;

TEST(Addition, UsesEachIndexAtMostOnceAPass) {
  const Digits digits = made_up_digits(100, 4);
  const Addition addition = generate_addition(digits, 8, 24, 9);
  ASSERT_EQ(addition.size(), 24u);
  ASSERT_EQ(addition.indices.size(), 24u * 8);
  // 100 digits make 12 tuples of 8 per pass.
  for (int pass = 0; pass < 2; ++pass) {
    const auto begin = addition.indices.begin() + pass * 96;
    EXPECT_EQ(std::set<std::uint32_t>(begin, begin + 96).size(), 96u);
  }
  EXPECT_NE(std::vector<std::uint32_t>(addition.indices.begin(), addition.indices.begin() + 96),
            std::vector<std::uint32_t>(addition.indices.begin() + 96, addition.indices.end()));
  for (std::size_t k = 0; k < addition.size(); ++k) {
    int sum = 0;
    for (int j = 0; j < 8; ++j) sum += digits.labels[addition.indices[k * 8 + j]];
    EXPECT_EQ(addition.sums[k], sum);
  }
  EXPECT_EQ(generate_addition(digits, 8, 24, 9).indices, addition.indices);
  EXPECT_NE(generate_addition(digits, 8, 24, 10).indices, addition.indices);
}

TEST(Addition, ListsRoundTripAndNameBrokenLines) {
  const Digits digits = made_up_digits(100, 4);
  for (const int addends : {1, 2, 4}) {
    const Addition addition = generate_addition(digits, addends, 20, 1);
    const Addition again = parse_addition("# list\n\n" + format_addition(addition), "add.txt", addends, 100);
    EXPECT_EQ(again.addends, addends);
    EXPECT_EQ(again.indices, addition.indices);
    EXPECT_EQ(again.sums, addition.sums);
    EXPECT_EQ(again.lines.front(), 3);
  }
  const auto message = [&](const std::string& text) -> std::string {
    try {
      parse_addition(text, "add.txt", 2, 100);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const int right = digits.labels[3] + digits.labels[4];
  const std::string good = "3 4 " + std::to_string(right) + "\n";
  EXPECT_EQ(message(good), "no error");
  EXPECT_THAT(message(good + "3 x 5"), HasSubstr("add.txt:2: error: 'x' is not a number"));
  EXPECT_THAT(message(good + "3 -4 5"), HasSubstr("'-4' is not a number"));
  EXPECT_THAT(message(good + good + "100 4 5"),
              HasSubstr("add.txt:3: error: picture 100 is not one of 0 to 99"));
  EXPECT_THAT(message(good + "3 4 5 6"),
              HasSubstr("add.txt:2: error: found 4 numbers, expected 2 picture indices"));
  EXPECT_THAT(message("7"), HasSubstr("add.txt:1: error: found 1 number"));
}

}  // namespace
}  // namespace as2::datasets
