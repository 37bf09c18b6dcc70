// The cells of a board as small pictures, for a network that knows blank cells.
#pragma once

#include <vector>

#include "vision/lattice.h"

namespace as2::vision {

inline constexpr int kCellSide = 28;

// A square of `size` pixels per cell in reading order, paper 0 and the board's ink near 230: the cell but for
// a twentieth at each side. Paper is each cell's own, so that shadows and tinted cells do not count; ink is
// the board's, so that a blank cell stays pale.
std::vector<formats::Image> cut_cells(const formats::Image& picture, const Lattice& lattice, bool dark_ink,
                                      int size = kCellSide);

// What may be digits side by side in a cell, from left to right, each alone in a picture of 28 × 28 and about
// as large as a digit by itself; and the belief that they are digits rather than parts of one. None where the
// ink is one piece no wider than a digit, or more pieces than `most`.
struct Pieces {
  std::vector<formats::Image> pictures;
  double belief = 0;
};
Pieces pieces_of(const formats::Image& cell, std::size_t most);

// A cell's picture after a quarter turn of the board, as Lattice::turned().
formats::Image turned(const formats::Image& square);

}  // namespace as2::vision
