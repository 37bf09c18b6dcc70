#include "vision/symbol_set.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "as2/error.h"
#include "vision/lattice.h"

namespace as2::vision {
namespace {

constexpr int kSymbolParts = 3,
              kDrawn = 64;  // height of a zero beside the operator, before it is scaled down

struct Operator {
  const char* name;
  std::vector<char32_t> letters;  // any of these, the first that a typeface has
};

const std::vector<Operator>& operators() {
  static const std::vector<Operator> table = {
      {"plus", {U'+'}}, {"minus", {U'\u2212', U'\u2013', U'-'}}, {"times", {U'\u00d7'}}};
  return table;
}

// Of every ten pictures eight are for training, one for validation and one for the test.
std::size_t part_of(std::size_t number) {
  const std::size_t place = number % 10;
  return place < 8 ? 0 : place - 7;
}

// The glyph, whose longer side becomes 13 to 21 pixels, somewhere near the middle.
formats::Image distorted(const formats::Image& glyph, Random& random) {
  const auto about = [&](double spread) { return spread * (2 * random.unit() - 1); };
  const double longer = std::max(glyph.width, glyph.height), size = 13 + 8 * random.unit();
  const double wide = size / longer * (1 + about(0.15)), high = size / longer * (1 + about(0.15));
  const double turn = about(0.2), slant = about(0.2), x0 = 14 + about(2.5), y0 = 14 + about(2.5);
  const double ink = 0.75 + 0.25 * random.unit();
  formats::Image picture(datasets::kDigitSide, datasets::kDigitSide);
  constexpr int kFine = 3;  // samples per pixel and direction
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      double sum = 0;
      for (int k = 0; k < kFine * kFine; ++k) {
        const double u = x + (k % kFine + 0.5) / kFine - x0, v = y + (k / kFine + 0.5) / kFine - y0;
        const double across = std::cos(turn) * u + std::sin(turn) * v,
                     down = std::cos(turn) * v - std::sin(turn) * u;
        const Point from{glyph.width / 2.0 + (across + slant * down) / wide,
                         glyph.height / 2.0 + down / high};
        if (from.x < 0 || from.y < 0 || from.x >= glyph.width || from.y >= glyph.height) continue;
        sum += sample(glyph, from);
      }
      picture.at(x, y) = static_cast<std::uint8_t>(std::min(255.0, ink * sum / (kFine * kFine)));
    }
  }
  return picture;
}

}  // namespace

CellSet make_symbols(const std::vector<Family>& families, const datasets::Mnist& mnist,
                     const SymbolSetOptions& options) {
  CellSet set;
  const auto add = [](std::vector<std::uint8_t>& bytes, const std::uint8_t* picture) {
    bytes.insert(bytes.end(), picture, picture + datasets::kDigitPixels);
  };
  const DigitParts digits(mnist);
  for (std::size_t label = 0; label < 10; ++label) {
    std::array<std::size_t, kSymbolParts> next{};
    for (std::size_t n = 0; n < options.per_class; ++n) {
      const std::size_t part = part_of(n);
      const std::vector<std::uint32_t>& indices = digits.by_label[part][label];
      if (indices.empty())
        throw InputError("MNIST has no picture of " + std::to_string(label) + " to keep apart");
      add(set[std::to_string(label)], digits.of(part).image(indices[next[part]++ % indices.size()]));
    }
  }
  for (std::size_t k = 0; k < operators().size(); ++k) {
    const Operator& drawn = operators()[k];
    std::array<std::vector<std::vector<formats::Image>>, kSymbolParts> glyphs;  // by part and family
    for (const Family& family : families) {
      std::vector<formats::Image> faces;
      for (const formats::Typeface& face : family.faces) {
        const auto letter = std::find_if(drawn.letters.begin(), drawn.letters.end(),
                                         [&](char32_t code) { return face.has(code); });
        if (letter == drawn.letters.end()) continue;
        formats::Image glyph = face.draw(std::u32string(1, *letter), kDrawn);
        if (glyph.width >= kDrawn / 8) faces.push_back(std::move(glyph));
      }
      if (!faces.empty()) glyphs[static_cast<std::size_t>(family.part)].push_back(std::move(faces));
    }
    for (std::size_t n = 0; n < options.per_class; ++n) {
      Random random(options.seed + k, n);
      const auto& of_part = glyphs[part_of(n)];
      if (of_part.empty())
        throw InputError("no typeface has the operator " + std::string(drawn.name) +
                             " for one of training, validation and test",
                         {"install more, for example the Debian packages fonts-*"});
      const auto& faces = of_part[random.below(static_cast<std::uint32_t>(of_part.size()))];
      add(set[drawn.name],
          distorted(faces[random.below(static_cast<std::uint32_t>(faces.size()))], random).pixels.data());
    }
  }
  return set;
}

}  // namespace as2::vision
