// Finding ink, and the grid in it.
//
// Ink is what differs from the paper around it: the paper's gray is taken per block of a 16×16 raster, so
// that a shadow across the picture does not count. The lines of a grid cross each other, so they are the
// largest connected piece of ink; inside its bounding box a line is a row (column) that is inked nearly all
// along. The rows found have to be evenly spaced. Rejected: the Hough transform (the picture is straight by
// agreement) and fitting a comb to the profile (finds a grid in anything, and cannot say what it saw).
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "as2/error.h"
#include "sudoku/board.h"
#include "vision/board_image.h"
#include "vision/components.h"

namespace as2::vision {
namespace {

constexpr int kBlocks = 16;      // the paper's gray is estimated on a raster of this many blocks each way
constexpr int kWorkSide = 900;   // lines are looked for in a picture of this size at most
constexpr double kInked = 0.75;  // share of a line that has to be inked

using Histogram = std::array<std::int64_t, 256>;

// Four counts per gray take turns: most pixels are paper, and a count that has just been written is slow to
// read.
Histogram histogram_of(const formats::Image& picture) {
  std::array<std::array<std::int64_t, 4>, 256> counts{};
  for (std::size_t k = 0; k < picture.pixels.size(); ++k) ++counts[picture.pixels[k]][k % 4];
  Histogram histogram;
  for (std::size_t gray = 0; gray < counts.size(); ++gray)
    histogram[gray] = std::accumulate(counts[gray].begin(), counts[gray].end(), std::int64_t{0});
  return histogram;
}

int quantile(const Histogram& histogram, double share) {
  const auto total = std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0});
  auto left = static_cast<std::int64_t>(share * static_cast<double>(total));
  for (int gray = 0; gray < 256; ++gray) {
    left -= histogram[gray];
    if (left < 0) return gray;
  }
  return 255;
}

// The paper's gray around every pixel: per block the quantile on the paper's side, smoothed over neighbours.
formats::Image paper_of(const formats::Image& picture, bool dark_ink) {
  formats::Image raster(kBlocks, kBlocks);
  for (int row = 0; row < kBlocks; ++row) {
    for (int column = 0; column < kBlocks; ++column) {
      Histogram histogram{};
      for (int y = row * picture.height / kBlocks; y < (row + 1) * picture.height / kBlocks; ++y) {
        for (int x = column * picture.width / kBlocks; x < (column + 1) * picture.width / kBlocks; ++x)
          ++histogram[picture.at(x, y)];
      }
      raster.at(column, row) = static_cast<std::uint8_t>(quantile(histogram, dark_ink ? 0.7 : 0.3));
    }
  }
  formats::Image smooth = raster;
  for (int y = 0; y < kBlocks; ++y) {
    for (int x = 0; x < kBlocks; ++x) {
      std::vector<std::uint8_t> around;
      for (int v = std::max(0, y - 1); v <= std::min(kBlocks - 1, y + 1); ++v) {
        for (int u = std::max(0, x - 1); u <= std::min(kBlocks - 1, x + 1); ++u)
          around.push_back(raster.at(u, v));
      }
      std::nth_element(around.begin(), around.begin() + around.size() / 2, around.end());
      smooth.at(x, y) = around[around.size() / 2];
    }
  }
  return formats::resize(smooth, picture.width, picture.height);
}

struct Span {
  int begin = 0, end = 0;
};

// Rows of the box where ink, looked for up to `reach` rows away, covers enough of the width. `at(i, j)` is
// the ink at step i along the line and row j.
template <typename At>
std::vector<Span> inked_rows(int first, int last, int from, int to, int reach, At at) {
  const int rows = last - first + 1;
  std::vector<int> count(rows, 0);
  for (int i = from; i <= to; ++i) {
    int nearest = -1 - reach - 1;  // the last inked row at or before the current one, seen `reach` ahead
    for (int j = first; j <= last + reach; ++j) {
      if (j <= last && at(i, j)) nearest = j - first;
      const int row = j - reach - first;
      if (row >= 0 && row < rows && nearest >= 0 && nearest >= row - reach) ++count[row];
    }
  }
  std::vector<Span> spans;
  const double enough = kInked * (to - from + 1);
  for (int row = 0; row < rows; ++row) {
    if (count[row] < enough) continue;
    if (spans.empty() || spans.back().end < first + row) spans.push_back({first + row, first + row});
    spans.back().end = first + row + 1;
  }
  // The reach made every line thicker on both sides.
  for (Span& span : spans) {
    const int thickness = std::max(1, span.end - span.begin - 2 * reach);
    const int middle = span.begin + span.end;
    span = {(middle - thickness) / 2, (middle + thickness + 1) / 2};
  }
  return spans;
}

