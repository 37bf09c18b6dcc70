#include "formats/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "as2/error.h"
#include "files.h"
#include "formats/gzip.h"
#include "formats/stb.h"
#include "random.h"
#include "stb_image_write.h"
#include "support/temporary_folder.h"

extern "C" unsigned char* stbi_zlib_compress(unsigned char* data, int size, int* packed, int quality);

namespace as2::formats {
namespace {

using testing::HasSubstr;

Image noise(int width, int height, std::uint64_t seed) {
  Image image(width, height);
  Random random(seed);
  for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  return image;
}

double mean(const Image& image) {
  return std::accumulate(image.pixels.begin(), image.pixels.end(), 0.0) / image.pixels.size();
}

TEST(Png, RoundTrips) {
  test::TemporaryFolder folder;
  const Image image = noise(37, 21, 1);
  write_png(folder / "a.png", image);
  const Image again = read_image(folder / "a.png");
  EXPECT_EQ(again.width, 37);
  EXPECT_EQ(again.height, 21);
  EXPECT_EQ(again.pixels, image.pixels);
  EXPECT_EQ(folder.entries(), 1);
}

std::string message_of(const std::string& bytes) {
  try {
    const Image image = decode_image(bytes, "x.png");
    return "no error";
  } catch (const InputError& error) {
    return error.what();
  }
}

// stb's writers make the formats that we do not write ourselves.
void append(void* to, void* data, int size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::string encoded(const std::string& format, const Image& image) {
  std::string bytes;
  if (format == "png") return encode_png(image);
  if (format == "pgm")
    return "P5\n" + std::to_string(image.width) + " " + std::to_string(image.height) + "\n255\n" +
           std::string(image.pixels.begin(), image.pixels.end());
  if (format == "jpeg")
    stbi_write_jpg_to_func(append, &bytes, image.width, image.height, 1, image.pixels.data(), 95);
  if (format == "bmp")
    stbi_write_bmp_to_func(append, &bytes, image.width, image.height, 1, image.pixels.data());
  return bytes;
}

TEST(Picture, ReadsEveryFormatThatIsPromised) {
  Image image(61, 47, 30);
  fill_rectangle(image, 10, 10, 30, 20, 200);
  for (const char* format : {"png", "jpeg", "bmp", "pgm"}) {
    const Image again = decode_image(encoded(format, image), format);
    ASSERT_EQ(again.width, 61) << format;
    ASSERT_EQ(again.height, 47) << format;
    EXPECT_NEAR(again.at(20, 20), 200, 5) << format;
    EXPECT_NEAR(again.at(55, 40), 30, 5) << format;
  }
}

TEST(Picture, ACutFileIsRefusedAsCut) {
  const Image image = noise(64, 64, 2);
  for (const char* format : {"png", "jpeg", "bmp", "pgm"}) {
    const std::string whole = encoded(format, image);
    ASSERT_EQ(message_of(whole), "no error") << format;
    for (const std::size_t length :
         {whole.size() - 1, whole.size() * 95 / 100, whole.size() / 2, whole.size() / 20})
      EXPECT_THAT(message_of(whole.substr(0, length)), HasSubstr("x.png: error: cut off"))
          << format << length;
  }
  EXPECT_THAT(message_of("P5\n478 478\n255\n"), HasSubstr("cut off"));
  EXPECT_THAT(message_of("P2 2 2 255 1 2 3"), HasSubstr("cut off"));
}

TEST(Picture, AJpegWithoutItsTablesIsRefused) {
  const std::string whole = encoded("jpeg", noise(64, 64, 2));
  int removed = 0;
  for (std::size_t at = whole.find("\xff\xc4"); at != std::string::npos && at < whole.find("\xff\xda");
       at = whole.find("\xff\xc4", at + 2)) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(whole[at + 2]) << 8 |
                                                 static_cast<unsigned char>(whole[at + 3]));
    std::string damaged = whole;
    damaged.erase(at, 2 + length);
    EXPECT_THAT(message_of(damaged), HasSubstr("a JPEG without its Huffman tables"));
    ++removed;
  }
  EXPECT_GT(removed, 0);
}

// Each scan of a progressive picture costs a pass over all of it, even an empty one.
TEST(Picture, AJpegOfManyScansIsRefused) {
  const std::string whole = encoded("jpeg", noise(64, 64, 2));
  const std::size_t at = whole.find("\xff\xda");
  ASSERT_NE(at, std::string::npos);
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(whole[at + 3]));
  std::string many = whole.substr(0, whole.size() - 2);
  for (int scan = 1; scan < 500; ++scan) many += whole.substr(at, 2 + length);
  const std::string end = "\xff\xd9";
  EXPECT_EQ(message_of(many + end).find("scans"), std::string::npos) << message_of(many + end);
  EXPECT_THAT(message_of(many + whole.substr(at, 2 + length) + end),
              HasSubstr("x.png: error: a JPEG of more than 500 scans"));
}

