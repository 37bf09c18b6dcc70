// Reading and writing pictures.
//
// stb decodes PNG, JPEG and BMP, but it takes a cut JPEG or BMP for a whole one, leaves what is missing
// uninitialised, and unpacks whatever a PNG holds. So each file's own structure is walked first: which format
// it is, how large a picture, whether all of it is there. PGM, four lines of format, is read here. Rejected:
// libpng and libjpeg, two more dependencies for what these checks do.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "as2/error.h"
#include "files.h"
#include "formats/gzip.h"
#include "formats/image.h"
#include "formats/stb.h"
#include "stb_image_write.h"

namespace as2::formats {
namespace {

constexpr std::int64_t kMaxPixels = 100'000'000;
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

struct Size {
  std::int64_t width = 0, height = 0;
  int orientation = 1;  // EXIF's: 2 to 8 are turned or mirrored
};

// One picture's bytes, read from the front; every error names the picture.
class Bytes {
 public:
  Bytes(const std::string& bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  [[noreturn]] void fail(const std::string& message) const { throw InputError({name_}, message); }
  [[noreturn]] void cut() const {
    throw InputError({name_}, "cut off: the file ends before the picture does", {"copy or fetch it again"});
  }
  bool starts_with(const char* text, std::size_t size) const {
    return bytes_.compare(0, size, text, size) == 0;
  }
  std::size_t size() const { return bytes_.size(); }
  void require(std::uint64_t end) const {
    if (end > bytes_.size()) cut();
  }
  std::uint8_t at(std::size_t where) const {
    require(where + 1);
    return static_cast<std::uint8_t>(bytes_[where]);
  }
  std::uint32_t big(std::size_t where, int count) const { return number(where, count, count - 1, -1); }
  std::uint32_t little(std::size_t where, int count) const { return number(where, count, 0, 1); }
  std::string_view part(std::size_t where, std::size_t count) const {
    require(where + count);
    return std::string_view(bytes_).substr(where, count);
  }
  void check(Size size) const {
    if (size.width <= 0 || size.height <= 0) fail("a picture without pixels");
    if (size.width > kMaxPixels || size.width * size.height > kMaxPixels) {
      fail("an image of " + std::to_string(size.width) + "x" + std::to_string(size.height) +
           " pixels, expected at most 100 million");
    }
  }

 private:
  std::uint32_t number(std::size_t where, int count, int first_shift, int step) const {
    std::uint32_t value = 0;
    for (int k = 0; k < count; ++k)
      value |= std::uint32_t{at(where + static_cast<std::size_t>(k))} << 8 * (first_shift + step * k);
    return value;
  }

  const std::string& bytes_;
  const std::string& name_;
};

// A chunk is its length, its name, its data and a checksum of both; the last one is IEND.
Size check_png(const Bytes& bytes) {
  Size size;
  for (std::size_t at = 8;;) {
    const std::uint32_t length = bytes.big(at, 4);
    const std::string_view named = bytes.part(at + 4, 4);
    if (at == 8) {
      if (named != "IHDR" || length != 13) bytes.fail("a PNG without its first chunk, IHDR");
      size = {bytes.big(at + 8, 4), bytes.big(at + 12, 4), 1};
      bytes.check(size);
    }
    const std::string_view checked = bytes.part(at + 4, 4 + std::size_t{length});
    if (crc32(checked) != bytes.big(at + 8 + length, 4))
      bytes.fail("the image is broken: a checksum of the PNG is wrong");
    if (named == "IEND") return size;
    at += 12 + std::size_t{length};
  }
}

// The orientation in a JPEG's segment from `at` to `end`, 1 where there is none: EXIF is a TIFF header and a
// table of entries of 12 bytes, in the byte order that the header names.
int exif_orientation(const Bytes& bytes, std::size_t at, std::size_t end) {
  if (end < at + 14 || bytes.part(at, 6) != std::string_view("Exif\0\0", 6)) return 1;
  const std::size_t tiff = at + 6;
  const bool is_little = bytes.part(tiff, 2) == "II";
  const auto number = [&](std::size_t where, int count) {
    return is_little ? bytes.little(where, count) : bytes.big(where, count);
  };
  const std::size_t table = tiff + number(tiff + 4, 4);
  if (table + 2 > end) return 1;
  const std::uint32_t entries = number(table, 2);
  for (std::size_t entry = table + 2; entry < table + 2 + 12 * std::size_t{entries}; entry += 12) {
    if (entry + 12 > end) return 1;
    constexpr std::uint32_t kOrientation = 0x0112;
    if (number(entry, 2) != kOrientation) continue;
    const std::uint32_t value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// Segments FF xx with a length, then the scans, in which FF is followed by 0 or a restart marker; the end is
// FF D9.
// The Huffman tables that the segments of a JPEG have defined so far, a bit each.
struct JpegTables {
  std::uint32_t of_class[2] = {0, 0};  // DC, AC

  // A segment DHT: class and number, how many codes there are of each length, and the symbols.
  void define(const Bytes& bytes, std::size_t at, std::size_t end) {
    while (at < end) {
      const std::uint8_t name = bytes.at(at);
      of_class[name >> 4 & 1] |= 1u << (name & 15);
      std::size_t symbols = 0;
      for (std::size_t length = 1; length <= 16; ++length) symbols += bytes.at(at + length);
      at += 17 + symbols;
    }
  }
  // A segment SOS: a scan of a progressive picture is of either class, any other of both.
  void require(const Bytes& bytes, std::size_t at, bool is_progressive) const {
    const std::size_t components = bytes.at(at), range = at + 1 + 2 * components;
    const bool is_first = bytes.at(range) == 0, is_refined = bytes.at(range + 2) >> 4 != 0;
    for (std::size_t k = 0; k < components; ++k) {
      const std::uint8_t used = bytes.at(at + 2 + 2 * k);
      const bool has_dc = of_class[0] >> (used >> 4) & 1, has_ac = of_class[1] >> (used & 15) & 1;
      const bool is_complete =
          is_progressive ? (is_first ? has_dc || is_refined : has_ac) : (has_dc && has_ac);
      if (!is_complete) bytes.fail("the image is broken: a JPEG without its Huffman tables");
    }
  }
};

Size check_jpeg(const Bytes& bytes) {
  constexpr int kMostScans = 500;  // a progressive picture has about ten, and each costs a pass over it
  Size size;
  JpegTables tables;
  int scans = 0;
  bool is_progressive = false;
  for (std::size_t at = 2;;) {
    if (bytes.at(at) != 0xff) {
      if (scans == 0) bytes.fail("the image is broken: no JPEG segment where one is expected");
      ++at;
      continue;
    }
    const std::uint8_t marker = bytes.at(at + 1);
    if (marker == 0xff) {
      ++at;
    } else if (marker == 0xd9) {
      if (scans == 0) bytes.fail("the image is broken: a JPEG without a picture");
      return size;
    } else if (marker == 0 || marker == 1 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += 2;
    } else {
      const std::uint32_t length = bytes.big(at + 2, 2);
      bytes.require(at + 2 + length);
      const bool frame =
          marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
      if (frame && size.width == 0) {
        size.width = bytes.big(at + 7, 2);
        size.height = bytes.big(at + 5, 2);
        bytes.check(size);
        is_progressive = marker == 0xc2;
      }
      if (marker == 0xc4) tables.define(bytes, at + 4, at + 2 + length);
      if (marker == 0xda) tables.require(bytes, at + 4, is_progressive);
      if (marker == 0xe1 && size.orientation == 1)
        size.orientation = exif_orientation(bytes, at + 4, at + 2 + length);
      if (marker == 0xda && ++scans > kMostScans)
        bytes.fail("a JPEG of more than " + std::to_string(kMostScans) + " scans");
      at += 2 + std::max<std::size_t>(2, length);
    }
  }
}

Size check_bmp(const Bytes& bytes) {
  const std::uint32_t offset = bytes.little(10, 4), header = bytes.little(14, 4);
  Size size;
  std::uint32_t depth = 0;
  if (header == 12) {
    size = {bytes.little(18, 2), bytes.little(20, 2), 1};
    depth = bytes.little(24, 2);
  } else {
    size = {static_cast<std::int32_t>(bytes.little(18, 4)),
            std::abs(std::int64_t{static_cast<std::int32_t>(bytes.little(22, 4))}), 1};
    depth = bytes.little(28, 2);
    if (const std::uint32_t packed = bytes.little(30, 4); packed != 0 && packed != 3)
      bytes.fail("a compressed BMP, which is not supported");
  }
  bytes.check(size);
  if (depth > 32) bytes.fail("the image is broken: a BMP of " + std::to_string(depth) + " bits per pixel");
  const std::uint64_t row = (static_cast<std::uint64_t>(size.width) * depth + 31) / 32 * 4;
  bytes.require(offset + row * static_cast<std::uint64_t>(size.height));
  return size;
}

// `P5` (binary) or `P2` (decimal numbers), then width, height and the value of white. Binary pixels have 16
// bits, high byte first, where white is above 255. `#` begins a comment up to the end of its line.
class Pgm {
 public:
  explicit Pgm(const Bytes& bytes) : bytes_(bytes), plain_(bytes.at(1) == '2') {}

  Image read() {
    const std::uint32_t width = number("its width");
    const Size size{width, number("its height"), 1};
    bytes_.check(size);
    const std::uint32_t white = number("its number of white");
    if (white == 0 || white > 65535) bytes_.fail("a PGM whose white is " + std::to_string(white));
    const std::size_t bytes_each = white > 255 ? 2 : 1;
    const auto count = static_cast<std::size_t>(size.width * size.height);
    if (!plain_) {
      ++at_;  // one blank after the header
      bytes_.require(std::uint64_t{at_} + count * bytes_each);
    }
    Image image(static_cast<int>(size.width), static_cast<int>(size.height));
    for (std::uint8_t& pixel : image.pixels) {
      const std::uint32_t gray = plain_ ? number("a pixel") : bytes_.big(at_, static_cast<int>(bytes_each));
      if (!plain_) at_ += bytes_each;
      if (gray > white)
        bytes_.fail("a PGM with a pixel of " + std::to_string(gray) + ", brighter than its white of " +
                    std::to_string(white));
      pixel = static_cast<std::uint8_t>((gray * 255 + white / 2) / white);
    }
    return image;
  }

 private:
  std::uint32_t number(const char* what) {
    for (bool comment = false; at_ < bytes_.size(); ++at_) {
      const std::uint8_t byte = bytes_.at(at_);
      if (comment ? byte == '\n' : byte == '#') {
        comment = !comment;
      } else if (!comment && std::strchr(" \t\n\v\f\r", byte) == nullptr) {
        break;
      }
    }
    std::uint32_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < bytes_.size() && bytes_.at(at_) >= '0' && bytes_.at(at_) <= '9' && at_ - begin < 9; ++at_)
      value = value * 10 + (bytes_.at(at_) - '0');
    if (at_ == begin) {
      if (at_ == bytes_.size()) bytes_.cut();
      bytes_.fail(std::string("a PGM without ") + what);
    }
    return value;
  }

  const Bytes& bytes_;
  bool plain_;
  std::size_t at_ = 2;
};

// Names the common but unsupported format that these bytes begin like, for the error message.
std::string other_format(const Bytes& bytes) {
  struct Beginning {
    std::string text;
    const char* name;
  };
  static const Beginning known[] = {
      {"GIF8", "a GIF"}, {"RIFF", "a WebP"},       {"II*", "a TIFF"},  {"MM", "a TIFF"},
      {"8BPS", "a PSD"}, {"#?RADIANCE", "an HDR"}, {"%PDF", "a PDF"},  {"\x53\x80\xf6\x34", "a PIC"},
      {"P1", "a PBM"},   {"P4", "a PBM"},          {"P3", "a PPM"},    {"P6", "a PPM"},
      {"P7", "a PAM"},   {"<svg", "an SVG"},       {"<?xml", "an SVG"}};
  for (const Beginning& beginning : known) {
    if (bytes.starts_with(beginning.text.data(), beginning.text.size()))
      return std::string("found ") + beginning.name + ", a format that is not supported";
  }
  return "not an image that can be read";
}

// What the file's own structure says; nothing for PGM, which has no other reader.
std::optional<Size> check(const Bytes& bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n", 8)) return check_png(bytes);
  if (bytes.starts_with("\xff\xd8", 2)) return check_jpeg(bytes);
  if (bytes.starts_with("BM", 2)) return check_bmp(bytes);
  return std::nullopt;
}

// Pixels as stb gives them, of `channels` bytes each; the last is how opaque.
struct Pixels {
  std::unique_ptr<stbi_uc, void (*)(void*)> bytes{nullptr, std::free};
  int in_file = 0;  // channels
};

Pixels decode_with_stb(const std::string& bytes, const std::string& name, Size expected, int channels) {
  // At most eight bytes per unpacked pixel, doubled because stb's buffers grow by doubling, plus room for its
  // tables.
  const StbLimit limit(16 * static_cast<std::size_t>(expected.width * expected.height) + bytes.size() +
                       (std::size_t{1} << 20));
  int width = 0, height = 0;
  Pixels loaded;
  loaded.bytes.reset(stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()),
                                           static_cast<int>(bytes.size()), &width, &height, &loaded.in_file,
                                           channels));
  if (!loaded.bytes) {
    const std::string reason = stbi_failure_reason();
    throw InputError({name},
                     "the image is broken: " +
                         (reason == "Out of memory" ? "it unpacks to more than its size says" : reason));
  }
  AS2_REQUIRE(width == expected.width && height == expected.height, "stb reads the size that we read");
  return loaded;
}

// Row by row where each pixel of the picture stands in the file, once it is turned as `size.orientation`
// says.
template <class Visit>
void visit_upright(Size size, const Visit& visit) {
  const std::int64_t w = size.width, h = size.height, o = size.orientation;
  const bool swapped = o >= 5, from_right = o == 2 || o == 3 || o == 7 || o == 8,
             from_bottom = o == 3 || o == 4 || o == 6 || o == 7;
  for (std::int64_t y = 0; y < (swapped ? w : h); ++y) {
    for (std::int64_t x = 0; x < (swapped ? h : w); ++x) {
      const std::int64_t u = swapped ? y : x, v = swapped ? x : y;
      visit(static_cast<std::size_t>((from_bottom ? h - 1 - v : v) * w + (from_right ? w - 1 - u : u)));
    }
  }
}

Image upright(Size size) {
  const auto w = static_cast<int>(size.width), h = static_cast<int>(size.height);
  return size.orientation >= 5 ? Image(h, w) : Image(w, h);
}

std::uint8_t on_white(int value, int alpha) {
  return static_cast<std::uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

void append_bytes(void* to, void* data, int size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::string encode_png(int width, int height, int channels, const std::vector<std::uint8_t>& pixels) {
  std::string bytes;
  const int done =
      stbi_write_png_to_func(append_bytes, &bytes, width, height, channels, pixels.data(), channels * width);
  AS2_REQUIRE(done, "an image of at least one pixel");
  return bytes;
}

}  // namespace

Image decode_image(const std::string& bytes, const std::string& name) {
  const Bytes input(bytes, name);
  if (bytes.size() > kMaxBytes) input.fail("a file of more than 1 GiB");
  if (const auto size = check(input)) {
    const Pixels loaded = decode_with_stb(bytes, name, *size, 2);
    Image image = upright(*size);
    auto pixel = image.pixels.begin();
    visit_upright(*size, [&](std::size_t at) {
      const stbi_uc* from = loaded.bytes.get() + 2 * at;
      *pixel++ = on_white(from[0], from[1]);
    });
    return image;
  }
  if (input.starts_with("P5", 2) || input.starts_with("P2", 2)) return Pgm(input).read();
  throw InputError({name}, bytes.empty() ? "an empty file" : other_format(input),
                   {"PNG, JPEG, BMP and PGM are read"});
}

std::string encode_png_over(const std::string& bytes, const Image& gray, const Image& drawn) {
  const std::string name = "the picture drawn into";
  const auto size = check(Bytes(bytes, name));
  if (!size) return encode_png(drawn);
  const Pixels loaded = decode_with_stb(bytes, name, *size, 4);
  if (loaded.in_file < 3) return encode_png(drawn);
  std::vector<std::uint8_t> colours;
  colours.reserve(3 * drawn.pixels.size());
  std::size_t k = 0;
  visit_upright(*size, [&](std::size_t at) {
    const stbi_uc* from = loaded.bytes.get() + 4 * at;
    const int change = drawn.pixels[k] - gray.pixels[k];
    ++k;
    for (int c = 0; c < 3; ++c)
      colours.push_back(static_cast<std::uint8_t>(std::clamp(on_white(from[c], from[3]) + change, 0, 255)));
  });
  return encode_png(drawn.width, drawn.height, 3, colours);
}

Image read_image(const std::string& path) {
  return decode_image(read_file(path), path);
}

std::string encode_png(const Image& image) {
  return encode_png(image.width, image.height, 1, image.pixels);
}

std::string encode_jpeg(const Image& image, int quality) {
  std::string bytes;
  const int done = stbi_write_jpg_to_func(append_bytes, &bytes, image.width, image.height, 1,
                                          image.pixels.data(), quality);
  AS2_REQUIRE(done, "an image of at least one pixel");
  return bytes;
}

void write_png(const std::string& path, const Image& image) {
  write_file(path, encode_png(image));
}

}  // namespace as2::formats
