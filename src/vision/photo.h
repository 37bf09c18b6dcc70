// From a photo to the cells of the board in it, whichever way finds them: as it lies (find_board.h), or, for
// a straight scan whose lines are incomplete, between the lines that are there (board_image.h).
#pragma once

#include <optional>
#include <string>

#include "vision/board_image.h"
#include "vision/find_board.h"

namespace as2::vision {

struct Photo {
  formats::Image picture;  // as it was read, but for its size
  double shrunk = 1;       // pixels of the original per pixel of `picture`
  Lattice lattice;         // in `picture`
  bool dark_ink = true;
  std::vector<formats::Image> cells;     // as cut_cells() gives them; those of `straight` without lines
  std::optional<BoardReading> straight;  // where the board was read between straight lines
  std::string seen;                      // the picture and its grid, for people
  std::string saw;                       // the same with what is known of its cells
};

// Finds the board of side × side cells. Throws InputError that says what was seen instead. `debug` as for
// read_board().
Photo read_photo(formats::Image picture, const std::string& name, int side, DebugPictures* debug = nullptr);

// The same board after quarter turns against the clock. Read between straight lines it was only as it lay.
Photo turned(Photo photo, int turns);

// The cells' ink as MNIST has its digits, for a board that is not straight.
std::vector<formats::Image> normalised_cells(const Photo& photo);

}  // namespace as2::vision
