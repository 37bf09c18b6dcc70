// The crossings of a board's grid lines in a picture: where its cells are, however the sheet lies.
#pragma once

#include <array>
#include <vector>

#include "formats/image.h"

namespace as2::vision {

struct Point {
  double x = 0, y = 0;
};
inline Point operator+(Point a, Point b) {
  return {a.x + b.x, a.y + b.y};
}
inline Point operator-(Point a, Point b) {
  return {a.x - b.x, a.y - b.y};
}
inline Point operator*(double s, Point a) {
  return {s * a.x, s * a.y};
}
inline double cross(Point a, Point b) {
  return a.x * b.y - a.y * b.x;
}
inline double dot(Point a, Point b) {
  return a.x * b.x + a.y * b.y;
}

// Four corners in the order of the board's: top left, top right, bottom right, bottom left.
using Quad = std::array<Point, 4>;
double area_of(const Quad& quad);

// A projective map of the plane.
class Homography {
 public:
  // The one that takes the corners of the square [0, side]² to the quadrilateral's.
  static Homography of_square(double side, const Quad& quad);
  Point operator()(Point p) const;
  Homography inverse() const;

 private:
  std::array<double, 9> m_{};
};

// (side + 1)² crossings in picture coordinates (a pixel's centre is at half numbers), row by row.
struct Lattice {
  int side = 0;
  std::vector<Point> crossings;

  static Lattice of(const Quad& quad, int side);
  Point& node(int column, int row) { return crossings[static_cast<std::size_t>(row * (side + 1) + column)]; }
  Point node(int column, int row) const {
    return crossings[static_cast<std::size_t>(row * (side + 1) + column)];
  }
  // The place of (u, v) in cells from the first crossing; between crossings bilinear, beyond them linear.
  Point at(double u, double v) const;
  Quad corners() const;
  double pitch() const;  // mean length of a cell's side
  Lattice scaled(double factor) const;
  // What is first becomes what was at the next corner: a quarter turn of the board against the clock.
  Lattice turned() const;
};

// How much of the grid's drawing lies where the lattice says, by edges between neighbouring crossings.
struct Support {
  double lines = 0;    // share of the edges that are inked
  double between = 0;  // the same half a cell away, where a board has paper
  double score() const { return lines - between; }
};
// `ink` is strong where the picture is darker than around; above `threshold` it counts as drawn.
Support support_of(const Lattice& lattice, const formats::Image& ink, int threshold);

// Moves the crossings onto the lines: first the whole sheet (shift and bend as polynomials of the board's
// coordinates, fitted robustly to where each edge is found), then each line by itself, for a crease.
Lattice refined(Lattice lattice, const formats::Image& ink);

// Ink between pixels' centres; 0 outside.
inline double sample(const formats::Image& image, Point p) {
  const double x = p.x - 0.5, y = p.y - 0.5;
  if (!(x > 0 && y > 0 && x < image.width - 1 && y < image.height - 1)) return 0;
  const int i = static_cast<int>(x), j = static_cast<int>(y);
  const double a = x - i, b = y - j;
  const std::uint8_t* at = &image.pixels[static_cast<std::size_t>(j) * image.width + i];
  return (1 - b) * ((1 - a) * at[0] + a * at[1]) + b * ((1 - a) * at[image.width] + a * at[image.width + 1]);
}

}  // namespace as2::vision
