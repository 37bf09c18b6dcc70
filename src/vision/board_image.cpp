#include "vision/board_image.h"

#include <algorithm>
#include <cmath>

#include "as2/error.h"
#include "datasets/mnist.h"
#include "vision/components.h"

namespace as2::vision {
namespace {

constexpr int kSmallest = 200, kLargest = 4000;  // pixels a side
constexpr int kDigitBox = 20;                    // MNIST scales a digit into 20×20 …
constexpr double kDigitCentre = 14.5;            // … and sets its centre of mass here (measured)
constexpr int kEnoughPixels = 80;  // side of a cell that is large enough to find a stroke's edge

// Digits 0 … 9 in a box of width 4 and height 6: two characters (x, y) per point, `|` between strokes.
constexpr const char* kStrokes[] = {
    "103041453616050110",   "112026|1636", "01103041420646",
    "004022324345361605",   "36300444",    "4000023243453606",
    "30100205163645433203", "004016",      "103041423313020110|1304051636454433",
    "42331302011030414336"};

// A remnant of a line: it touches the border and lies wholly in a narrow strip along it.
bool is_line_remnant(const Component& c, int width, int height) {
  const int strip_x = std::max(1, width / 8), strip_y = std::max(1, height / 8);
  return (c.left == 0 && c.right < strip_x) || (c.right == width - 1 && c.left >= width - strip_x) ||
         (c.top == 0 && c.bottom < strip_y) || (c.bottom == height - 1 && c.top >= height - strip_y);
}

// The ink that belongs to the digit, and where it is; `box` has area 0 if there is none.
formats::Image digit_only(const formats::Image& ink, int threshold, Component& box) {
  constexpr int kFaint = 40;
  const Components found = find_components(ink, threshold);
  const int speck = std::max(2, ink.width * ink.height / 400);
  std::vector<bool> keep;
  for (const Component& c : found.list)
    keep.push_back(c.area >= speck && !is_line_remnant(c, ink.width, ink.height));
  const auto kept_near = [&](int x, int y) {
    for (int v = std::max(0, y - 1); v <= std::min(ink.height - 1, y + 1); ++v) {
      for (int u = std::max(0, x - 1); u <= std::min(ink.width - 1, x + 1); ++u) {
        const int label = found.label[static_cast<std::size_t>(v) * ink.width + u];
        if (label >= 0 && keep[label]) return true;
      }
    }
    return false;
  };
  // A stroke's soft edge lies below the threshold, so the pixels next to a component belong to it as well.
  formats::Image result(ink.width, ink.height);
  box = {ink.width, ink.height, -1, -1, 0};
  for (int y = 0; y < ink.height; ++y) {
    for (int x = 0; x < ink.width; ++x) {
      if (ink.at(x, y) < kFaint || !kept_near(x, y)) continue;
      result.at(x, y) = ink.at(x, y);
      box.left = std::min(box.left, x);
      box.right = std::max(box.right, x);
      box.top = std::min(box.top, y);
      box.bottom = std::max(box.bottom, y);
      ++box.area;
    }
  }
  return result;
}

struct Digit {
  formats::Image picture;  // of the digit's ink, which lies in `box`
  Component box;
  bool found = false;
};

Digit find_digit(const formats::Image& ink, int threshold) {
  Digit digit;
  // In a small cell the edges are blurred: only an enlarged copy tells where a stroke ends.
  const int enlarge = std::max(1, kEnoughPixels / std::max(1, std::min(ink.width, ink.height)));
  digit.picture =
      digit_only(enlarge > 1 ? formats::resize(ink, ink.width * enlarge, ink.height * enlarge) : ink,
                 threshold, digit.box);
  // A digit is never so flat or so small; a dash, a dot or a corner is.
  digit.found = digit.box.area > 0 && digit.box.height() * 9 >= 2 * digit.picture.height;
  return digit;
}

// Whether find_digit() finds one in a cell of 28 pixels, where that shows without enlarging it. Each pixel
// has a weight of at least (3/4)² in all that it is enlarged to: what is ink here by that much is ink there,
// and hangs together there.
bool shows_digit(const formats::Image& ink, int threshold) {
  static_assert(kEnoughPixels / datasets::kDigitSide == 2, "twice as large: weights of 3/4 and 1/4");
  const Components strong = find_components(ink, (threshold + 1) * 16 / 9 + 1);
  return std::any_of(strong.list.begin(), strong.list.end(), [&](const Component& c) {
    const bool in_strip = 8 * c.right < ink.width || 8 * c.left >= 7 * ink.width ||
                          8 * c.bottom < ink.height || 8 * c.top >= 7 * ink.height;
    return !in_strip && 400 * c.area >= ink.width * ink.height && 9 * c.height() >= 2 * ink.height;
  });
}

bool is_black(const formats::Image& image) {
  return std::all_of(image.pixels.begin(), image.pixels.end(), [](int pixel) { return pixel == 0; });
}

// A board of the paper's kind: nothing but paper along the cells' borders.
bool is_without_lines(const formats::Image& picture, const Ink& ink, int side) {
  if (picture.width != datasets::kDigitSide * side || picture.height != datasets::kDigitSide * side)
    return false;
  int border = 0, inked = 0;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const int u = x % datasets::kDigitSide, v = y % datasets::kDigitSide;
      if (u > 0 && u < datasets::kDigitSide - 1 && v > 0 && v < datasets::kDigitSide - 1) continue;
      ++border;
      inked += ink.strength.at(x, y) > 60;
    }
  }
  return inked * 50 < border;
}