// Fits cells + 1 evenly spaced lines to those found; empty if they do not fit. The first and last may be
// missing (cut off with the picture's border) and stand at `first`, `last` then.
std::vector<std::pair<double, double>> fit(const std::vector<Span>& found, int cells, double first,
                                           double last) {
  if (found.size() < 2) return {};
  const auto middle = [](const Span& span) { return (span.begin + span.end) / 2.0; };
  for (const bool outer : {true, false}) {
    const double start = outer ? middle(found.front()) : first, stop = outer ? middle(found.back()) : last;
    const double pitch = (stop - start) / cells;
    std::vector<std::pair<double, double>> lines(cells + 1);
    std::vector<bool> matched(cells + 1, false);
    bool all_explained = pitch > 4;
    for (const Span& span : found) {
      const int k = static_cast<int>(std::lround((middle(span) - start) / pitch));
      if (!all_explained || k < 0 || k > cells || std::abs(start + k * pitch - middle(span)) > 0.16 * pitch) {
        all_explained = false;
        break;
      }
      lines[k] = matched[k] ? std::pair<double, double>(lines[k].first, span.end)
                            : std::pair<double, double>(span.begin, span.end);
      matched[k] = true;
    }
    if (!all_explained) continue;
    int missing = 0;
    for (int k = 0; k <= cells; ++k) {
      if (matched[k]) continue;
      if (outer || (k > 0 && k < cells)) ++missing;
      lines[k] = {start + k * pitch - 0.5, start + k * pitch + 0.5};
    }
    if (missing <= cells / 5) return lines;
  }
  return {};
}

// For a board whose drawn lines are only those of the boxes: the cells' lines are interpolated between them.
// There are `boxes` boxes of `cells` cells each.
std::vector<std::pair<double, double>> fit_boxes(const std::vector<Span>& found, int boxes, int cells,
                                                 double first, double last) {
  const auto coarse = fit(found, boxes, first, last);
  std::vector<std::pair<double, double>> lines;
  for (std::size_t k = 0; k + 1 < coarse.size(); ++k) {
    lines.push_back(coarse[k]);
    const double begin = coarse[k].second, step = (coarse[k + 1].first - begin) / cells;
    for (int j = 1; j < cells; ++j) lines.push_back({begin + j * step, begin + j * step});
  }
  if (!lines.empty()) lines.push_back(coarse.back());
  return lines;
}

std::string size_text(int width, int height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

// At least the given `share` of the picture's pixels is taken to be ink.
Ink ink_of(const formats::Image& picture, double share) {
  const Histogram grays = histogram_of(picture);
  const int middle = quantile(grays, 0.5);
  Ink ink;
  ink.dark = middle - quantile(grays, share / 2) >= quantile(grays, 1 - share / 2) - middle;
  const formats::Image paper = paper_of(picture, ink.dark);
  ink.strength = formats::Image(picture.width, picture.height);
  formats::Image deviation(picture.width, picture.height);
  for (std::size_t k = 0; k < picture.pixels.size(); ++k) {
    const int difference = (paper.pixels[k] - picture.pixels[k]) * (ink.dark ? 1 : -1);
    ink.strength.pixels[k] = static_cast<std::uint8_t>(std::max(0, difference));
    deviation.pixels[k] = static_cast<std::uint8_t>(std::abs(difference));
  }
  const Histogram differences = histogram_of(ink.strength), deviations = histogram_of(deviation);
  ink.contrast = quantile(differences, 1 - share);
  const double scale = 255.0 / std::max(1, ink.contrast);
  std::array<std::uint8_t, 256> scaled;
  for (std::size_t k = 0; k < scaled.size(); ++k)
    scaled[k] = static_cast<std::uint8_t>(std::min(255.0, static_cast<double>(k) * scale + 0.5));
  for (std::uint8_t& pixel : ink.strength.pixels) pixel = scaled[pixel];
  // At least half of a board is paper, so the median deviation is that of the paper's noise; 4.5 times it is
  // three standard deviations.
  ink.threshold = static_cast<int>(std::clamp(quantile(deviations, 0.5) * 4.5 * scale, 30.0, 120.0));
  return ink;
}

}  // namespace

Ink find_ink(const formats::Image& picture) {
  constexpr double kUsual = 0.01, kSparse = 0.0005;  // one digit covers 0.002 of a board without lines
  Ink ink = ink_of(picture, kUsual);
  return ink.contrast >= kLeastContrast ? ink : ink_of(picture, kSparse);
}

