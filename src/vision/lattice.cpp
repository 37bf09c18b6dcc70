// Fitting a lattice to grid lines.
//
// Along every edge between two crossings the ink is summed at small distances to either side; where it is
// strongest, the line is. A horizontal edge tells how far to move down, a vertical one how far to move
// right, each weighted by how clearly it stands out. Both movements are cubic polynomials of the place on
// the board, fitted by least squares with Tukey's weights: digits that touch a line, or a line that is not
// there, are outliers. What remains is a crease: each line follows its own edges, within a tenth of a cell.
// Rejected: corner detectors at the crossings (blurred photos have lines but no corners), and the four outer
// corners alone (curved paper is off by half a cell in the middle).
#include "vision/lattice.h"

#include <algorithm>
#include <cmath>

#include "as2/error.h"

namespace as2::vision {
namespace {

constexpr int kAlong = 9;  // places along an edge where ink is looked for

// Solves the square system in place by Gauss's elimination with pivots; false where it is singular.
template <std::size_t N>
bool solve(std::array<std::array<double, N + 1>, N>& rows) {
  for (std::size_t k = 0; k < N; ++k) {
    const auto pivot =
        std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(),
                         [k](const auto& a, const auto& b) { return std::abs(a[k]) < std::abs(b[k]); });
    if (std::abs((*pivot)[k]) < 1e-12) return false;
    std::swap(rows[k], *pivot);
    for (std::size_t r = 0; r < N; ++r) {
      if (r == k) continue;
      const double factor = rows[r][k] / rows[k][k];
      for (std::size_t c = k; c <= N; ++c) rows[r][c] -= factor * rows[k][c];
    }
  }
  for (std::size_t k = 0; k < N; ++k) rows[k][N] /= rows[k][k];
  return true;
}

// One edge between neighbouring crossings, across which a line is looked for.
struct Edge {
  Point from, to, step;  // `step` is one cell across it
  double u = 0, v = 0;   // its middle, in cells
};

Edge horizontal_edge(const Lattice& lattice, int column, int row) {
  const int near = std::min(row, lattice.side - 1);
  const Point step = 0.5 * ((lattice.node(column, near + 1) - lattice.node(column, near)) +
                            (lattice.node(column + 1, near + 1) - lattice.node(column + 1, near)));
  return {lattice.node(column, row), lattice.node(column + 1, row), step, column + 0.5,
          static_cast<double>(row)};
}

Edge vertical_edge(const Lattice& lattice, int column, int row) {
  const int near = std::min(column, lattice.side - 1);
  const Point step = 0.5 * ((lattice.node(near + 1, row) - lattice.node(near, row)) +
                            (lattice.node(near + 1, row + 1) - lattice.node(near, row + 1)));
  return {lattice.node(column, row), lattice.node(column, row + 1), step, static_cast<double>(column),
          row + 0.5};
}

double ink_along(const Edge& edge, double across, const formats::Image& ink) {
  double sum = 0;
  for (int k = 0; k < kAlong; ++k) {
    const double t = 0.15 + 0.7 * k / (kAlong - 1);
    sum += sample(ink, edge.from + t * (edge.to - edge.from) + across * edge.step);
  }
  return sum / kAlong;
}

// Where a line was found: how far across the edge, in cells, and how clearly.
struct Found {
  double u = 0, v = 0, offset = 0, weight = 0;
};

Found find_line(const Edge& edge, double reach, const formats::Image& ink) {
  constexpr int kSteps = 12;  // to either side
  std::array<double, 2 * kSteps + 1> profile{};
  double sum = 0;
  for (int k = -kSteps; k <= kSteps; ++k) {
    profile[static_cast<std::size_t>(k + kSteps)] = ink_along(edge, reach * k / kSteps, ink);
    sum += profile[static_cast<std::size_t>(k + kSteps)];
  }
  int best = 0;
  double strongest = -1;
  for (int k = -kSteps; k <= kSteps; ++k) {
    // Slightly less the farther away, so that the nearer of two equal lines is taken.
    const double strength = profile[static_cast<std::size_t>(k + kSteps)] * (1 - 0.2 * std::abs(k) / kSteps);
    if (strength > strongest) strongest = strength, best = k;
  }
  double offset = best;
  if (std::abs(best) < kSteps) {  // the parabola through three places
    const double a = profile[static_cast<std::size_t>(best + kSteps - 1)],
                 b = profile[static_cast<std::size_t>(best + kSteps)],
                 c = profile[static_cast<std::size_t>(best + kSteps + 1)];
    if (const double bend = a - 2 * b + c; bend < -1e-9)
      offset += std::clamp(0.5 * (a - c) / bend, -0.5, 0.5);
  }
  // Strongest at the end of the reach: the flank of something else.
  if (std::abs(best) == kSteps) return {edge.u, edge.v, 0, 0};
  const double mean = sum / static_cast<double>(profile.size());
  return {edge.u, edge.v, reach * offset / kSteps,
          std::max(0.0, profile[static_cast<std::size_t>(best + kSteps)] - mean)};
}

constexpr std::size_t kTerms = 10;
std::array<double, kTerms> terms(double u, double v, int side) {
  const double x = 2 * u / side - 1, y = 2 * v / side - 1;
  return {1, x, y, x * x, x * y, y * y, x * x * x, x * x * y, x * y * y, y * y * y};
}

double value(const std::array<double, kTerms>& coefficients, double u, double v, int side) {
  const auto t = terms(u, v, side);
  double sum = 0;
  for (std::size_t k = 0; k < kTerms; ++k) sum += coefficients[k] * t[k];
  return sum;
}

// The polynomial nearest to the offsets; the higher terms are held back where little was found.
std::array<double, kTerms> fit(const std::vector<Found>& found, int side, double reach) {
  std::array<double, kTerms> coefficients{};
  double total = 0;
  for (const Found& one : found) total += one.weight;
  for (int round = 0; round < 6; ++round) {
    const double scale = round == 0 ? 4 * reach : std::max(0.04, reach / (1 << round));
    std::array<std::array<double, kTerms + 1>, kTerms> rows{};
    for (const Found& one : found) {
      const auto t = terms(one.u, one.v, side);
      const double miss = (one.offset - value(coefficients, one.u, one.v, side)) / scale;
      const double tukey = std::abs(miss) < 1 ? (1 - miss * miss) * (1 - miss * miss) : 0;
      for (std::size_t r = 0; r < kTerms; ++r) {
        for (std::size_t c = 0; c < kTerms; ++c) rows[r][c] += one.weight * tukey * t[r] * t[c];
        rows[r][kTerms] += one.weight * tukey * t[r] * one.offset;
      }
    }
    for (std::size_t k = 0; k < kTerms; ++k) rows[k][k] += (k < 3 ? 1e-4 : k < 6 ? 2e-3 : 5e-3) * (total + 1);
    if (!solve(rows)) break;
    for (std::size_t k = 0; k < kTerms; ++k) coefficients[k] = rows[k][kTerms];
  }
  return coefficients;
}

void bend(Lattice& lattice, const formats::Image& ink, double reach) {
  std::vector<Found> down, across;
  const int side = lattice.side;
  for (int line = 0; line <= side; ++line) {
    for (int k = 0; k < side; ++k) {
      down.push_back(find_line(horizontal_edge(lattice, k, line), reach, ink));
      across.push_back(find_line(vertical_edge(lattice, line, k), reach, ink));
    }
  }
  const auto dv = fit(down, side, reach), du = fit(across, side, reach);
  const Lattice before = lattice;
  for (int row = 0; row <= side; ++row) {
    for (int column = 0; column <= side; ++column)
      lattice.node(column, row) =
          before.at(column + value(du, column, row, side), row + value(dv, column, row, side));
  }
}

// Each line follows its own edges: a crossing moves by the mean of the two edges beside it, halved where
// they disagree with their neighbours' mean.
void follow(Lattice& lattice, const formats::Image& ink) {
  constexpr double kReach = 0.12;
  const int side = lattice.side;
  std::vector<double> du(lattice.crossings.size()), dv(lattice.crossings.size());
  for (const bool horizontal : {true, false}) {
    for (int line = 0; line <= side; ++line) {
      std::vector<Found> found;
      std::vector<double> weights;
      for (int k = 0; k < side; ++k) {
        found.push_back(find_line(
            horizontal ? horizontal_edge(lattice, k, line) : vertical_edge(lattice, line, k), kReach, ink));
        weights.push_back(found.back().weight);
      }
      std::nth_element(weights.begin(), weights.begin() + side / 2, weights.end());
      const double usual = std::max(1.0, weights[static_cast<std::size_t>(side / 2)]);
      for (int k = 0; k <= side; ++k) {
        double sum = 0, total = 0.5 * usual;  // towards staying
        for (const int edge : {k - 2, k - 1, k, k + 1}) {
          if (edge < 0 || edge >= side) continue;
          const Found& one = found[static_cast<std::size_t>(edge)];
          const double weight = std::min(one.weight, usual) * (edge == k - 1 || edge == k ? 1 : 0.35);
          sum += weight * one.offset;
          total += weight;
        }
        const int column = horizontal ? k : line, row = horizontal ? line : k;
        (horizontal ? dv : du)[static_cast<std::size_t>(row * (side + 1) + column)] = sum / total;
      }
    }
  }
  const Lattice before = lattice;
  for (int row = 0; row <= side; ++row) {
    for (int column = 0; column <= side; ++column) {
      const auto k = static_cast<std::size_t>(row * (side + 1) + column);
      lattice.node(column, row) = before.at(column + du[k], row + dv[k]);
    }
  }
}

// The share of the edge's places with ink within a small distance across it.
double inked_share(const Edge& edge, double across, const formats::Image& ink, int threshold) {
  int inked = 0;
  for (int k = 0; k < kAlong; ++k) {
    const double t = 0.15 + 0.7 * k / (kAlong - 1);
    const Point middle = edge.from + t * (edge.to - edge.from) + across * edge.step;
    inked += sample(ink, middle) > threshold || sample(ink, middle + 0.03 * edge.step) > threshold ||
             sample(ink, middle - 0.03 * edge.step) > threshold;
  }
  return static_cast<double>(inked) / kAlong;
}

}  // namespace

