// Finding a board in a photo.
//
// The lines of a grid cross, so they are one large connected piece of ink. Ink is what is darker than the
// mean of its neighbourhood (an integral image), at three thresholds, for a blurred photo's lines break at
// the high one and touch the text around at the low one. Of each large piece the convex hull is taken, of the
// hull the quadrilateral of the largest area and that of its longest sides, and of the picture seen through
// it, straightened, the comb of side + 1 lines that fits best in each direction: what hangs on the grid (a
// heading, the solution of yesterday) moves the corners but not the comb. Every lattice is then moved onto
// its lines, and the one with the most of its edges inked wins. See docs/SOLVING.md for OpenCV's figures on
// the same photos.
#include "vision/find_board.h"

#include <algorithm>
#include <cmath>

#include "vision/components.h"

namespace as2::vision {
namespace {

constexpr int kSearchSide = 900;        // boards are looked for in a picture of this size at most
constexpr double kClearSupport = 0.75;  // with so much there is no need to look for light ink on dark paper
constexpr double kPlainSupport = 0.93;  // more makes no board better
constexpr double kNarrowest = 0.55;     // a board seen very much askance: its shorter sides, in longer ones
constexpr std::array<int, 3> kThresholds{28, 60, 110};

std::vector<Point> convex_hull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point> hull;
  for (int pass = 0; pass < 2; ++pass) {
    const std::size_t start = hull.size();
    for (const Point p : points) {
      while (hull.size() >= start + 2 && cross(hull.back() - hull[hull.size() - 2], p - hull.back()) <= 0)
        hull.pop_back();
      hull.push_back(p);
    }
    hull.pop_back();
    std::reverse(points.begin(), points.end());
  }
  return hull;
}

// The corners clockwise, the one nearest the picture's top left first.
Quad in_order(Quad quad) {
  if (cross(quad[1] - quad[0], quad[2] - quad[1]) < 0) std::swap(quad[1], quad[3]);
  const auto first =
      std::min_element(quad.begin(), quad.end(), [](Point a, Point b) { return a.x + a.y < b.x + b.y; });
  std::rotate(quad.begin(), first, quad.end());
  return quad;
}

// The four points of the hull whose quadrilateral has the largest area: for every diagonal the farthest
// point to either side.
std::optional<Quad> largest_quad(const std::vector<Point>& hull) {
  const std::size_t n = hull.size();
  double best = 0;
  std::array<std::size_t, 4> corners{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 2; j < n; ++j) {
      double left = 0, right = 0;
      std::size_t l = 0, r = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const double height = cross(hull[j] - hull[i], hull[k] - hull[i]);
        if (height > left) left = height, l = k;
        if (-height > right) right = -height, r = k;
      }
      if (left + right > best && left > 0 && right > 0) {
        best = left + right;
        corners = {i, r, j, l};
      }
    }
  }
  if (best == 0) return std::nullopt;
  Quad quad;
  for (std::size_t k = 0; k < 4; ++k) quad[k] = hull[corners[k]];
  return in_order(quad);
}

// The quadrilateral of the hull's four longest sides, which meet beyond the hull where a corner is torn off.
// A side is a run of edges that hardly turn.
std::optional<Quad> longest_sides(const std::vector<Point>& hull) {
  constexpr double kStraight = 0.15;  // radians
  struct Side {
    Point from, to;
    double length;
  };
  const std::size_t n = hull.size();
  const auto edge = [&](std::size_t k) { return hull[(k + 1) % n] - hull[k % n]; };
  const auto turn = [&](std::size_t k) {  // at the end of an edge
    return std::abs(std::atan2(cross(edge(k), edge(k + 1)), dot(edge(k), edge(k + 1))));
  };
  std::size_t first = 0;
  while (first < n && turn(first) < kStraight) ++first;
  std::vector<Side> sides;
  for (std::size_t k = first + 1; k < first + 1 + n;) {
    const std::size_t begin = k;
    double turned = 0;
    while (k < first + n && turned + turn(k) < kStraight) turned += turn(k++);
    ++k;
    const Point from = hull[begin % n], to = hull[k % n];
    sides.push_back({from, to, std::sqrt(dot(to - from, to - from))});
  }
  if (sides.size() < 4) return std::nullopt;
  std::vector<double> lengths;
  for (const Side& side : sides) lengths.push_back(side.length);
  std::nth_element(lengths.begin(), lengths.begin() + 3, lengths.end(), std::greater<>());
  sides.erase(
      std::remove_if(sides.begin(), sides.end(), [&](const Side& side) { return side.length < lengths[3]; }),
      sides.end());
  if (sides.size() != 4) return std::nullopt;
  Quad quad;
  for (std::size_t k = 0; k < 4; ++k) {
    const Side &a = sides[k], &b = sides[(k + 1) % 4];
    const double between = cross(a.to - a.from, b.to - b.from);
    if (std::abs(between) < 0.2 * a.length * b.length) return std::nullopt;
    quad[k] = a.from + (cross(b.from - a.from, b.to - b.from) / between) * (a.to - a.from);
  }
  return in_order(quad);
}

