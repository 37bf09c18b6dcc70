// The cells of a board as small pictures, for a network that knows blank cells.
#pragma once

#include <vector>

#include "vision/lattice.h"

namespace as2::vision {

// A square of `size` pixels per cell in reading order, paper 0 and the board's ink near 230: the cell but for
// a twentieth at each side. Paper is each cell's own, so that shadows and tinted cells do not count; ink is
// the board's, so that a blank cell stays pale.
std::vector<formats::Image> cut_cells(const formats::Image& picture, const Lattice& lattice, bool dark_ink,
                                      int size = 28);

// A cell's picture after a quarter turn of the board, as Lattice::turned().
formats::Image turned(const formats::Image& square);

}  // namespace as2::vision
