#include "data/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "as2/error.h"
#include "data/addition.h"
#include "data/board_list.h"
#include "data/temporary.h"
#include "files.h"

namespace as2::data {
namespace {

using testing::HasSubstr;

// Made-up digits: every image is different noise.
Digits made_up(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Digits digits;
  for (std::size_t k = 0; k < count; ++k)
    digits.labels.push_back(static_cast<std::uint8_t>(random.below(10)));
  for (std::size_t k = 0; k < count * kDigitPixels; ++k)
    digits.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  return digits;
}

TEST(Render, RoundTripsThroughPngAndLabels) {
  const Mnist mnist{made_up(300, 1), made_up(200, 2)};
  const std::vector<Board> boards = generate({3, 25, 45, 3}, 0, 6);
  for (const Split split : {Split::kTrain, Split::kTest}) {
    test::TemporaryFolder folder;
    render_boards(boards, mnist, split, 5, folder / "made/here");
    std::istringstream lines(read_file(folder / "made/here/labels.jsonl"));
    std::string line;
    std::set<int> used;
    for (const Board& board : boards) {
      ASSERT_TRUE(std::getline(lines, line));
      const auto label = nlohmann::json::parse(line);
      EXPECT_EQ(label["puzzle"], grid_text(board.puzzle));
      EXPECT_EQ(label["solution"], grid_text(board.solution));
      EXPECT_EQ(label["split"], split == Split::kTrain ? "train" : "test");
      const Image image = read_image(folder / ("made/here/" + label["file"].get<std::string>()));
      ASSERT_EQ(image.width, 252);
      ASSERT_EQ(image.height, 252);
      ASSERT_EQ(label["images"].size(), 81u);
      for (int cell = 0; cell < 81; ++cell) {
        const int index = label["images"][cell];
        ASSERT_EQ(index == -1, board.puzzle[cell] == 0);
        const Digits& digits = mnist.of(split);
        ASSERT_TRUE(index < 0 || digits.labels[index] == board.puzzle[cell]);
        used.insert(index);
        for (int pixel = 0; pixel < kDigitPixels; ++pixel) {
          const int expected = index < 0 ? 0 : digits.image(index)[pixel];
          ASSERT_EQ(image.at(cell % 9 * 28 + pixel % 28, cell / 9 * 28 + pixel / 28), expected);
        }
      }
    }
    EXPECT_FALSE(std::getline(lines, line));
    EXPECT_GT(used.size(), 50u);
  }
}

TEST(Render, IsTheSameForTheSameSeedOnly) {
  const Digits digits = made_up(300, 1);
  const auto by_label = indices_by_label(digits);
  const Grid puzzle = generate({3, 30, 30, 3}, 0).puzzle;
  Random one(7, 0), same(7, 0), other(8, 0);
  const CellImages cells = choose_images(puzzle, by_label, one);
  EXPECT_EQ(cells, choose_images(puzzle, by_label, same));
  EXPECT_NE(cells, choose_images(puzzle, by_label, other));
}

TEST(Render, RefusesDigitsThatMnistLacks) {
  Random random(1);
  const Grid puzzle = generate({4, 256, 256, 1}, 0).puzzle;
  EXPECT_THROW(choose_images(puzzle, indices_by_label(made_up(100, 1)), random), InputError);
}

TEST(Addition, UsesEachIndexAtMostOnceAPass) {
  const Digits digits = made_up(100, 4);
  const Addition addition = generate_addition(digits, 8, 24, 9);
  ASSERT_EQ(addition.size(), 24u);
  ASSERT_EQ(addition.indices.size(), 24u * 8);
  // 100 digits make 12 tuples of 8 a pass.
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
  const Digits digits = made_up(100, 4);
  for (const int addends : {1, 2, 4}) {
    const Addition addition = generate_addition(digits, addends, 20, 1);
    const Addition again = parse_addition("# list\n\n" + format_addition(addition), "add.txt", digits);
    EXPECT_EQ(again.addends, addends);
    EXPECT_EQ(again.indices, addition.indices);
    EXPECT_EQ(again.sums, addition.sums);
  }
  const auto message = [&](const std::string& text) -> std::string {
    try {
      parse_addition(text, "add.txt", digits);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const int right = digits.labels[3] + digits.labels[4];
  const std::string good = "3 4 " + std::to_string(right) + "\n";
  EXPECT_EQ(message(good), "no error");
  EXPECT_THAT(message(good + "3 4 " + std::to_string(right + 1)), HasSubstr("add.txt:2: error: the sum is"));
  EXPECT_THAT(message(good + "3 x 5"), HasSubstr("add.txt:2: error: 'x' is not a number"));
  EXPECT_THAT(message(good + "3 -4 5"), HasSubstr("'-4' is not a number"));
  EXPECT_THAT(message(good + good + "100 4 5"), HasSubstr("add.txt:3: error: index 100, the split has 100"));
  EXPECT_THAT(message(good + "3 4 5 6"), HasSubstr("add.txt:2: error: 4 numbers, the first line has 3"));
  EXPECT_THAT(message("7"), HasSubstr("add.txt:1: error: one number"));
}

}  // namespace
}  // namespace as2::data
