// A photo in, an answer out: the cells are read, and the rules decide between readings.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "boards/cell_reader.h"

namespace as2::boards {

struct PhotoAnswer {
  infer::Answer answer;
  vision::Lattice lattice;     // upright, in the original picture's coordinates
  std::vector<bool> blank;     // cells without a digit
  std::vector<Entry> entries;  // digits that a player wrote, where the printed ones alone have one solution
  std::string saw;             // one sentence for people
};

class PhotoSolver {
 public:
  // `open_cells` opens the network that reads cells; it is called for the first board with lines.
  PhotoSolver(infer::Solver& board, std::function<infer::Solver()> open_cells);

  // InputError where no cell shows a digit.
  PhotoAnswer solve(const vision::Photo& photo, const std::string& name, infer::SolveTimes* times = nullptr);
  // The same for a board whose scene has been answered already.
  static PhotoAnswer answered(const vision::Photo& photo, infer::Answer answer);

 private:
  struct Judged {
    infer::Answer answer;
    std::vector<Entry> entries;
  };
  // The first of a board's readings that has one solution; without one, the first that has any.
  Judged judged(const BoardCells& board, infer::SolveTimes* times);

  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;  // of the photo at hand

  infer::Solver& board_;
  std::function<infer::Solver()> open_cells_;
  std::unique_ptr<CellReader> reader_;
};

}  // namespace as2::boards
