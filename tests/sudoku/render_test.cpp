#include "sudoku/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "as2/error.h"
#include "files.h"
#include "sudoku/board_list.h"
#include "support/made_up_digits.h"
#include "support/temporary_folder.h"

namespace as2::sudoku {
namespace {

using test::made_up_digits;

TEST(Render, RoundTripsThroughPngAndLabels) {
  const datasets::Mnist mnist{made_up_digits(300, 1), made_up_digits(200, 2)};
  const std::vector<Board> boards = generate({3, 25, 45, 3}, 0, 6);
  for (const datasets::Split split : {datasets::Split::kTrain, datasets::Split::kTest}) {
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
      EXPECT_EQ(label["split"], split == datasets::Split::kTrain ? "train" : "test");
      const formats::Image image =
          formats::read_image(folder / ("made/here/" + label["file"].get<std::string>()));
      ASSERT_EQ(image.width, 252);
      ASSERT_EQ(image.height, 252);
      ASSERT_EQ(label["images"].size(), 81u);
      for (int cell = 0; cell < 81; ++cell) {
        const int index = label["images"][cell];
        ASSERT_EQ(index == -1, board.puzzle[cell] == 0);
        const datasets::Digits& digits = mnist.of(split);
        ASSERT_TRUE(index < 0 || digits.labels[index] == board.puzzle[cell]);
        used.insert(index);
        for (int pixel = 0; pixel < datasets::kDigitPixels; ++pixel) {
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
  const datasets::Digits digits = made_up_digits(300, 1);
  const auto by_label = datasets::indices_by_label(digits);
  const Grid puzzle = generate({3, 30, 30, 3}, 0).puzzle;
  Random one(7, 0), same(7, 0), other(8, 0);
  const CellImages cells = choose_images(puzzle, by_label, one);
  EXPECT_EQ(cells, choose_images(puzzle, by_label, same));
  EXPECT_NE(cells, choose_images(puzzle, by_label, other));
}

TEST(Render, RefusesDigitsThatMnistLacks) {
  Random random(1);
  const Grid puzzle = generate({4, 256, 256, 1}, 0).puzzle;
  EXPECT_THROW(choose_images(puzzle, datasets::indices_by_label(made_up_digits(100, 1)), random), InputError);
}

}  // namespace
}  // namespace as2::sudoku
