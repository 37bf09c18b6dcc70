// Sudoku boards in memory: solving, counting solutions, symmetries and generating, for box sizes 2, 3 and 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "random.h"

namespace as2::sudoku {

// Cells in reading order: 0 is blank, digits are 1 … side. The number of cells, 16, 81 or 256, tells the box
// size.
using Grid = std::vector<std::uint8_t>;

struct Board {
  Grid puzzle;
  Grid solution;  // empty where a list gives none
};

// 2, 3 or 4 for a grid of 16, 81 or 256 cells; 0 for any other number of cells.
int box_of_cells(std::size_t cells);
int clue_count(const Grid& puzzle);
// No digit stands twice in a row, column or box (blanks are fine), and none is larger than the side.
bool is_consistent(const Grid& grid);
// Consistent, and no cell is blank.
bool is_solved(const Grid& grid);

// The number of solutions, counted no further than `limit`.
int count_solutions(const Grid& puzzle, int limit = 2);
// A solution, if there is one.
std::optional<Grid> solve(const Grid& puzzle);

// A map of boards onto boards that keeps every rule of Sudoku: cell (r, c) of the result is cell
// (rows[r], columns[c]) of the original, or of its transpose, with its digit d renamed digits[d].
struct Symmetry {
  std::vector<std::uint8_t> digits;  // side + 1 entries, digits[0] = 0
  std::vector<int> rows, columns;    // side entries each
  bool transpose = false;

  static Symmetry identity(int box);
  // Uniform over digits, bands, rows in a band, stacks, columns in a stack, and transposition.
  static Symmetry random(int box, Random& random);
  Grid apply(const Grid& grid) const;
  Board apply(const Board& board) const;
};

// The order of lines whose b-th band is band bands[b], its lines in the order within[b]: what keeps every
// line in a box with the lines it was with.
std::vector<int> line_order(const std::vector<int>& bands, const std::vector<std::vector<int>>& within);
// All such orders for this box: every order of bands times every order within each. Box 4 has eight million;
// four thousand drawn at random stand for them.
std::vector<std::vector<int>> line_orders(int box);

struct GenerateOptions {
  int box = 3;
  int min_clues = 36;
  int max_clues = 36;
  std::uint64_t seed = 0;
};

// Puzzle number `index` of the seed's endless list: exactly one solution, min_clues to max_clues clues.
// Throws InputError if the range is impossible or not reached within a bounded number of attempts.
Board generate(const GenerateOptions& options, std::uint64_t index);
// Puzzles first … first + count − 1, on `threads` threads; the same list for any number of threads.
std::vector<Board> generate(const GenerateOptions& options, std::uint64_t first, std::size_t count,
                            int threads = 1);

}  // namespace as2::sudoku