// Every second point at most, until few are left: the hull of a ragged piece has hundreds.
std::vector<Point> thinned(std::vector<Point> hull) {
  while (hull.size() > 60) {
    std::vector<Point> half;
    double longest = 0;
    for (std::size_t k = 0; k < hull.size(); ++k) {
      const Point d = hull[(k + 1) % hull.size()] - hull[k];
      longest = std::max(longest, std::sqrt(dot(d, d)));
    }
    // Drops the points that stick out least.
    std::vector<std::pair<double, std::size_t>> by_area;
    for (std::size_t k = 0; k < hull.size(); ++k) {
      const Point a = hull[(k + hull.size() - 1) % hull.size()], b = hull[(k + 1) % hull.size()];
      by_area.emplace_back(std::abs(cross(hull[k] - a, b - a)), k);
    }
    std::sort(by_area.begin(), by_area.end());
    std::vector<bool> drop(hull.size(), false);
    for (std::size_t k = 0; k < by_area.size() / 4 + 1; ++k) {
      const std::size_t at = by_area[k].second, n = hull.size();
      if (!drop[(at + n - 1) % n] && !drop[(at + 1) % n]) drop[at] = true;
    }
    for (std::size_t k = 0; k < hull.size(); ++k) {
      if (!drop[k]) half.push_back(hull[k]);
    }
    hull = std::move(half);
  }
  return hull;
}

struct Comb {
  double first = 0, pitch = 1, score = -1;
};

// Lines first, first + pitch, … in a profile with `per_cell` entries per cell that begins one cell before 0.
Comb best_comb(const std::vector<double>& profile, int side, int per_cell) {
  const auto at = [&](double place) {
    const double x = (place + 1) * per_cell;
    const int i = static_cast<int>(x);
    if (i < 0 || i + 1 >= static_cast<int>(profile.size())) return 0.0;
    return profile[static_cast<std::size_t>(i)] * (1 - (x - i)) +
           profile[static_cast<std::size_t>(i + 1)] * (x - i);
  };
  Comb best;
  for (double pitch = 0.4; pitch <= 1.12; pitch += 0.005) {
    for (double first = -0.9; first + side * pitch < side + 0.9; first += 0.04) {
      double on = 0, least = 1e9, off = 0;
      for (int k = 0; k <= side; ++k) {
        const double line = at(first + k * pitch);
        on += line;
        least = std::min(least, line);
        if (k < side) off += at(first + (k + 0.5) * pitch);
      }
      const double score = on / (side + 1) + 0.5 * least - off / side;
      if (score > best.score) best = {first, pitch, score};
    }
  }
  return best;
}

// The quadrilateral moved to where the combs of lines seen through it lie.
Quad combed(const Quad& quad, int side, const formats::Image& ink) {
  constexpr int kPerCell = 14;
  const int count = (side + 2) * kPerCell;
  const Homography map = Homography::of_square(side, quad);
  std::vector<double> down(static_cast<std::size_t>(count)), across(down.size());
  const auto place = [](int k) { return (k + 0.5) / kPerCell - 1; };
  for (int row = 0; row < count; ++row) {
    for (int column = 0; column < count; ++column) {
      const double u = place(column), v = place(row);
      const double strength = std::min(120.0, sample(ink, map({u, v})));
      if (u > 0 && u < side) down[static_cast<std::size_t>(row)] += strength;
      if (v > 0 && v < side) across[static_cast<std::size_t>(column)] += strength;
    }
  }
  const Comb rows = best_comb(down, side, kPerCell), columns = best_comb(across, side, kPerCell);
  const auto corner = [&](int column, int row) {
    return map({columns.first + column * columns.pitch, rows.first + row * rows.pitch});
  };
  return {corner(0, 0), corner(side, 0), corner(side, side), corner(0, side)};
}

