// Text in the typefaces of a machine, as ink.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "formats/image.h"

namespace as2::formats {

// A TrueType or OpenType file with all ten digits. stb reads it without checking every offset, so it is for
// the fonts of one's own system, not for files from strangers.
class Typeface {
 public:
  // None where the file is no such typeface.
  static std::optional<Typeface> read(const std::string& path);

  const std::string& path() const { return path_; }
  // Whether it has a glyph for the letter.
  bool has(char32_t letter) const;
  // The text cropped to its ink, white on black; a zero would be `height` pixels high. Empty where no glyph
  // has ink.
  Image draw(const std::u32string& text, int height) const;
  Image draw(const std::string& ascii, int height) const {
    return draw(std::u32string(ascii.begin(), ascii.end()), height);
  }

 private:
  struct Font;
  std::string path_;
  std::shared_ptr<const Font> font_;
};

}  // namespace as2::formats