BoardReading cut_without_lines(const formats::Image& picture, const Ink& ink, int side) {
  BoardReading reading;
  for (int k = 0; k < side * side; ++k) {
    const CellPlace place{k % side * datasets::kDigitSide, k / side * datasets::kDigitSide,
                          datasets::kDigitSide, datasets::kDigitSide};
    formats::Image cell =
        formats::crop(picture, place.x, place.y, datasets::kDigitSide, datasets::kDigitSide);
    if (ink.dark)
      std::transform(cell.pixels.begin(), cell.pixels.end(), cell.pixels.begin(),
                     [](int g) { return 255 - g; });
    // Enlarging brightens no pixel, so most blanks show at once.
    const int threshold = std::max(60, ink.threshold);
    const bool blank = *std::max_element(cell.pixels.begin(), cell.pixels.end()) < threshold ||
                       (!shows_digit(cell, threshold) && !find_digit(cell, threshold).found);
    reading.places.push_back(place);
    reading.blank.push_back(blank);
    reading.cells.push_back(blank ? formats::Image(datasets::kDigitSide, datasets::kDigitSide) : cell);
  }
  reading.lines = false;
  const double far = datasets::kDigitSide * side;
  reading.lattice = Lattice::of({Point{0, 0}, Point{far, 0}, Point{far, far}, Point{0, far}}, side);
  return reading;
}

BoardReading cut_between(const GridLines& lines, const Ink& ink, int side, const std::string& name) {
  BoardReading reading;
  const auto inside = [&](const std::vector<std::pair<double, double>>& edges, int k, int limit) {
    const double pitch = (edges.back().first - edges.front().second) / side;
    const double inset = std::max(1.0, 0.025 * pitch);
    const int begin = std::clamp(static_cast<int>(std::ceil(edges[k].second + inset)), 0, limit - 1);
    const int end = std::clamp(static_cast<int>(edges[k + 1].first - inset), begin + 1, limit);
    return std::pair(begin, end - begin);
  };
  for (int k = 0; k < side * side; ++k) {
    const auto [x, width] = inside(lines.across, k % side, ink.strength.width);
    const auto [y, height] = inside(lines.down, k / side, ink.strength.height);
    const formats::Image cell = formats::crop(ink.strength, x, y, width, height);
    const auto inked = std::count_if(cell.pixels.begin(), cell.pixels.end(),
                                     [&](int strength) { return strength > ink.threshold; });
    if (inked * 10 > 7 * static_cast<std::int64_t>(cell.pixels.size())) {
      throw InputError({name},
                       "unreadable: more than two thirds of the cell in row " + std::to_string(k / side + 1) +
                           ", column " + std::to_string(k % side + 1) + " is ink",
                       {"a sharper picture with more even light may help"});
    }
    reading.places.push_back({x, y, width, height});
    reading.cells.push_back(inked == 0 ? formats::Image(datasets::kDigitSide, datasets::kDigitSide)
                                       : normalised_digit(cell, ink.threshold));
    reading.blank.push_back(is_black(reading.cells.back()));
  }
  reading.lattice.side = side;
  for (const auto& [top, bottom] : lines.down) {
    for (const auto& [left, right] : lines.across)
      reading.lattice.crossings.push_back({(left + right) / 2, (top + bottom) / 2});
  }
  return reading;
}