struct Candidate {
  Lattice lattice;
  Support support;
  int threshold = 0;  // of the ink it was found in
};

// What counts as drawn where a line is looked for: less than what connects.
int drawn(int threshold) {
  return threshold / 2 + 8;
}

bool is_sane(const Lattice& lattice) {
  const Quad q = lattice.corners();
  double longest = 0, shortest = 1e9;
  for (std::size_t k = 0; k < 4; ++k) {
    if (cross(q[(k + 1) % 4] - q[k], q[(k + 2) % 4] - q[(k + 1) % 4]) <= 0) return false;
    const Point d = q[(k + 1) % 4] - q[k];
    longest = std::max(longest, std::sqrt(dot(d, d)));
    shortest = std::min(shortest, std::sqrt(dot(d, d)));
  }
  // Every second line of a comb may lie between two lines of a board, were cells that narrow.
  const auto length = [&](std::size_t k) {
    const Point d = q[(k + 1) % 4] - q[k];
    return std::sqrt(dot(d, d));
  };
  const double wide = length(0) + length(2), high = length(1) + length(3);
  return shortest >= 8 * lattice.side / 2.0 && longest < 5 * shortest &&
         std::min(wide, high) > kNarrowest * std::max(wide, high);
}

// Whether the corners are those of a candidate that leaves nothing to be wished for.
bool is_settled(const Quad& quad, const std::vector<Candidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    if (candidate.support.score() < kPlainSupport) return false;
    const Quad own = candidate.lattice.corners();
    const double most = 0.5 * candidate.lattice.pitch();
    for (std::size_t k = 0; k < 4; ++k) {
      const Point d = quad[k] - own[k];
      if (dot(d, d) > most * most) return false;
    }
    return true;
  });
}

void add_candidates(const formats::Image& ink, int side, int threshold, std::vector<Candidate>& candidates) {
  const Components components = find_components(ink, threshold);
  const int least = std::min(ink.width, ink.height) / 5;
  std::vector<std::size_t> large;
  for (std::size_t k = 0; k < components.list.size(); ++k) {
    const Component& c = components.list[k];
    if (std::min(c.width(), c.height()) >= least) large.push_back(k);
  }
  std::sort(large.begin(), large.end(),
            [&](std::size_t a, std::size_t b) { return components.list[a].area > components.list[b].area; });
  large.resize(std::min<std::size_t>(large.size(), 5));
  for (const std::size_t index : large) {
    const Component& c = components.list[index];
    std::vector<Point> outline;
    for (int y = c.top; y <= c.bottom; ++y) {
      int first = -1, last = -1;
      for (int x = c.left; x <= c.right; ++x) {
        if (components.label[static_cast<std::size_t>(y) * ink.width + x] != static_cast<int>(index))
          continue;
        if (first < 0) first = x;
        last = x;
      }
      if (first < 0) continue;
      outline.push_back({first + 0.5, y + 0.5});
      outline.push_back({last + 0.5, y + 0.5});
    }
    const std::vector<Point> hull = thinned(convex_hull(std::move(outline)));
    for (const auto& quad : {largest_quad(hull), longest_sides(hull)}) {
      if (!quad || !is_sane(Lattice::of(*quad, side))) continue;
      for (const bool comb : {false, true}) {
        if (is_settled(*quad, candidates)) break;  // at another threshold, or without the comb
        Lattice lattice = Lattice::of(comb ? combed(*quad, side, ink) : *quad, side);
        if (!is_sane(lattice)) continue;
        lattice = refined(lattice, ink);
        if (!is_sane(lattice)) continue;
        candidates.push_back({lattice, support_of(lattice, ink, drawn(threshold)), threshold});
      }
    }
  }
}

// A lattice that lies one cell too far to a side has most of its lines on ink too; the right one has more.
Candidate best_shift(Candidate candidate, const formats::Image& ink) {
  constexpr std::array<std::array<int, 2>, 4> kShifts{{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}};
  for (int round = 0; round < 3; ++round) {
    Candidate best = candidate;
    for (const auto& [right, down] : kShifts) {
      Lattice lattice = candidate.lattice;
      for (int row = 0; row <= lattice.side; ++row) {
        for (int column = 0; column <= lattice.side; ++column)
          lattice.node(column, row) = candidate.lattice.at(column + right, row + down);
      }
      lattice = refined(lattice, ink);
      const Support support = support_of(lattice, ink, drawn(candidate.threshold));
      if (is_sane(lattice) && support.score() > best.support.score() + 0.01)
        best = {lattice, support, candidate.threshold};
    }
    if (best.support.score() == candidate.support.score()) break;
    candidate = best;
  }
  return candidate;
}

