#include "formats/typeface.h"

#include <algorithm>
#include <cmath>

#include "as2/error.h"
#include "files.h"
#include "formats/stb.h"
#include "stb_truetype.h"

namespace as2::formats {

struct Typeface::Font {
  std::string bytes;
  stbtt_fontinfo info{};
  double zero_height = 0;  // in the font's units
};

std::optional<Typeface> Typeface::read(const std::string& path) {
  auto font = std::make_shared<Font>();
  font->bytes = read_file(path);
  const auto* data = reinterpret_cast<const unsigned char*>(font->bytes.data());
  if (font->bytes.size() < 64) return std::nullopt;
  const int offset = stbtt_GetFontOffsetForIndex(data, 0);
  if (offset < 0 || !stbtt_InitFont(&font->info, data, offset)) return std::nullopt;
  for (char digit = '0'; digit <= '9'; ++digit) {
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    if (stbtt_FindGlyphIndex(&font->info, digit) == 0 ||
        !stbtt_GetCodepointBox(&font->info, digit, &x0, &y0, &x1, &y1) || y1 <= y0)
      return std::nullopt;
    if (digit == '0') font->zero_height = y1 - y0;
  }
  Typeface face;
  face.path_ = path;
  face.font_ = std::move(font);
  return face;
}

bool Typeface::has(char32_t letter) const {
  return stbtt_FindGlyphIndex(&font_->info, static_cast<int>(letter)) != 0;
}

Image Typeface::draw(const std::u32string& text, int height) const {
  AS2_REQUIRE(height > 0, "a height");
  const float scale = static_cast<float>(height / font_->zero_height);
  std::vector<std::pair<Image, std::pair<int, int>>> glyphs;
  int left = 1 << 20, top = 1 << 20, right = -(1 << 20), bottom = -(1 << 20);
  double pen = 0;
  for (const char32_t code : text) {
    const int letter = static_cast<int>(code);
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0, advance = 0, bearing = 0;
    stbtt_GetCodepointBitmapBox(&font_->info, letter, scale, scale, &x0, &y0, &x1, &y1);
    stbtt_GetCodepointHMetrics(&font_->info, letter, &advance, &bearing);
    if (x1 > x0 && y1 > y0 && x1 - x0 < 8 * height && y1 - y0 < 8 * height) {
      Image glyph(x1 - x0, y1 - y0);
      stbtt_MakeCodepointBitmap(&font_->info, glyph.pixels.data(), glyph.width, glyph.height, glyph.width,
                                scale, scale, letter);
      const int x = static_cast<int>(std::lround(pen)) + x0;
      left = std::min(left, x), right = std::max(right, x + glyph.width);
      top = std::min(top, y0), bottom = std::max(bottom, y1);
      glyphs.push_back({std::move(glyph), {x, y0}});
    }
    pen += advance * static_cast<double>(scale);
  }
  if (glyphs.empty()) return {};
  Image result(right - left, bottom - top);
  for (const auto& [glyph, at] : glyphs) paste(result, glyph, at.first - left, at.second - top);
  return result;
}

}  // namespace as2::formats
