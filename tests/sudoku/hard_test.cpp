#include "sudoku/hard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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
    EXPECT_EQ(test::ExactCover::count(board.puzzle, 3, 3, 2), 1) << grid_text(board.puzzle);
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

TEST(Hard, WhatIsFoundBeforeAStopIsTheBeginningOfTheList) {
  const std::string whole = format_boards(generate_hard({8, 5, 2}, 6, 2));
  std::atomic<bool> stop{false};
  const auto stop_at_the_first = [&](std::size_t found) { stop = found > 0; };
  const HardOptions options{8, 5, 2, &stop};
  const std::vector<Board> some = generate_hard(options, 6, 2, stop_at_the_first);
  EXPECT_GT(some.size(), 0u);
  EXPECT_LT(some.size(), 6u);
  EXPECT_EQ(whole.rfind(format_boards(some), 0), 0u);
  EXPECT_TRUE(generate_hard(options, 6, 2).empty());
  std::vector<Grid> list;
  for (const Board& board : some) list.push_back(board.puzzle);
  EXPECT_TRUE(vary_hard(options, list, 500, 2).empty());
  stop = false;
  const std::vector<Board> varied = vary_hard(options, list, 500, 2, stop_at_the_first);
  EXPECT_GT(varied.size(), 0u);
  EXPECT_LT(varied.size(), 500u);
  EXPECT_EQ(format_boards(varied), format_boards(vary_hard({8, 5}, list, varied.size(), 1)));
}

TEST(Hard, VariationsAreNewDifferByAClueOrTwoAndAreAsHardAsAsked) {
  std::vector<Grid> list;
  for (const Board& board : generate_hard({12, 3, 4}, 6, 2)) list.push_back(board.puzzle);
  const std::vector<Board> varied = vary_hard({12, 3}, list, 40, 2);
  ASSERT_EQ(varied.size(), 40u);
  EXPECT_EQ(format_boards(varied), format_boards(vary_hard({12, 3}, list, 40, 1)));
  EXPECT_NE(format_boards(varied), format_boards(vary_hard({12, 4}, list, 40, 1)));
  Random random(2);
  double efforts = 0;
  std::vector<Grid> all = list;
  for (const Board& board : varied) {
    EXPECT_EQ(test::ExactCover::count(board.puzzle, 3, 3, 2), 1) << grid_text(board.puzzle);
    EXPECT_EQ(solve(board.puzzle), board.solution);
    EXPECT_EQ(std::count(all.begin(), all.end(), board.puzzle), 0) << grid_text(board.puzzle);
    // All but one clue are those of a puzzle that was there before.
    const auto is_near = [&](const Grid& before) {
      int others = 0;
      for (std::size_t cell = 0; cell < before.size(); ++cell)
        others += board.puzzle[cell] != 0 && board.puzzle[cell] != before[cell];
      return others == 1;
    };
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), is_near)) << grid_text(board.puzzle);
    all.push_back(board.puzzle);
    efforts += search_effort(board.puzzle, 200, random);
  }
  EXPECT_GT(efforts / 40, effort_of_guesses(10));
  // An easy puzzle has no hard neighbour.
  const Grid easy = generate({3, 36, 36, 1}, 0).puzzle;
  EXPECT_THROW(vary_hard({5000, 1}, {easy}, 1), InputError);
}

}  // namespace
}  // namespace as2::sudoku
