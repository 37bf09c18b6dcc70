#include "infer/pictures.h"

#include <algorithm>
#include <numeric>

#include "formats/image.h"
#include "infer/network_options.h"

namespace as2::infer {

bool matches(const std::string& pattern, const std::string& name) {
  std::size_t p = 0, n = 0, star = std::string::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

PictureMap map_pictures(const compile::ConstraintProgram& program, const std::vector<std::string>& patterns,
                        const std::vector<std::string>& classes) {
  PictureMap map;
  map.classes = static_cast<int>(classes.size());
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const compile::Position& position = program.positions[i];
    map.class_of.emplace_back(position.symbols.size(), -1);
    if (!matches_any(patterns, position.name)) continue;
    map.positions.push_back(static_cast<int>(i));
    for (std::size_t symbol = 0; symbol < position.symbols.size(); ++symbol) {
      const auto found = std::find(classes.begin(), classes.end(), position.symbols[symbol]);
      if (found == classes.end()) {
        throw InputError("position " + position.name + " has the symbol " + position.symbols[symbol] +
                             ", and no picture shows it",
                         {"a class of pictures is named as clingo prints the symbol"});
      }
      map.class_of.back()[symbol] = static_cast<int>(found - classes.begin());
    }
  }
  if (map.positions.empty() && !patterns.empty()) {
    throw InputError("no position of the program matches images.positions",
                     program.positions.empty()
                         ? std::vector<std::string>{"the program has no position"}
                         : std::vector<std::string>{"positions are named like " + program.positions[0].name});
  }
  return map;
}

std::vector<std::uint8_t> read_picture(const std::string& path) {
  std::vector<std::uint8_t> grey =
      formats::resize(formats::read_image(path), kPictureSide, kPictureSide).pixels;
  const auto total = std::accumulate(grey.begin(), grey.end(), std::int64_t{0});
  if (2 * total > 255 * static_cast<std::int64_t>(grey.size())) {
    for (std::uint8_t& pixel : grey) pixel = static_cast<std::uint8_t>(255 - pixel);
  }
  return grey;
}

bool has_ink(const std::vector<std::uint8_t>& picture) {
  constexpr int kFaintest = 32;  // an eighth of full ink
  return std::any_of(picture.begin(), picture.end(), [](std::uint8_t pixel) { return pixel >= kFaintest; });
}

}  // namespace as2::infer