GridLines find_grid(const Ink& ink, const std::string& name, int side, DebugPictures* debug) {
  const formats::Image& whole = ink.strength;
  const double shrink = std::min(1.0, static_cast<double>(kWorkSide) / std::max(whole.width, whole.height));
  const formats::Image work =
      shrink < 1 ? formats::resize(whole, static_cast<int>(std::lround(whole.width * shrink)),
                                   static_cast<int>(std::lround(whole.height * shrink)))
                 : whole;
  const int threshold = ink.threshold;
  const Components components = find_components(work, threshold);
  // The large pieces that do not lie inside one another.
  std::vector<Component> large;
  for (const Component& component : components.list) {
    if (component.width() * 4 >= work.width && component.height() * 4 >= work.height)
      large.push_back(component);
  }
  std::sort(large.begin(), large.end(), [](const Component& a, const Component& b) {
    return std::int64_t{a.width()} * a.height() > std::int64_t{b.width()} * b.height();
  });
  const int reach = std::max(1, std::max(work.width, work.height) / 300);
  const auto inked = [&](int x, int y) { return work.at(x, y) > threshold; };
  const auto rows_of = [&](const Component& c) {
    return inked_rows(c.top, c.bottom, c.left, c.right, reach, [&](int x, int y) { return inked(x, y); });
  };
  const auto columns_of = [&](const Component& c) {
    return inked_rows(c.left, c.right, c.top, c.bottom, reach, [&](int y, int x) { return inked(x, y); });
  };

  const std::string paper = "a picture of " + size_text(whole.width, whole.height) +
                            (ink.dark ? ", dark ink on light paper" : ", light ink on dark paper");
  const auto fail = [&](const std::string& what, const std::string& seen) {
    const std::string cells = size_text(side, side);
    throw InputError(
        {name}, what + ": saw " + paper + ", " + seen,
        {"expected one " + cells + " board with drawn lines, all of it in the picture, lying as it may; or " +
             size_text(28 * side, 28 * side) + " pixels without lines",
         "a board of another size needs to be told its boxes: `--box 2x3` for 6x6 (2 rows, 3 columns)"});
  };
  if (debug) {
    formats::Image seen(work.width, work.height);
    for (std::size_t k = 0; k < seen.pixels.size(); ++k)
      seen.pixels[k] = work.pixels[k] > threshold ? 255 : 0;
    debug->emplace_back("ink", seen);
  }
  if (large.empty()) fail("not a board", "no grid lines");

  int boards = 0;
  for (const Component& component : large) {
    const bool apart = component.left > large[0].right || component.right < large[0].left ||
                       component.top > large[0].bottom || component.bottom < large[0].top;
    if ((&component == &large[0] || apart) && rows_of(component).size() > 3 &&
        columns_of(component).size() > 3)
      ++boards;
  }
  if (boards > 1) fail("more than one board", std::to_string(boards) + " separate grids");

  const Component& board = large[0];
  const std::vector<Span> rows = rows_of(board), columns = columns_of(board);
  const std::string seen =
      std::to_string(rows.size()) + " horizontal and " + std::to_string(columns.size()) + " vertical lines";
  const int most = static_cast<int>(std::max(rows.size(), columns.size()));
  const int least = static_cast<int>(std::min(rows.size(), columns.size()));
  if (most >= 2 * side && least >= side - 1 && least <= side + 3) fail("more than one board", seen);
  GridLines lines;
  lines.down = fit(rows, side, board.top, board.bottom + 1);
  lines.across = fit(columns, side, board.left, board.right + 1);
  const std::optional<sudoku::Box> box = sudoku::box_of_side(side);
  if (lines.down.empty() && lines.across.empty() && box) {
    lines.down = fit_boxes(rows, box->columns, box->rows, board.top, board.bottom + 1);
    lines.across = fit_boxes(columns, box->rows, box->columns, board.left, board.right + 1);
  }
  if (lines.down.empty() || lines.across.empty()) fail("not a board", seen);
  const double height = lines.down.back().second - lines.down.front().first;
  const double width = lines.across.back().second - lines.across.front().first;
  if (height > 1.4 * width || width > 1.4 * height) {
    fail("not a board", "a grid of " +
                            size_text(static_cast<int>(width / shrink), static_cast<int>(height / shrink)) +
                            " pixels, which is far from square");
  }
  for (auto* direction : {&lines.down, &lines.across}) {
    for (auto& [begin, end] : *direction) {
      begin /= shrink;
      end /= shrink;
    }
  }
  return lines;
}

}  // namespace as2::vision