// The decoder finds zeros where it relies on what no file has written.
TEST(Picture, MemoryOfTheDecoderIsZero) {
  constexpr std::size_t kBytes = 20000;
  for (int k = 0; k < 4; ++k) {
    const std::unique_ptr<char[]> garbage(new char[kBytes]);
    std::fill_n(garbage.get(), kBytes, '\xff');
  }
  // A quantization table that is not defined makes every block gray.
  std::string bytes = encoded("jpeg", noise(64, 64, 2));
  const std::size_t table = bytes.find("\xff\xdb");
  ASSERT_NE(table, std::string::npos);
  bytes.erase(table, 2 + static_cast<std::size_t>(static_cast<unsigned char>(bytes[table + 3])));
  const Image image = decode_image(bytes, "x.jpg");
  EXPECT_EQ(std::count(image.pixels.begin(), image.pixels.end(), 128), 64 * 64);
}

TEST(Picture, ADamagedPngIsRefused) {
  std::string bytes = encode_png(noise(64, 64, 2));
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(message_of(bytes), HasSubstr("a checksum of the PNG is wrong"));
}

TEST(Picture, ReadsGraymapsOfEveryKind) {
  const auto pixels = [](const std::string& bytes) { return decode_image(bytes, "a.pgm").pixels; };
  const std::vector<std::uint8_t> expected = {0x10, 0xf0};
  EXPECT_EQ(pixels("P5 2 1 255\n\x10\xf0"), expected);
  EXPECT_EQ(pixels("P5\n# by hand\n2 1\n255\n\x10\xf0"), expected);
  EXPECT_EQ(pixels(std::string("P5 2 1 65535\n\x10\x10\xf0\xf0", 17)), expected);
  EXPECT_EQ(pixels("P2\n2 1 # two pixels\n255\n16\n240\n"), expected);
  EXPECT_EQ(pixels("P2 2 1 1 0 1"), (std::vector<std::uint8_t>{0, 255}));
  EXPECT_THAT(message_of("P2 2 1 9 4 10"), HasSubstr("brighter than its white of 9"));
  EXPECT_THAT(message_of("P2 0 1 9"), HasSubstr("without pixels"));
  EXPECT_THAT(message_of("P5 2 1 70000\n0123"), HasSubstr("white is 70000"));
}

TEST(Picture, NamesWhatCannotBeRead) {
  EXPECT_THAT(message_of("hello"), HasSubstr("x.png: error: not an image that can be read"));
  EXPECT_THAT(message_of(""), HasSubstr("x.png: error: an empty file"));
  EXPECT_THAT(message_of("GIF89a..."), HasSubstr("found a GIF"));
  EXPECT_THAT(message_of("P6 1 1 255\nabc"), HasSubstr("found a PPM"));
  EXPECT_THAT(message_of("\x53\x80\xf6\x34" + std::string(107, 'P')), HasSubstr("found a PIC"));
  EXPECT_THAT(message_of("P5 900000 900000 255\n"), HasSubstr("at most 100 million"));
  const std::string bmp = encoded("bmp", noise(8, 8, 1));
  EXPECT_THAT(message_of(std::string(bmp).replace(30, 1, "\1")), HasSubstr("a compressed BMP"));
}

std::string chunk(const std::string& named, const std::string& data) {
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  return number(static_cast<std::uint32_t>(data.size())) + named + data + number(crc32(named + data));
}

