// What becomes of a user's picture, whatever its shades: paper 0, ink above it.
#include "infer/pictures.h"

#include <gtest/gtest.h>

#include "formats/image.h"
#include "support/temporary_folder.h"

namespace as2::infer {
namespace {

constexpr int kSide = 28;

std::vector<std::uint8_t> as_read(const formats::Image& image) {
  const test::TemporaryFolder folder;
  formats::write_png(folder / "a.png", image);
  return read_picture(folder / "a.png");
}

// A square in the middle, this far from each side.
formats::Image drawn(std::uint8_t paper, std::uint8_t ink, int margin) {
  formats::Image image(kSide, kSide, paper);
  formats::fill_rectangle(image, margin, margin, kSide - 2 * margin, kSide - 2 * margin, ink);
  return image;
}

TEST(ReadPicture, BlankPaperOfAnyShadeHasNoInk) {
  for (const int paper : {0, 31, 32, 100, 127, 128, 160, 200, 240, 255})
    EXPECT_FALSE(has_ink(as_read(formats::Image(kSide, kSide, static_cast<std::uint8_t>(paper))))) << paper;
  formats::Image grain(kSide, kSide, 190);
  for (std::size_t k = 0; k < grain.pixels.size(); ++k)
    grain.pixels[k] = static_cast<std::uint8_t>(180 + 7 * k % 20);
  EXPECT_FALSE(has_ink(as_read(grain)));
}

// However much of the picture the strokes cover, and however light the paper is.
TEST(ReadPicture, PaperIsTheShadeOfTheMargin) {
  const std::pair<int, int> shades[] = {{255, 0}, {0, 255}, {200, 40}, {120, 10}, {60, 200}, {180, 255}};
  for (const auto& [paper, ink] : shades) {
    for (const int margin : {3, 8, 13}) {
      const std::vector<std::uint8_t> read =
          as_read(drawn(static_cast<std::uint8_t>(paper), static_cast<std::uint8_t>(ink), margin));
      EXPECT_EQ(read[0], 0) << paper << " " << ink << " " << margin;
      EXPECT_EQ(read[kSide * kSide / 2 + kSide / 2], std::abs(paper - ink))
          << paper << " " << ink << " " << margin;
    }
  }
}

// One pixel in 300, and the paper's shade falls off towards one side.
TEST(ReadPicture, AThinStrokeOutweighsAShadow) {
  formats::Image image(kSide, kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) image.at(x, y) = static_cast<std::uint8_t>(230 - x);
  }
  formats::fill_rectangle(image, 13, 12, 1, 3, 10);
  const std::vector<std::uint8_t> read = as_read(image);
  EXPECT_GT(read[13 * kSide + 13], 180);
  EXPECT_LT(read[13 * kSide + 10], 32);
  EXPECT_LT(read[13 * kSide + 1], 32);
}

// A box drawn around a digit, as forms have it, is not the paper.
TEST(ReadPicture, AFrameIsInk) {
  formats::Image image = drawn(0, 255, 1);
  formats::fill_rectangle(image, 12, 8, 4, 12, 0);
  const std::vector<std::uint8_t> read = as_read(image);
  EXPECT_EQ(read[0], 255);
  EXPECT_EQ(read[5 * kSide + 5], 0);
  EXPECT_EQ(read[14 * kSide + 14], 255);
}

// Pictures as MNIST has them stay as they are.
TEST(ReadPicture, InkOnBlackStaysAsItIs) {
  formats::Image image(kSide, kSide);
  for (int k = 0; k < 200; ++k) image.at(6 + k % 16, 6 + k / 16) = static_cast<std::uint8_t>(k + 56);
  EXPECT_EQ(as_read(image), image.pixels);
  formats::Image turned = image;
  for (std::uint8_t& pixel : turned.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  EXPECT_EQ(as_read(turned), image.pixels);
}

}  // namespace
}  // namespace as2::infer
