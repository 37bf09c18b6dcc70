#include "infer/pictures.h"

#include <algorithm>

#include "compile/position_hints.h"
#include "formats/image.h"
#include "infer/network_options.h"
#include "text.h"

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

std::vector<int> positions_named(const compile::ConstraintProgram& program, const std::string& name) {
  if (const int position = program.find_position(name); position >= 0) return {position};
  const std::string pattern = as_printed(name);
  std::vector<int> named;
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    if (matches(pattern, program.positions[i].name)) named.push_back(static_cast<int>(i));
  }
  return named;
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
                     {compile::position_names(program)});
  }
  return map;
}

namespace {

// The median of a margin as wide as MNIST leaves around its digits: a thin frame or strokes that reach the
// edge cover less than half of it. The mean of a picture says nothing of its paper, as ink may cover most of
// it.
int paper_of(const formats::Image& picture) {
  constexpr int kMargin = 4;
  std::vector<std::uint8_t> margin;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      if (std::min({x, y, picture.width - 1 - x, picture.height - 1 - y}) < kMargin)
        margin.push_back(picture.at(x, y));
    }
  }
  const auto middle = margin.begin() + static_cast<std::ptrdiff_t>(margin.size() / 2);
  std::nth_element(margin.begin(), middle, margin.end());
  return *middle;
}

}  // namespace

std::vector<std::uint8_t> read_picture(const std::string& path) {
  const formats::Image picture = formats::resize(formats::read_image(path), kPictureSide, kPictureSide);
  const int paper = paper_of(picture);
  // Squares, so that strokes outweigh the noise and the shadows of the paper.
  std::int64_t lighter = 0, darker = 0;
  for (const std::uint8_t pixel : picture.pixels) {
    const std::int64_t contrast = pixel - paper;
    (contrast > 0 ? lighter : darker) += contrast * contrast;
  }
  const int ink = lighter >= darker ? 1 : -1;
  std::vector<std::uint8_t> grey;
  for (const std::uint8_t pixel : picture.pixels)
    grey.push_back(static_cast<std::uint8_t>(std::max(0, ink * (pixel - paper))));
  return grey;
}

bool has_ink(const std::vector<std::uint8_t>& picture) {
  constexpr int kFaintest = 32;  // an eighth of full ink
  return std::any_of(picture.begin(), picture.end(), [](std::uint8_t pixel) { return pixel >= kFaintest; });
}

}  // namespace as2::infer