// 300 × 300 pixels that unpack to far more; it must not be unpacked to its end.
TEST(Picture, APictureThatUnpacksToMoreThanItsSizeIsRefused) {
  std::vector<unsigned char> zeros(std::size_t{24} << 20);
  int size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> packed(
      stbi_zlib_compress(zeros.data(), static_cast<int>(zeros.size()), &size, 8), std::free);
  const std::string header("\0\0\1\x2c\0\0\1\x2c\x8\0\0\0\0", 13);
  const std::string bomb =
      "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) +
      chunk("IDAT", std::string(reinterpret_cast<char*>(packed.get()), static_cast<std::size_t>(size))) +
      chunk("IEND", "");
  EXPECT_THAT(message_of(bomb), HasSubstr("unpacks to more than its size says"));
}

// A JPEG whose EXIF has an orientation, in the byte order of Intel or of Motorola.
std::string with_orientation(const std::string& jpeg, int orientation, bool is_little) {
  const auto number = [&](int value, int count) {
    std::string bytes(static_cast<std::size_t>(count), '\0');
    bytes[static_cast<std::size_t>(is_little ? 0 : count - 1)] = static_cast<char>(value & 255);
    bytes[static_cast<std::size_t>(is_little ? 1 : count - 2)] = static_cast<char>(value >> 8);
    return bytes;
  };
  const auto entry = [&](int tag, int value) {
    return number(tag, 2) + number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2);
  };
  const std::string exif = std::string("Exif\0\0", 6) + (is_little ? "II" : "MM") + number(42, 2) +
                           number(8, 4) + number(2, 2) + entry(0x0100, 48) + entry(0x0112, orientation) +
                           number(0, 4);
  return jpeg.substr(0, 2) + "\xff\xe1" + std::string(1, '\0') + static_cast<char>(exif.size() + 2) + exif +
         jpeg.substr(2);
}

TEST(Picture, AJpegLiesAsItsExifOrientationSays) {
  Image image(48, 32, 30);
  fill_rectangle(image, 0, 0, 16, 16, 220);
  fill_rectangle(image, 32, 0, 16, 16, 130);
  const std::string jpeg = encoded("jpeg", image);
  // Where the file's first and last corner of its first row belong: top or bottom, left or right.
  const char* const corners[] = {"tl tr", "tr tl", "br bl", "bl br", "tl bl", "tr br", "br tr", "bl tl"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool is_little : {true, false}) {
      const Image upright = decode_image(with_orientation(jpeg, orientation, is_little), "x.jpg");
      ASSERT_EQ(upright.width, orientation < 5 ? 48 : 32) << orientation;
      ASSERT_EQ(upright.height, orientation < 5 ? 32 : 48) << orientation;
      const auto at = [&](const char* corner) {
        return upright.at(corner[1] == 'l' ? 4 : upright.width - 5,
                          corner[0] == 't' ? 4 : upright.height - 5);
      };
      EXPECT_NEAR(at(corners[orientation - 1]), 220, 5) << orientation;
      EXPECT_NEAR(at(corners[orientation - 1] + 3), 130, 5) << orientation;
    }
  }
  // Nonsense in EXIF is no reason to refuse a picture.
  EXPECT_EQ(decode_image(with_orientation(jpeg, 9, true), "x.jpg").pixels,
            decode_image(jpeg, "x.jpg").pixels);
  for (std::size_t k = 6; k < 48; ++k) {
    std::string damaged = with_orientation(jpeg, 6, true);
    damaged[k] = '\xff';
    EXPECT_EQ(message_of(damaged), "no error") << k;
  }
}

TEST(Picture, WhatIsDrawnIntoItLeavesItsColours) {
  std::vector<std::uint8_t> red;
  for (int k = 0; k < 40 * 30; ++k) red.insert(red.end(), {200, 80, 60});
  std::string file;
  stbi_write_png_to_func(append, &file, 40, 30, 3, red.data(), 120);
  const Image gray = decode_image(file, "red.png");
  Image drawn = gray;
  fill_rectangle(drawn, 10, 10, 5, 5, static_cast<std::uint8_t>(gray.at(0, 0) - 50));
  const std::string over = encode_png_over(file, gray, drawn);
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> pixels(
      stbi_load_from_memory(reinterpret_cast<const unsigned char*>(over.data()),
                            static_cast<int>(over.size()), &width, &height, &channels, 3),
      std::free);
  ASSERT_EQ(width, 40);
  ASSERT_EQ(channels, 3);
  const auto at = [&](int x, int y) {
    const unsigned char* pixel = pixels.get() + 3 * (40 * y + x);
    return std::vector<int>(pixel, pixel + 3);
  };
  EXPECT_EQ(at(5, 5), (std::vector<int>{200, 80, 60}));
  EXPECT_EQ(at(12, 12), (std::vector<int>{150, 30, 10}));
  // A picture without colours stays one.
  const std::string plain = encode_png(noise(9, 9, 1));
  EXPECT_EQ(encode_png_over(plain, noise(9, 9, 1), noise(9, 9, 2)), encode_png(noise(9, 9, 2)));
  const std::string graymap = encoded("pgm", noise(9, 9, 1));
  EXPECT_EQ(encode_png_over(graymap, noise(9, 9, 1), noise(9, 9, 2)), encode_png(noise(9, 9, 2)));
}

