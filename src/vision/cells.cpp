#include "vision/cells.h"

#include <algorithm>
#include <cmath>

#include "vision/components.h"

namespace as2::vision {
namespace {

constexpr double kInset = 0.05;    // of the cell, at each side
constexpr double kPaleInk = 0.1;   // the least darkness that is taken for the board's ink
constexpr double kInkValue = 230;  // what the board's ink becomes

// Darkness of a cell's pixels in shares of its paper.
std::vector<double> darkness(const formats::Image& picture, const Lattice& lattice, int column, int row,
                             bool dark_ink, int size) {
  const double width = 1 - 2 * kInset;
  const int finer = std::clamp(static_cast<int>(std::ceil(lattice.pitch() * width / size)), 1, 6);
  std::vector<double> gray(static_cast<std::size_t>(size * size));
  const Point a = lattice.node(column, row), b = lattice.node(column + 1, row),
              c = lattice.node(column, row + 1), d = lattice.node(column + 1, row + 1);
  for (int y = 0; y < size * finer; ++y) {
    const double v = kInset + width * (y + 0.5) / (size * finer);
    const Point left = (1 - v) * a + v * c, right = (1 - v) * b + v * d;
    for (int x = 0; x < size * finer; ++x) {
      const double u = kInset + width * (x + 0.5) / (size * finer);
      Point p = (1 - u) * left + u * right;
      // The picture goes on beyond its border as it ends there.
      p.x = std::clamp(p.x, 0.51, picture.width - 0.51);
      p.y = std::clamp(p.y, 0.51, picture.height - 0.51);
      gray[static_cast<std::size_t>(y / finer * size + x / finer)] += sample(picture, p);
    }
  }
  for (double& g : gray) g = dark_ink ? g / (finer * finer) : 255 - g / (finer * finer);
  std::vector<double> sorted = gray;
  const auto paper = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 3 / 4);
  std::nth_element(sorted.begin(), paper, sorted.end());
  for (double& g : gray) g = std::max(0.0, (*paper - g) / std::max(24.0, *paper));
  return gray;
}

// The mean of the darkest thirtieth in the middle of a cell.
double strongest(const std::vector<double>& dark, int size) {
  std::vector<double> middle;
  for (int y = size / 6; y < size - size / 6; ++y) {
    for (int x = size / 6; x < size - size / 6; ++x)
      middle.push_back(dark[static_cast<std::size_t>(y * size + x)]);
  }
  const std::size_t count = std::max<std::size_t>(1, middle.size() / 30);
  std::partial_sort(middle.begin(), middle.begin() + static_cast<std::ptrdiff_t>(count), middle.end(),
                    std::greater<>());
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += middle[k];
  return sum / static_cast<double>(count);
}

// Columns and rows of ink, the last ones included.
struct Extent {
  int left, right, top, bottom;
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
};

// The ink of a cell in pieces side by side: components that lie above one another are one piece, specks and
// what is left of a line are none.
std::vector<Extent> side_by_side(const formats::Image& cell, int threshold) {
  std::vector<Extent> pieces;
  for (const Component& c : find_components(cell, threshold).list) {
    const int strip = cell.width / 10;
    if (c.right < strip || c.left >= cell.width - strip || c.bottom < strip || c.top >= cell.height - strip ||
        c.area * 300 < cell.width * cell.height)
      continue;
    pieces.push_back({c.left, c.right, c.top, c.bottom});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Extent& a, const Extent& b) { return a.left < b.left; });
  std::vector<Extent> joined;
  for (const Extent& piece : pieces) {
    const int shared = joined.empty() ? 0 : std::min(joined.back().right, piece.right) - piece.left + 1;
    if (joined.empty() || 3 * shared < std::min(joined.back().width(), piece.width())) {
      joined.push_back(piece);
      continue;
    }
    Extent& last = joined.back();
    last = {last.left, std::max(last.right, piece.right), std::min(last.top, piece.top),
            std::max(last.bottom, piece.bottom)};
  }
  int tallest = 0;
  for (const Extent& piece : joined) tallest = std::max(tallest, piece.height());
  joined.erase(std::remove_if(joined.begin(), joined.end(),
                              [&](const Extent& piece) { return 2 * piece.height() < tallest; }),
               joined.end());
  return joined;
}

