#include "sudoku/board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "as2/error.h"
#include "formats/sha256.h"
#include "sudoku/board_list.h"
#include "sudoku/exact_cover.h"

namespace as2::sudoku {
namespace {

using test::ExactCover;

// The rules by definition: every row, column and box holds each digit once.
bool obeys_the_rules(const Grid& grid, Box box) {
  const int h = box.rows, w = box.columns, side = h * w;
  for (int unit = 0; unit < side; ++unit) {
    std::set<int> row, column, block;
    for (int k = 0; k < side; ++k) {
      row.insert(grid[unit * side + k]);
      column.insert(grid[k * side + unit]);
      block.insert(grid[(unit / h * h + k / w) * side + unit % h * w + k % w]);
    }
    for (const auto& digits : {row, column, block}) {
      if (static_cast<int>(digits.size()) != side || *digits.begin() != 1 || *digits.rbegin() != side)
        return false;
    }
  }
  return true;
}

TEST(Random, IsTheReferenceSequence) {
  // splitmix64 from state 0, as published by its author.
  EXPECT_EQ(scatter(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(scatter(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
  Random random(1, 2);
  Random same(1, 2), other_stream(1, 3), other_seed(2, 2);
  const std::uint64_t first = random.next();
  EXPECT_EQ(first, same.next());
  EXPECT_NE(first, other_stream.next());
  EXPECT_NE(first, other_seed.next());
}

TEST(Random, BoundedIntegersAreUniform) {
  Random random(3);
  std::vector<int> seen(7);
  for (int k = 0; k < 70000; ++k) ++seen[random.below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
  for (int k = 0; k < 1000; ++k) {
    const double x = random.unit();
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 1);
  }
}

int solutions_of(const Grid& puzzle, Box box, int limit) {
  return ExactCover::count(puzzle, box.rows, box.columns, limit);
}

struct Range {
  Box box;
  int min_clues, max_clues, count;
};

class Generated : public testing::TestWithParam<Range> {};

TEST_P(Generated, HaveOneSolutionAndTheAskedClues) {
  const Range range = GetParam();
  const std::vector<Board> boards =
      generate({range.box, range.min_clues, range.max_clues, 11}, 0, range.count, 2);
  ASSERT_EQ(boards.size(), static_cast<std::size_t>(range.count));
  for (const Board& board : boards) {
    ASSERT_EQ(solutions_of(board.puzzle, range.box, 2), 1) << grid_text(board.puzzle);
    ASSERT_TRUE(obeys_the_rules(board.solution, range.box)) << grid_text(board.solution);
    for (std::size_t k = 0; k < board.puzzle.size(); ++k) {
      ASSERT_TRUE(board.puzzle[k] == 0 || board.puzzle[k] == board.solution[k]);
    }
    ASSERT_GE(clue_count(board.puzzle), range.min_clues);
    ASSERT_LE(clue_count(board.puzzle), range.max_clues);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranges, Generated,
                         testing::Values(Range{2, 4, 6, 1000}, Range{2, 8, 16, 1000}, Range{3, 17, 24, 1000},
                                         Range{3, 22, 30, 1000}, Range{3, 17, 45, 1000},
                                         Range{3, 36, 36, 1000}, Range{3, 45, 45, 1000},
                                         Range{3, 60, 81, 1000}, Range{4, 120, 160, 1000},
                                         Range{4, 100, 110, 50}, Range{{2, 3}, 8, 36, 1000},
                                         Range{{2, 3}, 8, 9, 100}, Range{{2, 4}, 14, 24, 500},
                                         Range{{2, 5}, 30, 50, 500}, Range{{3, 4}, 50, 90, 500},
                                         Range{{3, 5}, 105, 150, 100}));

TEST(Generator, DrawsTheClueCountOverTheWholeRange) {
  std::vector<int> seen(82);
  for (const Board& board : generate({3, 30, 34, 5}, 0, 1000)) ++seen[clue_count(board.puzzle)];
  for (int clues = 30; clues <= 34; ++clues) EXPECT_NEAR(seen[clues], 200, 60) << clues;
}

TEST(Generator, GivesTheSameListEverywhere) {
  const GenerateOptions options{3, 30, 40, 7};
  const std::vector<Board> once = generate(options, 0, 64, 1);
  const std::vector<Board> threaded = generate(options, 0, 64, 2);
  const std::vector<Board> later = generate(options, 32, 32, 1);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(once[k].puzzle, threaded[k].puzzle);
  for (int k = 0; k < 32; ++k) EXPECT_EQ(once[32 + k].puzzle, later[k].puzzle);
  EXPECT_NE(once[0].puzzle, once[1].puzzle);
  EXPECT_NE(once[0].puzzle, generate({3, 30, 40, 8}, 0).puzzle);
  // Recorded once; a change here changes every experiment's data.
  EXPECT_EQ(formats::sha256(format_boards(once)),
            "af3b8cdbea852c55d77ba22b523d3b742828d7606b33c32455928637aa7448d7");
}

TEST(Generator, EndsWhenItIsAskedTo) {
  std::atomic<bool> stop{false};
  GenerateOptions options;
  options.box = {3, 4};
  options.min_clues = options.max_clues = 38;  // out of reach, which takes minutes to find out
  options.stop = &stop;
  std::thread asked([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  EXPECT_THROW(generate(options, 0, 4, 2), EnvironmentError);
  asked.join();
}

TEST(Generator, SaysWhatCannotBe) {
  EXPECT_THROW(generate({3, 5, 16, 0}, 0), InputError);
  EXPECT_THROW(generate({3, 40, 30, 0}, 0), InputError);
  EXPECT_THROW(generate({3, 82, 90, 0}, 0), InputError);
  EXPECT_THROW(generate({{2, 3}, 4, 7, 0}, 0), InputError);
  EXPECT_THROW(generate({{2, 3}, 37, 40, 0}, 0), InputError);
  EXPECT_THROW(generate({5, 30, 40, 0}, 0), ContractError);
  EXPECT_THROW(generate({{3, 2}, 20, 30, 0}, 0), ContractError);
}

TEST(Solver, AgreesWithTheExactCover) {
  // Puzzles with none, one and several solutions: random clues taken from one grid, or made up.
  Random random(21);
  int seen[4] = {};
  for (int k = 0; k < 600; ++k) {
    Grid puzzle = generate({3, 20, 30, 2}, k).puzzle;
    for (int change = 0; change < 3; ++change) {
      const int cell = static_cast<int>(random.below(81));
      const std::uint8_t before = puzzle[cell];
      puzzle[cell] = before != 0 && k % 2 ? 0 : static_cast<std::uint8_t>(random.between(1, 9));
      if (!is_consistent(puzzle)) puzzle[cell] = before;
    }
    const int expected = solutions_of(puzzle, 3, 3);
    ASSERT_EQ(count_solutions(puzzle, 3), expected) << grid_text(puzzle);
    ++seen[expected];
    const auto solution = solve(puzzle);
    ASSERT_EQ(solution.has_value(), expected > 0);
    ASSERT_TRUE(!solution || obeys_the_rules(*solution, 3));
  }
  for (const int count : seen) EXPECT_GT(count, 5);
}

TEST(Solver, KnowsTheNumberOfSmallGrids) {
  EXPECT_EQ(count_solutions(Grid(16), 1000), 288);
  // 28,200,960 on 6×6, of which every 6!-th begins with 1 … 6.
  Grid six(36);
  std::iota(six.begin(), six.begin() + 6, std::uint8_t{1});
  EXPECT_EQ(count_solutions(six, 100000), 39168);
}

TEST(Boxes, AreToldByTheirNameAndByTheCells) {
  for (const Box box : kBoxes) {
    EXPECT_EQ(find_box(name_of(box)), box);
    EXPECT_EQ(box_of_cells(static_cast<std::size_t>(box.cells())), box);
    EXPECT_EQ(box_of_side(box.side()), box);
    EXPECT_LE(box.rows, box.columns);
  }
  EXPECT_EQ(find_box("3x4"), Box(3, 4));
  EXPECT_EQ(find_box("3"), Box(3, 3));
  for (const char* name : {"", "1", "5", "4x3", "3x3", "2x", "x", "2x6", "03"})
    EXPECT_FALSE(find_box(name)) << name;
  EXPECT_FALSE(box_of_cells(25));
  EXPECT_FALSE(box_of_side(7));
  EXPECT_EQ(box_of_side(25), Box(5));                // boards of other programs are shown with boxes, too
  EXPECT_FALSE(is_consistent(Grid{1, 2, 0, 0, 0, 0,  //
                                  0, 0, 1, 0, 0, 0,  // in the first box of two rows and three columns
                                  0, 0, 0, 0, 0, 0,  //
                                  0, 0, 0, 0, 0, 0,  //
                                  0, 0, 0, 0, 0, 0,  //
                                  0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(is_consistent(Grid{1, 2, 0, 0, 0, 0,  //
                                 0, 0, 0, 1, 0, 0,  //
                                 0, 1, 0, 0, 0, 0,  //
                                 0, 0, 0, 0, 0, 0,  //
                                 0, 0, 0, 0, 0, 0,  //
                                 0, 0, 0, 0, 0, 0}));
}

TEST(Symmetries, KeepSolutionsAndUniqueness) {
  const std::map<int, int> clues_of_side = {{4, 6},   {6, 12},  {8, 22},   {9, 28},
                                            {10, 40}, {12, 66}, {15, 130}, {16, 130}};
  for (const Box box : kBoxes) {
    Random random(9, static_cast<std::uint64_t>(box.side()));
    const int clues = clues_of_side.at(box.side());
    bool transposed = false;
    for (int k = 0; k < (box.side() > 10 ? 20 : 200); ++k) {
      const Board board = generate({box, clues, clues, 4}, k);
      const Symmetry symmetry = Symmetry::random(box, random);
      const Board image = symmetry.apply(board);
      ASSERT_TRUE(obeys_the_rules(image.solution, box));
      ASSERT_EQ(clue_count(image.puzzle), clues);
      ASSERT_EQ(solutions_of(image.puzzle, box, 2), 1);
      ASSERT_EQ(*solve(image.puzzle), image.solution);
      transposed |= symmetry.transpose;
    }
    EXPECT_EQ(transposed, box.is_square());
  }
}

TEST(Symmetries, TheOrdersOfLinesAreAllThereAre) {
  const auto distinct = [](int bands, int lines) {
    const auto orders = line_orders(bands, lines);
    for (const std::vector<int>& order : orders) {
      EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), static_cast<std::size_t>(bands * lines));
      for (std::size_t k = 1; k < order.size(); ++k) {  // a band's lines stay side by side
        if (k % static_cast<std::size_t>(lines) == 0) continue;
        EXPECT_EQ(order[k] / lines, order[k - 1] / lines);
      }
    }
    return std::set<std::vector<int>>(orders.begin(), orders.end()).size();
  };
  EXPECT_EQ(distinct(2, 2), 8u);
  EXPECT_EQ(distinct(3, 3), 1296u);
  EXPECT_EQ(distinct(3, 2), 48u);  // rows of boxes of 2×3
  EXPECT_EQ(distinct(2, 3), 72u);  // their columns
  EXPECT_EQ(distinct(5, 2), 3840u);
  EXPECT_GT(distinct(4, 3), 3800u);  // of 31,104 those drawn
}

TEST(Symmetries, EachKindDoesWhatItSays) {
  const Grid grid = generate({3, 81, 81, 6}, 0).solution;
  EXPECT_EQ(Symmetry::identity(3).apply(grid), grid);
  Symmetry transpose = Symmetry::identity(3);
  transpose.transpose = true;
  EXPECT_EQ(transpose.apply(grid)[1 * 9 + 5], grid[5 * 9 + 1]);
  EXPECT_EQ(transpose.apply(transpose.apply(grid)), grid);
  Symmetry digits = Symmetry::identity(3);
  std::swap(digits.digits[1], digits.digits[9]);
  for (int k = 0; k < 81; ++k)
    EXPECT_EQ(digits.apply(grid)[k], grid[k] == 1 ? 9 : grid[k] == 9 ? 1 : grid[k]);
  Symmetry bands = Symmetry::identity(3);
  bands.rows = {6, 7, 8, 3, 4, 5, 0, 1, 2};
  EXPECT_EQ(bands.apply(grid)[0], grid[6 * 9]);
  Symmetry columns = Symmetry::identity(3);
  columns.columns = {0, 1, 2, 5, 4, 3, 6, 7, 8};
  EXPECT_EQ(columns.apply(grid)[9 + 3], grid[9 + 5]);
  EXPECT_TRUE(obeys_the_rules(columns.apply(bands.apply(grid)), 3));
}

TEST(Symmetries, RandomOnesReachEveryCell) {
  Random random(12);
  std::set<int> homes;
  bool transposed[2] = {};
  for (int k = 0; k < 400; ++k) {
    const Symmetry symmetry = Symmetry::random(3, random);
    homes.insert(symmetry.rows[0] * 9 + symmetry.columns[0]);
    transposed[symmetry.transpose] = true;
    EXPECT_EQ(symmetry.digits[0], 0);
  }
  EXPECT_GT(homes.size(), 70u);
  EXPECT_TRUE(transposed[0] && transposed[1]);
}

}  // namespace
}  // namespace as2::sudoku
