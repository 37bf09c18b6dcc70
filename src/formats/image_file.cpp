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
      size = {bytes.big(at + 8, 4), bytes.big(at + 12, 4)};
      bytes.check(size);
    }
    const std::string_view checked = bytes.part(at + 4, 4 + std::size_t{length});
    if (crc32(checked) != bytes.big(at + 8 + length, 4))
      bytes.fail("the image is broken: a checksum of the PNG is wrong");
    if (named == "IEND") return size;
    at += 12 + std::size_t{length};
  }
}

// Segments FF xx with a length, then the scans, in which FF is followed by 0 or a restart marker; the end is
// FF D9.
Size check_jpeg(const Bytes& bytes) {
  Size size;
  bool scanned = false;
  for (std::size_t at = 2;;) {
    if (bytes.at(at) != 0xff) {
      if (!scanned) bytes.fail("the image is broken: no JPEG segment where one is expected");
      ++at;
      continue;
    }
    const std::uint8_t marker = bytes.at(at + 1);
    if (marker == 0xff) {
      ++at;
    } else if (marker == 0xd9) {
      if (!scanned) bytes.fail("the image is broken: a JPEG without a picture");
      return size;
    } else if (marker == 0 || marker == 1 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += 2;
    } else {
      const std::uint32_t length = bytes.big(at + 2, 2);
      bytes.require(at + 2 + length);
      const bool frame =
          marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
      if (frame && size.width == 0) {
        size = {bytes.big(at + 7, 2), bytes.big(at + 5, 2)};
        bytes.check(size);
      }
      scanned = scanned || marker == 0xda;
      at += 2 + std::max<std::size_t>(2, length);
    }
  }
}

Size check_bmp(const Bytes& bytes) {
  const std::uint32_t offset = bytes.little(10, 4), header = bytes.little(14, 4);
  Size size;
  std::uint32_t depth = 0;
  if (header == 12) {
    size = {bytes.little(18, 2), bytes.little(20, 2)};
    depth = bytes.little(24, 2);
  } else {
    size = {static_cast<std::int32_t>(bytes.little(18, 4)),
            std::abs(std::int64_t{static_cast<std::int32_t>(bytes.little(22, 4))})};
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
    const Size size{number("its width"), number("its height")};
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

Image decode_with_stb(const std::string& bytes, const std::string& name, Size expected) {
  // At most eight bytes per unpacked pixel, doubled because stb's buffers grow by doubling, plus room for its
  // tables.
  const StbLimit limit(16 * static_cast<std::size_t>(expected.width * expected.height) + bytes.size() +
                       (std::size_t{1} << 20));
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> loaded(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()), static_cast<int>(bytes.size()),
                            &width, &height, &channels, 2),
      std::free);
  if (!loaded) {
    const std::string reason = stbi_failure_reason();
    throw InputError({name},
                     "the image is broken: " +
                         (reason == "Out of memory" ? "it unpacks to more than its size says" : reason));
  }
  AS2_REQUIRE(width == expected.width && height == expected.height, "stb reads the size that we read");
  Image image(width, height);
  for (std::size_t k = 0; k < image.pixels.size(); ++k) {
    const int gray = loaded.get()[2 * k], alpha = loaded.get()[2 * k + 1];
    image.pixels[k] = static_cast<std::uint8_t>((gray * alpha + 255 * (255 - alpha) + 127) / 255);
  }
  return image;
}

}  // namespace

Image decode_image(const std::string& bytes, const std::string& name) {
  const Bytes input(bytes, name);
  if (bytes.size() > kMaxBytes) input.fail("a file of more than 1 GiB");
  if (input.starts_with("\x89PNG\r\n\x1a\n", 8)) return decode_with_stb(bytes, name, check_png(input));
  if (input.starts_with("\xff\xd8", 2)) return decode_with_stb(bytes, name, check_jpeg(input));
  if (input.starts_with("BM", 2)) return decode_with_stb(bytes, name, check_bmp(input));
  if (input.starts_with("P5", 2) || input.starts_with("P2", 2)) return Pgm(input).read();
  throw InputError({name}, bytes.empty() ? "an empty file" : other_format(input),
                   {"PNG, JPEG, BMP and PGM are read"});
}

Image read_image(const std::string& path) {
  return decode_image(read_file(path), path);
}

namespace {

void append_bytes(void* to, void* data, int size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

}  // namespace

std::string encode_png(const Image& image) {
  std::string bytes;
  const int done = stbi_write_png_to_func(append_bytes, &bytes, image.width, image.height, 1,
                                          image.pixels.data(), image.width);
  AS2_REQUIRE(done, "an image of at least one pixel");
  return bytes;
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