// The column in the middle half of a piece that has the least ink.
int valley_of(const formats::Image& cell, const Extent& piece) {
  int best = piece.left, least = 256 * cell.height;
  for (int x = piece.left + piece.width() / 4; x <= piece.right - piece.width() / 4; ++x) {
    int ink = 0;
    for (int y = piece.top; y <= piece.bottom; ++y) ink += cell.at(x, y);
    if (ink >= least) continue;
    least = ink;
    best = x;
  }
  return best;
}

}  // namespace

Pieces pieces_of(const formats::Image& cell, std::size_t most) {
  constexpr int kThreshold = 90;
  constexpr double kDigitHeight = 0.6;             // of a cell
  constexpr double kWide = 0.85, kTooWide = 1.05;  // widths of a piece, in heights, that no digit has
  constexpr double kApart = 0.98, kTouching = 0.9, kDoubtful = 0.5;  // beliefs that pieces are digits
  Pieces result;
  std::vector<Extent> found = side_by_side(cell, kThreshold);
  if (found.size() > 1) {
    result.belief = kApart;
  } else if (found.size() == 1 && found[0].width() > kWide * found[0].height()) {
    result.belief = found[0].width() > kTooWide * found[0].height() ? kTouching : kDoubtful;
    Extent right = found[0];
    found[0].right = valley_of(cell, found[0]);
    right.left = found[0].right + 1;
    found.push_back(right);
  }
  if (found.size() < 2 || found.size() > most) return {};
  for (std::size_t k = 0; k < found.size(); ++k) {
    // With its soft edges, up to halfway to its neighbours.
    constexpr int kEdge = 3;
    Extent own = found[k];
    own.left = k == 0 ? std::max(0, own.left - kEdge)
                      : std::max(own.left - kEdge, (found[k - 1].right + own.left + 1) / 2);
    own.right = k + 1 == found.size() ? std::min(cell.width - 1, own.right + kEdge)
                                      : std::min(own.right + kEdge, (own.right + found[k + 1].left) / 2);
    own.top = std::max(0, own.top - kEdge);
    own.bottom = std::min(cell.height - 1, own.bottom + kEdge);
    const double scale = kDigitHeight * kCellSide / found[k].height();
    const int width = std::clamp(static_cast<int>(std::lround(own.width() * scale)), 1, kCellSide);
    const int height = std::clamp(static_cast<int>(std::lround(own.height() * scale)), 1, kCellSide);
    const formats::Image piece =
        formats::resize(formats::crop(cell, own.left, own.top, own.width(), own.height()), width, height);
    formats::Image picture(kCellSide, kCellSide);
    formats::paste(picture, piece, (kCellSide - width) / 2, (kCellSide - height) / 2);
    result.pictures.push_back(std::move(picture));
  }
  return result;
}

std::vector<formats::Image> cut_cells(const formats::Image& picture, const Lattice& lattice, bool dark_ink,
                                      int size) {
  std::vector<std::vector<double>> cells;
  std::vector<double> inks;
  for (int row = 0; row < lattice.side; ++row) {
    for (int column = 0; column < lattice.side; ++column) {
      cells.push_back(darkness(picture, lattice, column, row, dark_ink, size));
      inks.push_back(strongest(cells.back(), size));
    }
  }
  // A board has clues in a ninth of its cells at least.
  const auto typical = inks.begin() + static_cast<std::ptrdiff_t>(inks.size() / 9);
  std::nth_element(inks.begin(), typical, inks.end(), std::greater<>());
  const double scale = kInkValue / std::max(kPaleInk, *typical);
  std::vector<formats::Image> result;
  for (const std::vector<double>& dark : cells) {
    formats::Image cell(size, size);
    std::transform(dark.begin(), dark.end(), cell.pixels.begin(), [&](double d) {
      return static_cast<std::uint8_t>(std::clamp(d * scale + 0.5, 0.0, 255.0));
    });
    result.push_back(std::move(cell));
  }
  return result;
}

formats::Image turned(const formats::Image& square) {
  formats::Image result(square.width, square.height);
  for (int y = 0; y < square.height; ++y) {
    for (int x = 0; x < square.width; ++x) result.at(x, y) = square.at(square.width - 1 - y, x);
  }
  return result;
}

}  // namespace as2::vision
