#include "formats/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "as2/error.h"
#include "files.h"
#include "random.h"
#include "support/temporary_folder.h"

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

TEST(Png, ReadsColourAndGraymaps) {
  // A binary PGM and a PPM by hand: pure green is bright, pure blue is dark.
  EXPECT_EQ(decode_image("P5 2 1 255\n" + std::string("\x10\xf0"), "a.pgm").pixels,
            (std::vector<std::uint8_t>{0x10, 0xf0}));
  const std::string colours("P6 2 1 255\n\x00\xff\x00\x00\x00\xff", 17);
  const Image gray = decode_image(colours, "a.ppm");
  EXPECT_GT(gray.pixels.at(0), gray.pixels.at(1));
}

TEST(Png, NamesWhatCannotBeRead) {
  const auto message = [](const std::string& bytes) -> std::string {
    try {
      decode_image(bytes, "x.png");
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string whole = encode_png(noise(64, 64, 2));
  EXPECT_THAT(message("hello"), HasSubstr("x.png: error: not an image that can be read"));
  EXPECT_THAT(message(""), HasSubstr("x.png: error: "));
  EXPECT_THAT(message(whole.substr(0, whole.size() / 2)), HasSubstr("x.png: error: "));
  EXPECT_THAT(message(std::string("P5 900000 900000 255\n")), HasSubstr("x.png: error: "));
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
