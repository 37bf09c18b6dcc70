// From a picture of a board to cells as MNIST has them, and the answer drawn back into the picture.
//
// It reads straight, cropped pictures with drawn grid lines, 200 to 4,000 pixels a side, dark ink on light
// paper or the reverse, and the paper's boards without lines (28 pixels per cell).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/image.h"
#include "sudoku/board.h"
#include "vision/lattice.h"

namespace as2::vision {

// A cell's inside in the picture, without its lines.
struct CellPlace {
  int x = 0, y = 0, width = 0, height = 0;
};

struct BoardReading {
  int side = 9;
  std::vector<formats::Image>
      cells;  // 28×28, white on black, centred and scaled as MNIST; all black where blank
  std::vector<bool> blank;
  std::vector<CellPlace> places;
  Lattice lattice;
  bool dark_ink = true;
  bool lines = true;  // false: a board of the paper's kind, its cells cut out as they are
  std::string saw;    // one sentence for people
};

// Finds the grid of side × side cells and cuts it. `name` stands for the picture in messages; with `debug`,
// pictures of the intermediate steps are added to it even when reading fails. Throws InputError that says
// what was seen: not a board, two boards, something unreadable, or an unsupported size. `file_size` is that
// of a picture that was shrunk, for those who know their file.
using DebugPictures = std::vector<std::pair<std::string, formats::Image>>;
BoardReading read_board(const formats::Image& picture, const std::string& name, int side = 9,
                        DebugPictures* debug = nullptr, const std::string& file_size = "");

// The picture with the answer's numbers written into the blank cells as the sheet lies, thinner and
// paler than the ink.
formats::Image draw_answer(const formats::Image& picture, const Lattice& lattice,
                           const std::vector<bool>& blank, const sudoku::Grid& answer, bool dark_ink);
inline formats::Image draw_answer(const formats::Image& picture, const BoardReading& reading,
                                  const sudoku::Grid& answer) {
  return draw_answer(picture, reading.lattice, reading.blank, answer, reading.dark_ink);
}

// The cells side by side, for people.
formats::Image montage(const std::vector<formats::Image>& cells, int side);
// The picture with the lattice's lines in grey.
formats::Image with_lattice(const formats::Image& picture, const Lattice& lattice);

// Draws a number's digits with a few straight strokes each, filling the place.
void draw_number(formats::Image& image, int number, const CellPlace& place, double thickness,
                 std::uint8_t gray);

// The ink of a picture: how much darker (or, on dark paper, brighter) than the paper around it, 255 being the
// ink of this picture's strokes.
struct Ink {
  formats::Image strength;
  bool dark = true;   // ink on paper; false: light on dark
  int contrast = 0;   // gray levels between paper and ink
  int threshold = 0;  // ink stronger than this is drawn; weaker may be noise
};
Ink find_ink(const formats::Image& picture);
inline constexpr int kLeastContrast = 24;  // what a picture needs to be read

// Lines of the grid in one direction: the pixels [begin, end) that each covers; cells + 1 of them.
struct GridLines {
  std::vector<std::pair<double, double>> down, across;  // horizontal lines' y, vertical lines' x
};
// The lines of a board with side × side cells; throws InputError as read_board does.
GridLines find_grid(const Ink& ink, const std::string& name, int side, DebugPictures* debug);

// Ink of one cell, any size, made into MNIST's form: what hangs on the border or is a speck is left out, the
// rest scaled into 20×20 and set with its centre of mass at the middle pixel of 28×28. All black if nothing
// is left.
formats::Image normalised_digit(const formats::Image& ink, int threshold);

}  // namespace as2::vision
