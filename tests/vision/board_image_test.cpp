#include "vision/board_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "as2/error.h"
#include "datasets/real_mnist.h"
#include "sudoku/board_list.h"
#include "sudoku/render.h"
#include "vision/board_pictures.h"

namespace as2::vision {
namespace {

using test::picture_of;
using test::PictureOptions;
using testing::AllOf;
using testing::HasSubstr;

formats::Image drawn(int digit) {
  if (digit == 0) return {};
  formats::Image image(60, 60);
  draw_number(image, digit, {16, 6, 28, 48}, 6, 255);
  return image;
}

std::string error_of(const formats::Image& picture) {
  try {
    const BoardReading reading = read_board(picture, "p.png");
    return "no error: " + reading.saw;
  } catch (const InputError& error) {
    return error.what();
  }
}

// Correlation of two images.
double likeness(const formats::Image& a, const formats::Image& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t k = 0; k < a.pixels.size(); ++k) {
    ab += double(a.pixels[k]) * b.pixels[k];
    aa += double(a.pixels[k]) * a.pixels[k];
    bb += double(b.pixels[k]) * b.pixels[k];
  }
  return ab / std::sqrt(aa * bb + 1e-9);
}

// Every way of taking a picture that has to work.
std::vector<std::pair<std::string, PictureOptions>> ways() {
  std::vector<std::pair<std::string, PictureOptions>> list;
  const auto add = [&](const std::string& name, const std::function<void(PictureOptions&)>& change) {
    list.emplace_back(name, PictureOptions{});
    change(list.back().second);
  };
  add("plain", [](PictureOptions&) {});
  add("reverse", [](PictureOptions& o) { o.dark_ink = false; });
  add("smallest",
      [](PictureOptions& o) { o.size = 200, o.margin = 0, o.thin = 1, o.thick = 2, o.digit_size = 0.85; });
  add("smallest, reverse", [](PictureOptions& o) {
    o.size = 196, o.margin = 4, o.thin = 1, o.thick = 1, o.dark_ink = false, o.digit_size = 0.85;
  });
  add("large", [](PictureOptions& o) { o.size = 1900, o.margin = 40, o.thin = 3, o.thick = 9; });
  add("largest", [](PictureOptions& o) { o.size = 3900, o.margin = 50, o.thin = 6, o.thick = 14; });
  add("hair lines", [](PictureOptions& o) { o.size = 1200, o.thin = 1, o.thick = 1; });
  add("thick lines", [](PictureOptions& o) { o.thin = 6, o.thick = 12; });
  add("lines of one width", [](PictureOptions& o) { o.thin = o.thick = 3; });
  add("pale thin lines", [](PictureOptions& o) { o.line_gray = 150; });
  add("lines of boxes only", [](PictureOptions& o) { o.thin = 0; });
  add("no frame, no margin", [](PictureOptions& o) { o.frame = false, o.margin = 0; });
  add("frame, no margin", [](PictureOptions& o) { o.margin = 0; });
  add("wide margin", [](PictureOptions& o) { o.margin = 90; });
  add("gray paper, gray ink", [](PictureOptions& o) { o.paper = 190, o.ink = 90; });
  add("noise", [](PictureOptions& o) { o.paper = 220, o.ink = 40, o.noise = 25; });
  add("noise, reverse",
      [](PictureOptions& o) { o.paper = 220, o.ink = 40, o.noise = 25, o.dark_ink = false; });
  add("shadow", [](PictureOptions& o) { o.shadow = 120, o.ink = 20; });
  add("hardly tilted", [](PictureOptions& o) { o.tilt = 0.004; });
  add("small digits", [](PictureOptions& o) { o.digit_size = 0.5, o.size = 900; });
  add("digits that fill the cell", [](PictureOptions& o) { o.digit_size = 0.95; });
  return list;
}

void expect_read(const formats::Image& picture, const sudoku::Grid& puzzle, const std::string& way,
                 const std::function<formats::Image(int)>& expected, double least, double least_mean) {
  BoardReading reading;
  try {
    reading = read_board(picture, way);
  } catch (const InputError& error) {
    FAIL() << error.what();
  }
  ASSERT_EQ(reading.cells.size(), puzzle.size());
  double sum = 0, worst = 1;
  int clues = 0;
  for (std::size_t k = 0; k < puzzle.size(); ++k) {
    ASSERT_EQ(reading.blank[k], puzzle[k] == 0) << way << ", cell " << k;
    ASSERT_EQ(reading.cells[k].width, 28);
    if (puzzle[k] == 0) continue;
    const double like = likeness(reading.cells[k], expected(static_cast<int>(k)));
    sum += like;
    worst = std::min(worst, like);
    ++clues;
  }
  EXPECT_GT(worst, least) << way;
  EXPECT_GT(sum / clues, least_mean) << way;
}

TEST(BoardImage, ReadsDrawnDigitsInEveryKindOfPicture) {
  const sudoku::Grid puzzle = sudoku::generate({3, 28, 40, 1}, 3).puzzle;
  std::vector<formats::Image> patterns(10);
  for (int digit = 1; digit <= 9; ++digit) patterns[digit] = normalised_digit(drawn(digit), 60);
  for (const auto& [way, options] : ways()) {
    const formats::Image picture = picture_of(options, 9, [&](int cell) { return drawn(puzzle[cell]); });
    expect_read(
        picture, puzzle, way, [&](int cell) { return patterns[puzzle[cell]]; }, 0.7, 0.85);
  }
}

TEST(BoardImage, TellsDrawnDigitsApart) {
  const sudoku::Grid puzzle = sudoku::generate({3, 40, 40, 1}, 5).puzzle;
  std::vector<formats::Image> patterns(10);
  for (int digit = 1; digit <= 9; ++digit) patterns[digit] = normalised_digit(drawn(digit), 60);
  const BoardReading reading =
      read_board(picture_of({}, 9, [&](int cell) { return drawn(puzzle[cell]); }), "p.png");
  for (int cell = 0; cell < 81; ++cell) {
    if (puzzle[cell] == 0) continue;
    int best = 1;
    for (int digit = 2; digit <= 9; ++digit) {
      if (likeness(reading.cells[cell], patterns[digit]) > likeness(reading.cells[cell], patterns[best]))
        best = digit;
    }
    EXPECT_EQ(best, puzzle[cell]);
  }
}

TEST(BoardImage, ReadsOtherSizesOfBoards) {
  const sudoku::Grid puzzle = sudoku::generate({2, 6, 6, 1}, 0).puzzle;
  const formats::Image picture = picture_of({}, 4, [&](int cell) { return drawn(puzzle[cell]); });
  const BoardReading reading = read_board(picture, "p.png", 4);
  for (int cell = 0; cell < 16; ++cell) EXPECT_EQ(reading.blank[cell], puzzle[cell] == 0);
  EXPECT_THAT(error_of(picture),
              AllOf(HasSubstr("p.png: error: not a board"), HasSubstr("5 horizontal and 5 vertical")));
}

TEST(BoardImage, SaysWhyItCannotRead) {
  EXPECT_THAT(error_of(formats::Image(300, 300, 255)),
              HasSubstr("p.png: error: unreadable: saw a picture of 300x300 with 0 gray"));
  EXPECT_THAT(error_of(formats::Image(100, 300, 255)), HasSubstr("a picture of 100x300 pixels"));
  EXPECT_THAT(error_of(formats::Image(4100, 300, 255)), HasSubstr("200 to 4,000 pixels"));
  EXPECT_THAT(error_of(formats::Image()), HasSubstr("a picture of 0x0 pixels"));

  const auto blank = [](int) { return formats::Image(); };
  EXPECT_THAT(error_of(picture_of({}, 9, blank)),
              AllOf(HasSubstr("unreadable"), HasSubstr("0 of 81 cells filled")));
  PictureOptions pale;
  pale.ink = pale.paper - 10;
  EXPECT_THAT(error_of(picture_of(pale, 9, blank)), HasSubstr("unreadable"));

  formats::Image noise(400, 400);
  Random random(4);
  for (auto& pixel : noise.pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  EXPECT_THAT(error_of(noise), HasSubstr("error: "));
  formats::Image word(400, 300, 255);
  for (int k = 0; k < 4; ++k) draw_number(word, k + 2, {40 + 90 * k, 80, 60, 120}, 8, 0);
  EXPECT_THAT(error_of(word),
              AllOf(HasSubstr("not a board"), HasSubstr("400x300"), HasSubstr("dark ink on light paper"),
                    HasSubstr("lying as it may"), testing::Not(HasSubstr("straight"))));
  formats::Image frame(400, 400, 255);
  formats::fill_rectangle(frame, 20, 20, 360, 360, 0);
  formats::fill_rectangle(frame, 24, 24, 352, 352, 255);
  EXPECT_THAT(error_of(frame),
              AllOf(HasSubstr("not a board"), HasSubstr("2 horizontal and 2 vertical lines")));
  formats::Image blob =
      picture_of({}, 9, [](int cell) { return cell == 40 ? formats::Image(60, 60, 255) : formats::Image(); });
  formats::fill_rectangle(blob, 20 + 268, 20 + 268, 64, 64, 0);
  EXPECT_THAT(error_of(blob), AllOf(HasSubstr("unreadable"), HasSubstr("row 5, column 5")));
}

TEST(BoardImage, NoticesTwoBoards) {
  const sudoku::Grid puzzle = sudoku::generate({3, 30, 30, 1}, 0).puzzle;
  PictureOptions options;
  options.size = 360;
  const formats::Image one = picture_of(options, 9, [&](int cell) { return drawn(puzzle[cell]); });
  for (const bool below : {false, true}) {
    for (const int gap : {60, 0, -40}) {  // apart, margins touching, sharing a frame
      const int offset = one.width + gap;
      formats::Image both(below ? one.width : one.width + offset, below ? one.height + offset : one.height,
                          255);
      formats::paste(both, one, 0, 0);
      // The margin of the second would cut off the first's frame.
      const formats::Image second =
          formats::crop(one, below ? 0 : 18, below ? 18 : 0, below ? one.width : one.width - 18,
                        below ? one.height - 18 : one.height);
      formats::paste(both, second, below ? 0 : offset + 18, below ? offset + 18 : 0);
      EXPECT_THAT(error_of(both), HasSubstr("more than one board")) << below << gap;
    }
  }
}

TEST(BoardImage, GivesDebugPicturesEvenWhenItFails) {
  DebugPictures debug;
  EXPECT_THROW(read_board(picture_of({}, 9, [](int) { return formats::Image(); }), "p.png", 9, &debug),
               InputError);
  std::vector<std::string> names;
  for (const auto& [name, image] : debug) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("picture", "ink", "grid", "cells"));
}

// So little ink that most measures of the whole picture see none.
TEST(BoardImage, ReadsOneClueOnABoardWithoutLines) {
  for (const bool dark : {false, true}) {
    for (int clues = 1; clues <= 9; ++clues) {
      formats::Image picture(252, 252);
      std::vector<bool> blank(81, true);
      for (int k = 0; k < (clues + 2) / 3; ++k) {
        const int cell = 17 * k + clues;
        blank[static_cast<std::size_t>(cell)] = false;
        draw_number(picture, (clues + k) % 9 + 1, {28 * (cell % 9) + 8, 28 * (cell / 9) + 5, 12, 18}, 2.5,
                    255);
      }
      if (dark) {
        for (auto& pixel : picture.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
      }
      const BoardReading reading = read_board(picture, "p.png");
      EXPECT_FALSE(reading.lines);
      EXPECT_EQ(reading.dark_ink, dark);
      EXPECT_EQ(reading.blank, blank) << clues;
    }
  }
}

// However bright: what remains of a line along a cell's border, a dash and a dot are no digits.
TEST(BoardImage, RemnantsAndDashesOnABoardWithoutLinesAreBlank) {
  formats::Image picture(252, 252);
  std::vector<bool> blank(81, true);
  blank[40] = false;
  draw_number(picture, 5, {4 * 28 + 8, 4 * 28 + 5, 12, 18}, 2.5, 255);
  formats::fill_rectangle(picture, 0, 28, 3, 28, 255);           // along the left border of cell 9
  formats::fill_rectangle(picture, 2 * 28 - 3, 28, 3, 28, 255);  // and the right one of cell 10
  formats::fill_rectangle(picture, 5 * 28 + 6, 40, 16, 3, 255);  // a dash in cell 14
  formats::fill_rectangle(picture, 7 * 28 + 12, 40, 4, 4, 255);  // a dot in cell 16
  const BoardReading reading = read_board(picture, "p.png");
  EXPECT_FALSE(reading.lines);
  EXPECT_EQ(reading.blank, blank);
}

TEST(BoardImage, ReadsThePapersBoardsAsTheyAre) {
  AS2_NEED_MNIST();
  const datasets::Digits& digits = test::real_mnist().mnist->test;
  const auto by_label = datasets::indices_by_label(digits);
  Random random(3);
  for (int k = 0; k < 40; ++k) {
    const sudoku::Grid puzzle = sudoku::generate({3, 17 + k, 24 + k, 1}, k).puzzle;
    const sudoku::CellImages cells = sudoku::choose_images(puzzle, by_label, random);
    formats::Image picture = sudoku::render_board(cells, digits);
    const bool dark = k % 2;
    if (dark) {
      for (auto& pixel : picture.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
    }
    const BoardReading reading = read_board(picture, "p.png");
    EXPECT_FALSE(reading.lines);
    EXPECT_EQ(reading.dark_ink, dark);
    for (int cell = 0; cell < 81; ++cell) {
      ASSERT_EQ(reading.blank[cell], puzzle[cell] == 0);
      if (puzzle[cell] == 0) continue;
      const std::uint8_t* expected = digits.image(static_cast<std::size_t>(cells[cell]));
      ASSERT_TRUE(
          std::equal(expected, expected + datasets::kDigitPixels, reading.cells[cell].pixels.begin()));
    }
  }
}

TEST(BoardImage, GivesMnistDigitsBackFromDrawnGrids) {
  AS2_NEED_MNIST();
  const datasets::Digits& digits = test::real_mnist().mnist->test;
  const auto by_label = datasets::indices_by_label(digits);
  Random random(7);
  int number = 0;
  for (const auto& [way, options] : ways()) {
    const sudoku::Grid puzzle = sudoku::generate({3, 25, 45, 2}, number++).puzzle;
    const sudoku::CellImages cells = sudoku::choose_images(puzzle, by_label, random);
    const auto digit = [&](int cell) {
      formats::Image image;
      if (cells[cell] != sudoku::kBlank) {
        image = formats::Image(28, 28);
        std::copy_n(digits.image(static_cast<std::size_t>(cells[cell])), datasets::kDigitPixels,
                    image.pixels.begin());
      }
      return image;
    };
    expect_read(picture_of(options, 9, digit), puzzle, way, digit, 0.5, 0.85);
  }
}

TEST(BoardImage, ReadsRandomMixturesOfFlaws) {
  for (int k = 0; k < 40; ++k) {
    Random random(99, k);
    PictureOptions o;
    o.size = random.between(200, 600);
    o.margin = random.between(0, o.size / 8);
    o.thin = std::max(1.0, o.size / 600.0 * (0.5 + 4 * random.unit()));
    o.thick = o.thin * (1 + 2 * random.unit());
    o.dark_ink = random.below(2) == 1;
    o.paper = random.between(150, 255);
    o.ink = random.between(0, o.paper - 90);
    o.line_gray = random.below(3) == 0 ? random.between(0, 170) : 0;
    o.noise = random.unit() * 0.12 * (o.paper - o.ink);
    o.shadow = random.below(3) == 0 ? random.unit() * 0.5 * (o.paper - o.ink) : 0;
    o.tilt = random.below(3) == 0 ? (random.unit() - 0.5) * 0.008 : 0;
    o.digit_size = 0.6 + 0.35 * random.unit();
    const sudoku::Grid puzzle = sudoku::generate({3, 22, 50, 5}, k).puzzle;
    formats::Image picture = picture_of(
        o, 9, [&](int cell) { return drawn(puzzle[cell]); }, k);
    if (k % 2)
      picture = formats::decode_image(formats::encode_jpeg(picture, random.between(40, 90)), "p.jpg");
    try {
      const BoardReading reading = read_board(picture, "p.png");
      for (int cell = 0; cell < 81; ++cell) ASSERT_EQ(reading.blank[cell], puzzle[cell] == 0) << k;
    } catch (const InputError& error) {
      ADD_FAILURE() << k << ": " << error.what();
    }
  }
}

TEST(DrawAnswer, WritesIntoBlankCellsOnly) {
  const sudoku::Board board = sudoku::generate({3, 30, 30, 1}, 0);
  for (const bool dark : {true, false}) {
    PictureOptions options;
    options.dark_ink = dark;
    const formats::Image picture =
        picture_of(options, 9, [&](int cell) { return drawn(board.puzzle[cell]); });
    const BoardReading reading = read_board(picture, "p.png");
    const formats::Image answered = draw_answer(picture, reading, board.solution);
    for (int cell = 0; cell < 81; ++cell) {
      const CellPlace& p = reading.places[cell];
      const formats::Image before = formats::crop(picture, p.x, p.y, p.width, p.height);
      const formats::Image after = formats::crop(answered, p.x, p.y, p.width, p.height);
      EXPECT_EQ(before.pixels == after.pixels, board.puzzle[cell] != 0);
    }
    // The picture with the answer is itself a full board.
    const BoardReading again = read_board(answered, "p.png");
    EXPECT_EQ(std::count(again.blank.begin(), again.blank.end(), true), 0);
  }
}

}  // namespace
}  // namespace as2::vision
