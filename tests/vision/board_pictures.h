// Pictures of boards for tests: digits set into a drawn grid, with the flaws that real pictures have.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "formats/image.h"
#include "random.h"
#include "sudoku/board.h"

namespace as2::test {

struct PictureOptions {
  int size = 600;              // pixels of the board
  int margin = 20;             // paper around it
  double thin = 2, thick = 4;  // line widths; thin 0: only the boxes have lines
  bool frame = true;           // the outermost lines
  bool dark_ink = true;
  int paper = 255, ink = 0;  // before the reverse
  int line_gray = 0;
  double noise = 0;         // uniform, ± gray levels
  double shadow = 0;        // gray levels lost from corner to corner
  double tilt = 0;          // slope of the lines
  double digit_size = 0.7;  // share of the cell
};

// `digit(cell)` gives the cell's ink as an image, white on black (any size), or an empty one for a blank.
inline formats::Image picture_of(const PictureOptions& options, int side,
                                 const std::function<formats::Image(int)>& digit, std::uint64_t seed = 1) {
  const int total = options.size + 2 * options.margin;
  const double pitch = static_cast<double>(options.size) / side;
  const sudoku::Box box = sudoku::box_of_side(side).value_or(side);
  formats::Image ink(total, total);
  for (int k = 0; k <= side; ++k) {
    const bool outer = k == 0 || k == side;
    const auto width = [&](int between) { return k % between == 0 ? options.thick : options.thin; };
    if (outer && !options.frame) continue;
    const auto strength = static_cast<std::uint8_t>(255 - options.line_gray);
    const double a = options.margin, b = options.margin + options.size, at = options.margin + k * pitch;
    const double bend = options.tilt * options.size;
    if (width(box.rows) > 0) formats::draw_line(ink, a, at, b, at + bend, width(box.rows), strength);
    if (width(box.columns) > 0) formats::draw_line(ink, at, a, at - bend, b, width(box.columns), strength);
  }
  for (int cell = 0; cell < side * side; ++cell) {
    const formats::Image source = digit(cell);
    if (source.pixels.empty()) continue;
    const int extent = std::max(4, static_cast<int>(pitch * options.digit_size));
    const formats::Image scaled = formats::resize(source, extent, extent);
    const double middle_x = options.margin + (cell % side + 0.5) * pitch;
    const double middle_y = options.margin + (cell / side + 0.5) * pitch;
    const int x0 = static_cast<int>(middle_x - options.tilt * (middle_y - options.margin) - extent / 2.0);
    const int y0 = static_cast<int>(middle_y + options.tilt * (middle_x - options.margin) - extent / 2.0);
    for (int y = 0; y < extent; ++y) {
      for (int x = 0; x < extent; ++x) {
        auto& pixel = ink.at(std::clamp(x0 + x, 0, total - 1), std::clamp(y0 + y, 0, total - 1));
        pixel = std::max(pixel, scaled.at(x, y));
      }
    }
  }
  Random random(seed);
  formats::Image picture(total, total);
  for (int y = 0; y < total; ++y) {
    for (int x = 0; x < total; ++x) {
      const double share = ink.at(x, y) / 255.0;
      double gray = options.paper + share * (options.ink - options.paper);
      gray -= options.shadow * (x + y) / (2.0 * total) * gray / 255.0;
      gray += (2 * random.unit() - 1) * options.noise;
      gray = std::clamp(gray, 0.0, 255.0);
      picture.at(x, y) = static_cast<std::uint8_t>(std::lround(options.dark_ink ? gray : 255 - gray));
    }
  }
  return picture;
}

}  // namespace as2::test
