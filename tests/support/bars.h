// A folder of pictures that a small network learns within seconds.
#pragma once

#include <filesystem>
#include <string>

#include "formats/image.h"

namespace as2::testing {

// Pictures of 1 … 4 in sub-folders of those names: as many bars, at five places.
inline void write_bars(const std::filesystem::path& folder) {
  for (int symbol = 1; symbol <= 4; ++symbol) {
    std::filesystem::create_directories(folder / std::to_string(symbol));
    for (int n = 0; n < 10; ++n) {
      formats::Image image(28, 28);
      for (int bar = 0; bar < symbol; ++bar) {
        for (int y = 4; y < 24; ++y) image.at(3 + n % 5 + bar * 5, y) = 255;
      }
      formats::write_png((folder / std::to_string(symbol) / (std::to_string(n) + ".png")).string(), image);
    }
  }
}

}  // namespace as2::testing