double area_of(const Quad& quad) {
  return 0.5 * std::abs(cross(quad[2] - quad[0], quad[3] - quad[1]));
}

Homography Homography::of_square(double side, const Quad& quad) {
  const Quad square{Point{0, 0}, Point{side, 0}, Point{side, side}, Point{0, side}};
  std::array<std::array<double, 9>, 8> rows{};
  for (std::size_t k = 0; k < 4; ++k) {
    const auto [x, y] = square[k];
    const auto [u, v] = quad[k];
    rows[2 * k] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    rows[2 * k + 1] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
  }
  Homography map;
  const bool solved = solve(rows);
  AS2_REQUIRE(solved, "no three corners lie on a line");
  for (std::size_t k = 0; k < 8; ++k) map.m_[k] = rows[k][8];
  map.m_[8] = 1;
  return map;
}

Point Homography::operator()(Point p) const {
  const double w = m_[6] * p.x + m_[7] * p.y + m_[8];
  return {(m_[0] * p.x + m_[1] * p.y + m_[2]) / w, (m_[3] * p.x + m_[4] * p.y + m_[5]) / w};
}

Homography Homography::inverse() const {
  const auto& m = m_;
  Homography map;  // the adjugate: a factor changes nothing
  map.m_ = {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
            m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
            m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
  return map;
}

Lattice Lattice::of(const Quad& quad, int side) {
  const Homography map = Homography::of_square(side, quad);
  Lattice lattice{side, {}};
  for (int row = 0; row <= side; ++row) {
    for (int column = 0; column <= side; ++column)
      lattice.crossings.push_back(map({static_cast<double>(column), static_cast<double>(row)}));
  }
  return lattice;
}

Point Lattice::at(double u, double v) const {
  const int column = std::clamp(static_cast<int>(std::floor(u)), 0, side - 1);
  const int row = std::clamp(static_cast<int>(std::floor(v)), 0, side - 1);
  const double a = u - column, b = v - row;
  return (1 - b) * ((1 - a) * node(column, row) + a * node(column + 1, row)) +
         b * ((1 - a) * node(column, row + 1) + a * node(column + 1, row + 1));
}

Quad Lattice::corners() const {
  return {node(0, 0), node(side, 0), node(side, side), node(0, side)};
}

double Lattice::pitch() const {
  return std::sqrt(area_of(corners())) / side;
}

Lattice Lattice::scaled(double factor) const {
  Lattice result = *this;
  for (Point& p : result.crossings) p = factor * p;
  return result;
}

Lattice Lattice::turned() const {
  Lattice result = *this;
  for (int row = 0; row <= side; ++row) {
    for (int column = 0; column <= side; ++column) result.node(column, row) = node(side - row, column);
  }
  return result;
}

Support support_of(const Lattice& lattice, const formats::Image& ink, int threshold) {
  constexpr double kEnough = 0.6;
  const int side = lattice.side;
  int lines = 0, between = 0;
  for (int line = 0; line <= side; ++line) {
    for (int k = 0; k < side; ++k) {
      for (const Edge& edge : {horizontal_edge(lattice, k, line), vertical_edge(lattice, line, k)}) {
        lines += inked_share(edge, 0, ink, threshold) > kEnough;
        if (line < side) between += inked_share(edge, 0.5, ink, threshold) > kEnough;
      }
    }
  }
  return {lines / (2.0 * side * (side + 1)), between / (2.0 * side * side)};
}

Lattice refined(Lattice lattice, const formats::Image& ink) {
  for (const double reach : {0.4, 0.25, 0.15}) bend(lattice, ink, reach);
  follow(lattice, ink);
  follow(lattice, ink);
  return lattice;
}

}  // namespace as2::vision
