#include "vision/cells.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

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