TEST(Picture, MutatedFilesAreReadOrRefused) {
  Random random(5);
  for (const char* format : {"png", "jpeg", "exif", "bmp", "pgm"}) {
    const bool exif = std::string_view(format) == "exif";
    const std::string plain = encoded(exif ? "jpeg" : format, noise(24, 24, 4));
    const std::string whole = exif ? with_orientation(plain, 6, false) : plain;
    for (int round = 0; round < 2000; ++round) {
      std::string bytes = whole;
      for (std::uint32_t changes = 1 + random.below(4); changes > 0; --changes)
        bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<char>(random.below(256));
      EXPECT_THAT(message_of(bytes), testing::AnyOf("no error", HasSubstr("x.png: error: ")));
    }
  }
}

TEST(Resize, KeepsTheMeanAndTheSimpleCases) {
  const Image image = noise(60, 40, 3);
  EXPECT_EQ(resize(image, 60, 40).pixels, image.pixels);
  EXPECT_NEAR(mean(resize(image, 30, 20)), mean(image), 1);
  EXPECT_NEAR(mean(resize(image, 17, 13)), mean(image), 1);
  EXPECT_NEAR(mean(resize(image, 111, 99)), mean(image), 3);
  Image two(2, 2);
  two.pixels = {0, 100, 200, 100};
  EXPECT_EQ(resize(two, 1, 1).pixels[0], 100);
  EXPECT_EQ(resize(Image(3, 5, 77), 11, 2).pixels, std::vector<std::uint8_t>(22, 77));
}

TEST(Drawing, StaysInsideAndHitsItsPixels) {
  Image image(20, 20);
  fill_rectangle(image, -5, 18, 10, 10, 9);
  EXPECT_EQ(image.at(4, 19), 9);
  EXPECT_EQ(image.at(5, 19), 0);
  EXPECT_EQ(image.at(4, 17), 0);
  draw_line(image, -10, 5, 30, 5, 2, 255);
  EXPECT_EQ(image.at(0, 4), 255);
  EXPECT_EQ(image.at(19, 5), 255);
  EXPECT_EQ(image.at(10, 8), 0);
  paste(image, Image(6, 6, 50), 17, -3);
  EXPECT_EQ(image.at(19, 2), 50);
  EXPECT_EQ(image.at(16, 2), 0);
  const Image piece = crop(image, 17, 1, 3, 5);
  EXPECT_EQ(piece.at(0, 0), 50);
  EXPECT_EQ(piece.at(2, 4), 255);
  EXPECT_THROW(crop(image, 18, 0, 3, 1), ContractError);
}

TEST(TerminalPicture, HasTheAskedWidthAndTheRightShades) {
  Image image(40, 40);
  fill_rectangle(image, 20, 0, 20, 40, 255);
  const std::string plain = terminal_picture(image, 10, false);
  EXPECT_EQ(plain, "     @@@@@\n     @@@@@\n     @@@@@\n     @@@@@\n     @@@@@\n");
  const std::string coloured = terminal_picture(image, 10, true);
  EXPECT_EQ(std::count(coloured.begin(), coloured.end(), '\n'), 5);
  EXPECT_THAT(coloured, HasSubstr("\x1b[38;5;232;48;5;232m\u2580"));
  EXPECT_THAT(coloured, HasSubstr("\x1b[38;5;255;48;5;255m\u2580"));
  EXPECT_THAT(coloured, HasSubstr("\x1b[0m\n"));
}

}  // namespace
}  // namespace as2::formats
