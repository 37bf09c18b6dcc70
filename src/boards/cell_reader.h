// Reading the cells of a photographed board: which way up it lies, what is printed, what was written by hand,
// and what evidence that is for a program whose positions are the cells in reading order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "as2/solver.h"
#include "vision/photo.h"

namespace as2::boards {

// What a cell shows, as beliefs that sum to 1 with those in symbols that the position does not have.
struct CellBeliefs {
  double blank = 0;
  std::vector<double> printed, written;  // by symbol of its position
};

// A digit that a player wrote into a printed board.
struct Entry {
  int position = 0, symbol = 0;
  double belief = 0;
};

struct BoardCells {
  std::vector<CellBeliefs> cells;  // in reading order, the board upright
  int turns = 0;                   // quarter turns against the clock that set it upright
  vision::Lattice lattice;         // upright, in the photo's coordinates
  int printed = 0, written = 0;    // cells that show such a digit rather than nothing

  bool is_handwritten() const { return written > printed; }
  std::string text() const;  // `31 printed and 2 handwritten digits, turned by 90 degrees`
};

class CellReader {
 public:
  // `cells` answers for the program of one cell: symbols blank, printed(S) and written(S). InputError where
  // the board's program has a symbol that no picture shows.
  CellReader(infer::Solver cells, const compile::ConstraintProgram& board);

  // The turn under which the digits are most certain; a photo is taken upright unless another is clearly
  // better.
  BoardCells read(const vision::Photo& photo, infer::SolveTimes* times = nullptr);

  // What the cells are evidence of, in the order in which to try them: printed digits alone where both kinds
  // are there (the written ones are then a player's), all digits, and all with those that are more likely
  // blank. Belief in a blank cell is shared among the symbols: a blank says nothing.
  std::vector<infer::Evidence> evidence(const BoardCells& board) const;
  // The same evidence without the cells whose digit the rules changed to one that the cell shows less likely
  // than nothing at all: they are blank. None where there is no such cell.
  std::optional<infer::Evidence> without_blanks(const BoardCells& board, const infer::Evidence& evidence,
                                                const infer::Answer& answer) const;
  // The written digits of a printed board.
  std::vector<Entry> entries(const BoardCells& board) const;

 private:
  struct Places {
    std::vector<int> printed, written;  // symbol of the position → symbol of a cell
  };
  std::vector<std::vector<double>> look(const std::vector<formats::Image>& cells, infer::SolveTimes* times);

  infer::Solver solver_;
  std::vector<Places> places_;  // by position of the board
  int blank_ = 0, stride_ = 0;
};

}  // namespace as2::boards
