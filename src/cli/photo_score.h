// How well photos whose clues are known were read and solved.
#pragma once

#include <string>
#include <vector>

#include "boards/photo_solver.h"
#include "sudoku/board.h"

namespace as2::cli {

// The clues of a photo as public sets of them have it: two lines about camera and picture, then rows of
// numbers, 0 for a blank. InputError where the file is missing or has other than `cells` numbers.
sudoku::Grid read_clues(const std::string& path, std::size_t cells);

class PhotoScore {
 public:
  // `answer` is null where the photo was refused with `error`. The clues stand in a .dat file beside it.
  void add(const std::string& image, const boards::PhotoAnswer* answer, const infer::Solver& solver,
           const std::string& error);
  // What was not wholly right, one line each, and the tally, on standard error.
  void print() const;

 private:
  int photos_ = 0, found_ = 0, right_ = 0, agree_ = 0, wrong_ = 0, refused_ = 0;
  std::int64_t cells_ = 0, cells_right_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace as2::cli
