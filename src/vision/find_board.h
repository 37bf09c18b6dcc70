// Finding a board in a photo: any rotation and perspective, uneven light, other things on the page.
#pragma once

#include <optional>

#include "vision/lattice.h"

namespace as2::vision {

struct FoundBoard {
  Lattice lattice;  // in the picture's coordinates, its first corner the one nearest the picture's top left
  bool dark_ink = true;
  Support support;
  int others = 0;  // boards apart from this one and nearly as large
};

// The best lattice of side × side cells, whether or not it is good enough; none where nothing in the picture
// has four corners. With `debug`, the ink that was looked at, as white on black.
std::optional<FoundBoard> find_board(const formats::Image& picture, int side,
                                     formats::Image* debug = nullptr);

inline constexpr double kEnoughSupport = 0.6;  // Support::score() of a board

// How much darker than its surroundings each pixel is, in shares of their brightness: 255 is a third.
// `reach` is half the side of the window that is compared with.
formats::Image local_ink(const formats::Image& picture, int reach, bool dark_ink);

}  // namespace as2::vision
