// Sudoku boards in memory: solving, counting solutions, symmetries and generating, for boards of 4×4 to 16×16
// cells. Boxes are square, or, as on 6×6 boards, less high than wide.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random.h"

namespace as2::sudoku {

// The cells of a box. A board has as many cells in a row as a box has in all.
struct Box {
  int rows, columns;

  constexpr Box(int side = 3) : rows(side), columns(side) {}  // a number alone is a square box
  constexpr Box(int rows_of, int columns_of) : rows(rows_of), columns(columns_of) {}

  constexpr int side() const { return rows * columns; }  // of the board
  constexpr int cells() const { return side() * side(); }
  constexpr bool is_square() const { return rows == columns; }
  constexpr bool operator==(const Box& other) const { return rows == other.rows && columns == other.columns; }
  constexpr bool operator!=(const Box& other) const { return !(*this == other); }
};

// All there are: one for each number of cells.
inline constexpr std::array<Box, 8> kBoxes{{2, 3, 4, {2, 3}, {2, 4}, {2, 5}, {3, 4}, {3, 5}}};

// The box of that name: `3` for 3×3, `2x3` for 2 rows of 3 cells; none for any other word.
std::optional<Box> find_box(const std::string& name);
std::string name_of(Box box);
// The names of all, for messages.
std::string box_names();

// Cells in reading order: 0 is blank, digits are 1 … side. The number of cells tells the box.
using Grid = std::vector<std::uint8_t>;

struct Board {
  Grid puzzle;
  Grid solution;  // empty where a list gives none
};

// The box of a board with that many cells in all; none where no board has.
std::optional<Box> box_of_cells(std::size_t cells);
// The same for a board of that side. Boards larger than those here have square boxes if they have any.
std::optional<Box> box_of_side(int side);
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
// (rows[r], columns[c]) of the original, or of its transpose, with its digit d renamed digits[d]. Boxes that
// are not square have no transpose.
struct Symmetry {
  std::vector<std::uint8_t> digits;  // side + 1 entries, digits[0] = 0
  std::vector<int> rows, columns;    // side entries each
  bool transpose = false;

  static Symmetry identity(Box box);
  // Uniform over digits, bands, rows in a band, stacks, columns in a stack, and transposition.
  static Symmetry random(Box box, Random& random);
  Grid apply(const Grid& grid) const;
  Board apply(const Board& board) const;
};

// The order of lines whose b-th band is band bands[b], its lines in the order within[b]: what keeps every
// line in a box with the lines it was with.
std::vector<int> line_order(const std::vector<int>& bands, const std::vector<std::vector<int>>& within);
// All such orders of `bands` bands of `lines` lines: every order of bands times every order within each. Four
// bands of four have eight million; where there are that many, four thousand drawn at random stand for them.
std::vector<std::vector<int>> line_orders(int bands, int lines);

struct GenerateOptions {
  Box box;
  int min_clues = 36;
  int max_clues = 36;
  std::uint64_t seed = 0;
  const std::atomic<bool>* stop = nullptr;  // set from outside, it ends the work with an EnvironmentError
};

// Puzzle number `index` of the seed's endless list: exactly one solution, min_clues to max_clues clues.
// Throws InputError if the range is impossible or not reached within a bounded number of attempts.
Board generate(const GenerateOptions& options, std::uint64_t index);
// Puzzles first … first + count − 1, on `threads` threads; the same list for any number of threads.
std::vector<Board> generate(const GenerateOptions& options, std::uint64_t first, std::size_t count,
                            int threads = 1);

}  // namespace as2::sudoku