bool apart(const Lattice& a, const Lattice& b) {
  const auto middle = [](const Lattice& lattice) {
    return lattice.at(lattice.side / 2.0, lattice.side / 2.0);
  };
  const Point d = middle(a) - middle(b);
  return std::sqrt(dot(d, d)) > 0.6 * std::min(a.pitch(), b.pitch()) * a.side;
}

}  // namespace

formats::Image local_ink(const formats::Image& picture, int reach, bool dark_ink) {
  const int width = picture.width, height = picture.height;
  const auto value = [&](int x, int y) { return dark_ink ? picture.at(x, y) : 255 - picture.at(x, y); };
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(width + 1) * (height + 1));
  const auto sum = [&](int x, int y) -> std::uint32_t& {
    return sums[static_cast<std::size_t>(y) * (width + 1) + x];
  };
  for (int y = 0; y < height; ++y) {
    std::uint32_t row = 0;
    for (int x = 0; x < width; ++x) {
      row += static_cast<std::uint32_t>(value(x, y));
      sum(x + 1, y + 1) = sum(x + 1, y) + row;
    }
  }
  formats::Image ink(width, height);
  for (int y = 0; y < height; ++y) {
    const int top = std::max(0, y - reach), bottom = std::min(height, y + reach + 1);
    for (int x = 0; x < width; ++x) {
      const int left = std::max(0, x - reach), right = std::min(width, x + reach + 1);
      const double mean =
          static_cast<double>(sum(right, bottom) - sum(left, bottom) - sum(right, top) + sum(left, top)) /
          ((right - left) * (bottom - top));
      const double darker = 765 * (mean - value(x, y)) / std::max(24.0, mean);
      ink.at(x, y) = static_cast<std::uint8_t>(std::clamp(darker, 0.0, 255.0));
    }
  }
  return ink;
}

std::optional<FoundBoard> find_board(const formats::Image& picture, int side, formats::Image* debug) {
  const double shrink =
      std::min(1.0, static_cast<double>(kSearchSide) / std::max(picture.width, picture.height));
  const formats::Image work =
      shrink < 1
          ? formats::resize(picture, std::max(1, static_cast<int>(std::lround(picture.width * shrink))),
                            std::max(1, static_cast<int>(std::lround(picture.height * shrink))))
          : picture;
  const int reach = std::max(6, std::max(work.width, work.height) / 40);
  std::optional<FoundBoard> best;
  for (const bool dark : {true, false}) {
    if (best && best->support.score() >= kClearSupport) break;
    const formats::Image ink = local_ink(work, reach, dark);
    if (debug && (dark || !best)) *debug = ink;
    std::vector<Candidate> candidates;
    for (const int threshold : kThresholds) add_candidates(ink, side, threshold, candidates);
    for (Candidate& candidate : candidates) {
      // Only a doubtful one may be off by a cell.
      if (candidate.support.score() > 0.4 && candidate.support.lines < 0.97)
        candidate = best_shift(candidate, ink);
      // A larger board is preferred to a slightly cleaner small one.
      const auto merit = [](const Support& support, double pitch) {
        return std::min(support.score(), kPlainSupport) + 0.15 * std::log(pitch);
      };
      if (best && merit(best->support, best->lattice.pitch() * shrink) >=
                      merit(candidate.support, candidate.lattice.pitch()))
        continue;
      best = FoundBoard{candidate.lattice.scaled(1 / shrink), dark, candidate.support, 0};
      if (debug) *debug = ink;
    }
    if (!best || best->dark_ink != dark || best->support.score() < kEnoughSupport) continue;
    std::vector<Lattice> seen{best->lattice.scaled(shrink)};
    for (const Candidate& candidate : candidates) {
      if (candidate.support.score() < kEnoughSupport || candidate.lattice.pitch() < 0.7 * seen[0].pitch())
        continue;
      if (std::all_of(seen.begin(), seen.end(),
                      [&](const Lattice& other) { return apart(candidate.lattice, other); }))
        seen.push_back(candidate.lattice);
    }
    best->others = static_cast<int>(seen.size()) - 1;
  }
  return best;
}

}  // namespace as2::vision