// The points of a number's strokes in a box of width 4 and height 6, each stroke's in order; several digits
// share the width.
std::vector<std::vector<Point>> strokes_of(int number) {
  AS2_REQUIRE(number >= 0, "no sign can be drawn");
  const std::string digits = std::to_string(number);
  constexpr double kWidth = 4, kApart = 1;
  const auto count = static_cast<double>(digits.size());
  const double shrink = kWidth / (count * kWidth + (count - 1) * kApart);
  std::vector<std::vector<Point>> strokes;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const double left = static_cast<double>(k) * (kWidth + kApart);
    strokes.emplace_back();
    for (const char* at = kStrokes[digits[k] - '0']; *at != '\0'; at += 2) {
      if (*at == '|') {
        strokes.emplace_back();
        ++at;
      }
      strokes.back().push_back({shrink * (left + at[0] - '0'), static_cast<double>(at[1] - '0')});
    }
  }
  return strokes;
}

}  // namespace

formats::Image normalised_digit(const formats::Image& ink, int threshold) {
  formats::Image result(datasets::kDigitSide, datasets::kDigitSide);
  const auto [digit, box, found] = find_digit(ink, threshold);
  if (!found) return result;
  const double scale = static_cast<double>(kDigitBox) / std::max(box.width(), box.height());
  const int width = std::max(1, static_cast<int>(std::lround(box.width() * scale)));
  const int height = std::max(1, static_cast<int>(std::lround(box.height() * scale)));
  formats::Image small =
      formats::resize(formats::crop(digit, box.left, box.top, box.width(), box.height()), width, height);
  // Shrinking makes thin strokes paler, but MNIST's brightest pixels are near 255: scale the gray back up.
  const int brightest = *std::max_element(small.pixels.begin(), small.pixels.end());
  double sum = 0, sum_x = 0, sum_y = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      small.at(x, y) = static_cast<std::uint8_t>(small.at(x, y) * 255 / brightest);
      sum += small.at(x, y);
      sum_x += small.at(x, y) * (x + 0.5);
      sum_y += small.at(x, y) * (y + 0.5);
    }
  }
  const int left = static_cast<int>(std::lround(kDigitCentre - sum_x / sum));
  const int top = static_cast<int>(std::lround(kDigitCentre - sum_y / sum));
  formats::paste(result, small, std::clamp(left, 0, datasets::kDigitSide - width),
                 std::clamp(top, 0, datasets::kDigitSide - height));
  return result;
}

