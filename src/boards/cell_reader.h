// Reading the cells of a photographed board: which way up it lies, what is printed, what was written by hand,
// and what evidence that is for a program whose positions are the cells in reading order.
//
// The network of cells says how likely a cell is blank, printed or written. Which digit was written says the
// perception of the board's own model, which has seen more handwriting:
//   p(s) = p_cells(printed s) + p_cells(written) p_model(s).
// Rejected: multiplying what both say (both see the same ink, so their errors are not independent).
//
// Where the program has numbers of several digits, ink that may be digits side by side is also read piece by
// piece by the network of cells alone, and a number is as likely as its digits together. Which numbers there
// are says the program.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
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

// A cell's picture as cut_cells() gives it, of any size where numbers have several digits.
struct Cell {
  int position = 0;
  formats::Image picture;
};

class CellReader {
 public:
  // `cells` answers for the program of one cell: symbols blank, printed(D) and written(D) for digits D.
  // `board` is kept. InputError where its program has a symbol that no picture shows.
  CellReader(infer::Solver cells, infer::Solver& board);

  // The numbers of quarter turns against the clock under which the digits are most certain, the likeliest
  // first, without those that are far behind. A photo is taken upright unless a turn is clearly better.
  std::vector<int> likely_turns(const vision::Photo& photo, infer::SolveTimes* times = nullptr);
  // The board after so many of them.
  BoardCells read(const vision::Photo& photo, int turns, infer::SolveTimes* times = nullptr);
  // What each cell shows. `digits` gives the cells' ink as MNIST has its digits, black where there is none;
  // it is called where something may be written.
  std::vector<CellBeliefs> look(const std::vector<Cell>& cells,
                                const std::function<std::vector<formats::Image>()>& digits,
                                infer::SolveTimes* times = nullptr);

  // What the cells are evidence of, in the order in which to try them: printed digits alone where both kinds
  // are there (the written ones are then a player's), all digits, and all with those that are more likely
  // blank. Belief in a blank cell is shared among the symbols: a blank says nothing.
  std::vector<infer::Evidence> evidence(const BoardCells& board) const;
  // The same evidence without the cells whose digit the rules changed to one that the cell shows less likely
  // than nothing at all: they are blank. None where there is no such cell.
  std::optional<infer::Evidence> without_blanks(const BoardCells& board, const infer::Evidence& evidence,
                                                const infer::Answer& answer) const;
  // The evidence of a handwritten board's answer and the cells taken for blank that rather show the answer's
  // own digit: the rules having named it, it is as much likelier as there are digits. None where there is no
  // such cell. On a printed board it would be a smudge more often than a clue.
  std::optional<infer::Evidence> with_pale(const BoardCells& board, const infer::Answer& answer) const;
  // The written digits of a printed board.
  std::vector<Entry> entries(const BoardCells& board) const;

 private:
  using Row = std::vector<double>;  // beliefs about a picture in the order of the network's symbols
  // Ink as one digit, and as several with the belief that it is.
  struct Seen {
    Row whole;
    std::vector<Row> pieces;
    double several = 0;
  };

  std::vector<Row> perceive(const std::vector<formats::Image>& pictures, infer::SolveTimes* times);
  std::vector<Seen> see(const std::vector<formats::Image>& cells, infer::SolveTimes* times);
  std::vector<formats::Image> pictures_of(const vision::Photo& photo) const;
  CellBeliefs beliefs_of(const Seen& seen, int position) const;
  // That a picture shows a written digit, whether or not the board has it.
  double written_belief(const Row& row) const;
  double certainty(const Seen& seen) const;

  infer::Solver cells_;
  std::map<std::vector<std::uint8_t>, Row> known_;  // pictures of this photo that were looked at
  infer::Solver& board_;
  std::vector<std::vector<std::vector<std::size_t>>> digits_;  // by position of the board and its symbol
  std::array<std::size_t, 10> printed_{}, written_{};          // digit → symbol of a cell
  std::vector<std::size_t> all_written_;                       // symbols of a cell
  std::set<std::size_t> used_;                                 // digits of the symbols
  std::size_t blank_ = 0, longest_ = 1;                        // number, in digits
};

}  // namespace as2::boards
