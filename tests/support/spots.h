// A folder of pictures of ten digits, and of operators, that a small network tells apart within seconds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/image.h"

namespace as2::testing {

// Ten pictures per class: a spot in a place of its own; times has two.
inline void write_spots(const std::filesystem::path& folder, bool operators = false) {
  std::vector<std::string> names;
  for (int digit = 0; digit < 10; ++digit) names.push_back(std::to_string(digit));
  if (operators) names.insert(names.end(), {"plus", "minus", "times"});
  for (std::size_t place = 0; place < names.size(); ++place) {
    std::filesystem::create_directories(folder / names[place]);
    for (int n = 0; n < 10; ++n) {
      formats::Image image(28, 28);
      const auto draw = [&](int column, int row) {
        for (int y = 0; y < 7; ++y) {
          for (int x = 0; x < 6; ++x) image.at(column * 7 + x + n % 2, row * 9 + y + n / 5) = 255;
        }
      };
      const int at = static_cast<int>(place) % 12;
      draw(at % 4, at / 4);
      if (place == 12) draw(3, 2);
      formats::write_png((folder / names[place] / (std::to_string(n) + ".png")).string(), image);
    }
  }
}

}  // namespace as2::testing
