#include "formats/image.h"

#include <algorithm>
#include <cmath>

#include "as2/error.h"

namespace as2::formats {
namespace {

// Weights that make one output sample of `to` from the samples of `from`: the overlap of areas when
// shrinking, linear interpolation between centres when enlarging.
struct Tap {
  int index;
  float weight;
};

// The taps of every output sample, one after another: those of k stand from begin[k] to begin[k + 1].
struct Taps {
  std::vector<Tap> list;
  std::vector<std::size_t> begin{0};
};

Taps taps(int from, int to) {
  Taps result;
  const double scale = static_cast<double>(from) / to;
  for (int k = 0; k < to; ++k) {
    if (scale > 1) {
      const double begin = k * scale, end = (k + 1) * scale;
      for (int i = static_cast<int>(begin); i < from && i < end; ++i) {
        const double overlap = std::min<double>(end, i + 1) - std::max<double>(begin, i);
        if (overlap > 0) result.list.push_back({i, static_cast<float>(overlap / scale)});
      }
    } else {
      const double centre = std::clamp((k + 0.5) * scale - 0.5, 0.0, from - 1.0);
      const int low = static_cast<int>(centre);
      const float part = static_cast<float>(centre - low);
      result.list.push_back({low, 1 - part});
      if (part > 0) result.list.push_back({low + 1, part});
    }
    result.begin.push_back(result.list.size());
  }
  return result;
}

}  // namespace

Image::Image(int w, int h, std::uint8_t fill)
    : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), fill) {}

Image resize(const Image& image, int width, int height) {
  AS2_REQUIRE(width > 0 && height > 0 && image.width > 0 && image.height > 0, "sizes are positive");
  const Taps across = taps(image.width, width), down = taps(image.height, height);
  const auto wide = static_cast<std::size_t>(width);
  std::vector<float> rows(wide * static_cast<std::size_t>(image.height));
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* from = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
    float* to = rows.data() + static_cast<std::size_t>(y) * wide;
    for (std::size_t x = 0; x < wide; ++x) {
      float sum = 0;
      for (std::size_t k = across.begin[x]; k < across.begin[x + 1]; ++k)
        sum += across.list[k].weight * from[across.list[k].index];
      to[x] = sum;
    }
  }
  Image result(width, height);
  std::vector<float> sums(wide);
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    std::fill(sums.begin(), sums.end(), 0.f);
    for (std::size_t k = down.begin[y]; k < down.begin[y + 1]; ++k) {
      const float* from = rows.data() + static_cast<std::size_t>(down.list[k].index) * wide;
      for (std::size_t x = 0; x < wide; ++x) sums[x] += down.list[k].weight * from[x];
    }
    for (std::size_t x = 0; x < wide; ++x)
      result.pixels[y * wide + x] = static_cast<std::uint8_t>(std::clamp(sums[x] + 0.5f, 0.f, 255.f));
  }
  return result;
}

Image crop(const Image& image, int x, int y, int width, int height) {
  AS2_REQUIRE(x >= 0 && y >= 0 && x + width <= image.width && y + height <= image.height,
              "the rectangle lies inside the image");
  Image result(width, height);
  for (int row = 0; row < height; ++row) {
    const auto* from = &image.pixels[static_cast<std::size_t>(y + row) * image.width + x];
    std::copy(from, from + width, &result.pixels[static_cast<std::size_t>(row) * width]);
  }
  return result;
}

void paste(Image& image, const Image& piece, int x, int y) {
  for (int v = std::max(0, -y); v < piece.height && y + v < image.height; ++v) {
    for (int u = std::max(0, -x); u < piece.width && x + u < image.width; ++u)
      image.at(x + u, y + v) = piece.at(u, v);
  }
}

void fill_rectangle(Image& image, int x, int y, int width, int height, std::uint8_t gray) {
  for (int v = std::max(0, y); v < std::min(image.height, y + height); ++v) {
    for (int u = std::max(0, x); u < std::min(image.width, x + width); ++u) image.at(u, v) = gray;
  }
}

void draw_line(Image& image, double x0, double y0, double x1, double y1, double thickness,
               std::uint8_t gray) {
  const double reach = thickness / 2 + 1;
  const double dx = x1 - x0, dy = y1 - y0, squared = dx * dx + dy * dy;
  const int top = std::max(0, static_cast<int>(std::min(y0, y1) - reach));
  const int bottom = std::min(image.height - 1, static_cast<int>(std::max(y0, y1) + reach));
  const int left = std::max(0, static_cast<int>(std::min(x0, x1) - reach));
  const int right = std::min(image.width - 1, static_cast<int>(std::max(x0, x1) + reach));
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const double px = x + 0.5 - x0, py = y + 0.5 - y0;
      const double along = squared > 0 ? std::clamp((px * dx + py * dy) / squared, 0.0, 1.0) : 0.0;
      const double distance = std::hypot(px - along * dx, py - along * dy);
      const double cover = std::clamp(thickness / 2 - distance + 0.5, 0.0, 1.0);
      image.at(x, y) = static_cast<std::uint8_t>(std::lround(image.at(x, y) * (1 - cover) + gray * cover));
    }
  }
}

std::string terminal_picture(const Image& image, int columns, bool colour) {
  const int rows = std::max(1, static_cast<int>(std::lround(columns * image.height / (2.0 * image.width))));
  std::string text;
  if (!colour) {
    static constexpr char kRamp[] = " .:-=+*#%@";
    const Image small = resize(image, columns, rows);
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) text += kRamp[small.at(x, y) * 10 / 256];
      text += '\n';
    }
    return text;
  }
  const Image small = resize(image, columns, 2 * rows);
  const auto shade = [](int gray) { return std::to_string(232 + gray * 24 / 256); };
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      text += "\x1b[38;5;" + shade(small.at(x, 2 * y)) + ";48;5;" + shade(small.at(x, 2 * y + 1)) + "m\u2580";
    }
    text += "\x1b[0m\n";
  }
  return text;
}

}  // namespace as2::formats
