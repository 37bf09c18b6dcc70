#include "sudoku/hard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "as2/error.h"
#include "sudoku/board_list.h"
#include "sudoku/exact_cover.h"

namespace as2::sudoku {
namespace {

TEST(Hard, EffortIsTheBinaryLogarithm) {
  for (const std::int64_t guesses : {0, 1, 2, 3, 6, 7, 50, 1023, 19999}) {
    EXPECT_NEAR(effort_of_guesses(guesses), 256 * std::log2(1.0 + static_cast<double>(guesses)), 1)
        << guesses;
  }
}

// A public puzzle that needs much search, and one that needs none.
TEST(Hard, EffortTellsHardFromEasy) {
  Random random(1);
  const std::string hard =
      "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..";
  const std::string easy =
      "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
  EXPECT_GT(search_effort(parse_boards(hard, "hard")[0].puzzle, 50, random), effort_of_guesses(30));
  EXPECT_LT(search_effort(parse_boards(easy, "easy")[0].puzzle, 50, random), effort_of_guesses(2));
}

TEST(Hard, ListsHoldPuzzlesAsHardAsAskedWithOneSolution) {
  const std::vector<Board> boards = generate_hard({12, 3, 4}, 12, 2);
  ASSERT_EQ(boards.size(), 12u);
  Random random(2);
  double efforts = 0;
  for (const Board& board : boards) {
    EXPECT_EQ(test::ExactCover::count(board.puzzle, 3, 2), 1) << grid_text(board.puzzle);
    EXPECT_EQ(solve(board.puzzle), board.solution);
    EXPECT_GT(search_effort(board.puzzle, 200, random), effort_of_guesses(6)) << grid_text(board.puzzle);
    efforts += search_effort(board.puzzle, 200, random);
  }
  EXPECT_GT(efforts / 12, effort_of_guesses(10));
}

TEST(Hard, TheSameListForAnyNumberOfThreads) {
  const std::string one = format_boards(generate_hard({8, 5, 2}, 6, 1));
  EXPECT_EQ(one, format_boards(generate_hard({8, 5, 2}, 6, 3)));
  EXPECT_NE(one, format_boards(generate_hard({8, 6, 2}, 6, 1)));
}

}  // namespace
}  // namespace as2::sudoku
