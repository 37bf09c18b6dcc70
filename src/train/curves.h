// Training curves as one SVG file: panels side by side, each with its series.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace as2::train {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascending; values that are not finite are left out
};

struct Panel {
  std::string title;
  std::string x_title;
  std::vector<Series> series;
  bool logarithmic = false;  // the y axis; values ≤ 0 are left out
};

std::string draw_curves(const std::vector<Panel>& panels);

}  // namespace as2::train
