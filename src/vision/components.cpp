// By runs: pixels side by side in a row are one run, and runs of neighbouring rows that touch are joined in a
// forest whose roots stand first in reading order, so that components are numbered by their first pixel.
#include "vision/components.h"

#include <algorithm>

namespace as2::vision {
namespace {

struct Run {
  int row, begin, end;  // pixels [begin, end)
  int parent;           // an earlier run of the component, or itself
};

int root_of(std::vector<Run>& runs, int run) {
  while (runs[run].parent != run) run = runs[run].parent = runs[runs[run].parent].parent;
  return run;
}

std::vector<Run> joined_runs(const formats::Image& image, int threshold) {
  std::vector<Run> runs;
  int above = 0, row_begin = 0;  // the first run of the row above that may still touch, and of this row
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* pixels = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
    const int above_end = static_cast<int>(runs.size());
    above = row_begin;
    row_begin = above_end;
    for (int x = 0; x < image.width; ++x) {
      if (pixels[x] <= threshold) continue;
      const int begin = x;
      while (x < image.width && pixels[x] > threshold) ++x;
      const int own = static_cast<int>(runs.size());
      runs.push_back({y, begin, x, own});
      // Corners touch as well: [begin − 1, x + 1).
      while (above < above_end && runs[above].end < begin) ++above;
      for (int other = above; other < above_end && runs[other].begin <= x; ++other) {
        const int a = root_of(runs, own), b = root_of(runs, other);
        runs[std::max(a, b)].parent = std::min(a, b);
      }
    }
  }
  return runs;
}

}  // namespace

Components find_components(const formats::Image& image, int threshold) {
  Components found;
  found.label.assign(image.pixels.size(), -1);
  std::vector<Run> runs = joined_runs(image, threshold);
  std::vector<int> index(runs.size());
  for (int k = 0; k < static_cast<int>(runs.size()); ++k) {
    const Run& run = runs[k];
    const int root = root_of(runs, k);
    if (root == k) {
      index[k] = static_cast<int>(found.list.size());
      found.list.push_back({run.begin, run.row, run.end - 1, run.row, 0});
    } else {
      index[k] = index[root];
    }
    Component& component = found.list[index[k]];
    component.left = std::min(component.left, run.begin);
    component.right = std::max(component.right, run.end - 1);
    component.bottom = run.row;
    component.area += run.end - run.begin;
    const auto row = found.label.begin() + static_cast<std::ptrdiff_t>(run.row) * image.width;
    std::fill(row + run.begin, row + run.end, index[k]);
  }
  return found;
}

}  // namespace as2::vision
