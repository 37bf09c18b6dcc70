// Grayscale images: PNG in and out, scaling, drawing, and a picture for the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace as2::formats {

// 8-bit gray, row by row; 0 is black.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  Image() = default;
  Image(int width, int height, std::uint8_t fill = 0);
  std::uint8_t& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
  std::uint8_t at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

// Reads PNG, JPEG, BMP or PGM; colours become gray, transparent parts white, and a JPEG lies as its EXIF
// orientation says. Throws InputError.
Image read_image(const std::string& path);
Image decode_image(const std::string& bytes, const std::string& name);
std::string encode_png(const Image& image);
// The picture in the file `bytes` in its own colours, as much darker or brighter as `drawn` is than `gray`,
// which is what decode_image made of it.
std::string encode_png_over(const std::string& bytes, const Image& gray, const Image& drawn);
std::string encode_jpeg(const Image& image, int quality);  // 1 … 100
void write_png(const std::string& path, const Image& image);

// Scales to the given size: averages areas when shrinking, interpolates when enlarging.
Image resize(const Image& image, int width, int height);
// The rectangle of this size at (x, y), which must lie inside.
Image crop(const Image& image, int x, int y, int width, int height);
// Copies `piece` onto `image` with its corner at (x, y); what falls outside is cut off.
void paste(Image& image, const Image& piece, int x, int y);
void fill_rectangle(Image& image, int x, int y, int width, int height, std::uint8_t gray);
// A line with round ends and smooth edges.
void draw_line(Image& image, double x0, double y0, double x1, double y1, double thickness, std::uint8_t gray);

// The image as text, `columns` wide. With colour, every character is two pixels (half blocks in shades of
// gray); without, ten ASCII characters from dark to bright.
std::string terminal_picture(const Image& image, int columns, bool colour);

}  // namespace as2::formats