BoardReading read_board(const formats::Image& picture, const std::string& name, int side,
                        DebugPictures* debug, const std::string& file_size) {
  const std::string size =
      !file_size.empty() ? file_size : std::to_string(picture.width) + "x" + std::to_string(picture.height);
  const Ink ink = picture.pixels.empty() ? Ink{} : find_ink(picture);
  if (debug && !picture.pixels.empty()) debug->emplace_back("picture", picture);
  const bool paper_size = picture.width == datasets::kDigitSide * side && picture.height == picture.width;
  if (!paper_size && (std::min(picture.width, picture.height) < kSmallest ||
                      std::max(picture.width, picture.height) > kLargest)) {
    throw InputError({name}, "a picture of " + size + " pixels",
                     {"expected 200 to 4,000 pixels a side: scale it or crop it to the board",
                      "or exactly " + std::to_string(datasets::kDigitSide * side) +
                          ", 28 for each cell: `--box` says how many there are"});
  }
  if (ink.contrast < kLeastContrast) {
    throw InputError({name},
                     "unreadable: saw a picture of " + size + " with " + std::to_string(ink.contrast) +
                         " gray levels between paper and ink, expected at least " +
                         std::to_string(kLeastContrast),
                     {"a picture with more contrast is needed"});
  }
  BoardReading reading;
  if (is_without_lines(picture, ink, side)) {
    reading = cut_without_lines(picture, ink, side);
  } else {
    const GridLines lines = find_grid(ink, name, side, debug);
    reading = cut_between(lines, ink, side, name);
    if (debug) debug->emplace_back("grid", with_lattice(picture, reading.lattice));
  }
  reading.side = side;
  reading.dark_ink = ink.dark;
  if (debug) debug->emplace_back("cells", montage(reading.cells, side));
  const auto filled = std::count(reading.blank.begin(), reading.blank.end(), false);
  reading.saw = std::string(reading.lines ? "a grid with lines" : "a board without lines") +
                " in a picture of " + size + ", " +
                (ink.dark ? "dark ink on light paper" : "light ink on dark paper") + ", " +
                std::to_string(filled) + " of " + std::to_string(side * side) + " cells filled";
  if (filled == 0)
    throw InputError({name}, "unreadable: saw " + reading.saw, {"no cell has ink that could be a digit"});
  return reading;
}

formats::Image montage(const std::vector<formats::Image>& cells, int side) {
  formats::Image sheet(side * (datasets::kDigitSide + 1), side * (datasets::kDigitSide + 1), 90);
  for (int k = 0; k < side * side; ++k)
    formats::paste(sheet, cells[k], k % side * (datasets::kDigitSide + 1),
                   k / side * (datasets::kDigitSide + 1));
  return sheet;
}

formats::Image with_lattice(const formats::Image& picture, const Lattice& lattice) {
  formats::Image marked = picture;
  const double thick = std::max(1.0, lattice.pitch() / 40);
  for (int line = 0; line <= lattice.side; ++line) {
    for (int k = 0; k < lattice.side; ++k) {
      for (const auto& [a, b] : {std::pair(lattice.node(k, line), lattice.node(k + 1, line)),
                                 std::pair(lattice.node(line, k), lattice.node(line, k + 1))})
        formats::draw_line(marked, a.x, a.y, b.x, b.y, thick, 128);
    }
  }
  return marked;
}

void draw_number(formats::Image& image, int number, const CellPlace& place, double thickness,
                 std::uint8_t gray) {
  const auto seen = [&](Point p) {
    return Point{place.x + p.x * place.width / 4.0, place.y + p.y * place.height / 6.0};
  };
  for (const std::vector<Point>& stroke : strokes_of(number)) {
    for (std::size_t k = 0; k + 1 < stroke.size(); ++k) {
      const Point a = seen(stroke[k]), b = seen(stroke[k + 1]);
      formats::draw_line(image, a.x, a.y, b.x, b.y, thickness, gray);
    }
  }
}

formats::Image draw_answer(const formats::Image& picture, const Lattice& lattice,
                           const std::vector<bool>& blank, const sudoku::Grid& answer, bool dark_ink) {
  AS2_REQUIRE(
      answer.size() == blank.size() && blank.size() == static_cast<std::size_t>(lattice.side * lattice.side),
      "an answer for every cell");
  constexpr double kHeight = 0.55, kWidth = 0.33;  // of the cell
  formats::Image result = picture;
  for (int cell = 0; cell < lattice.side * lattice.side; ++cell) {
    const auto k = static_cast<std::size_t>(cell);
    if (!blank[k]) continue;
    const double left = cell % lattice.side + (1 - kWidth) / 2, top = cell / lattice.side + (1 - kHeight) / 2;
    const auto seen = [&](Point p) { return lattice.at(left + p.x * kWidth / 4, top + p.y * kHeight / 6); };
    for (const std::vector<Point>& stroke : strokes_of(answer[k])) {
      for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
        const Point a = seen(stroke[i]), b = seen(stroke[i + 1]);
        formats::draw_line(result, a.x, a.y, b.x, b.y, std::max(1.2, 0.06 * lattice.pitch()),
                           dark_ink ? 110 : 150);
      }
    }
  }
  return result;
}

}  // namespace as2::vision
