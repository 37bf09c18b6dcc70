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
  bool timed_out = false;      // the searches were ended, or not all begun, for want of time
};

// Seconds that all searches for one photo may take together. Digits that contradict one another in many ways
// take each search's whole time, so further readings and turns are begun in the first half of it only.
constexpr double kPhotoSeconds = 20;

class PhotoSolver {
 public:
  // `open_cells` opens the network that reads cells; it is called for the first board with lines.
  PhotoSolver(infer::Solver& board, std::function<infer::Solver()> open_cells,
              double seconds = kPhotoSeconds);

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

  infer::Answer search(infer::Evidence evidence, infer::SolveTimes* times);
  // Whether there is time for another reading or turn of the photo at hand; notes where there is none.
  bool may_go_on();

  using Clock = std::chrono::steady_clock;
  Clock::duration time_;
  Clock::time_point until_;
  bool timed_out_ = false;

  infer::Solver& board_;
  std::function<infer::Solver()> open_cells_;
  std::unique_ptr<CellReader> reader_;
};

}  // namespace as2::boards
