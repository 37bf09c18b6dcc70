#include "vision/find_board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "as2/error.h"
#include "vision/cells.h"
#include "vision/page.h"
#include "vision/photo.h"

namespace as2::vision {
namespace {

std::vector<CellContent> some_clues(int side, Random& random) {
  std::vector<CellContent> contents(static_cast<std::size_t>(side * side));
  for (CellContent& content : contents) {
    if (random.unit() < 0.4) content = {CellContent::kPrinted, random.between(1, std::min(9, side))};
  }
  return contents;
}

// What is left of a page whose corner is torn off: all before the diagonal of the last cell.
bool is_left(double u, double v, int side) {
  return u + v < 2 * side - 1.01;
}

// The largest distance between crossings in cells, under the turn that fits best.
double distance(Lattice found, const Lattice& truth, bool is_torn = false) {
  double best = 1e9;
  for (int turn = 0; turn < 4; ++turn) {
    double most = 0;
    for (std::size_t k = 0; k < truth.crossings.size(); ++k) {
      const auto across = static_cast<std::size_t>(truth.side + 1);
      if (is_torn && !is_left(static_cast<double>(k % across), static_cast<double>(k / across), truth.side))
        continue;
      const Point d = found.crossings[k] - truth.crossings[k];
      most = std::max(most, std::sqrt(dot(d, d)) / truth.pitch());
    }
    best = std::min(best, most);
    found = found.turned();
  }
  return best;
}

// Draws around the board what newspapers have there: a frame, and lines of text between it and the board.
void print_around(Page& page) {
  const Quad corners = page.lattice.corners();
  const double side = page.lattice.side;
  const Homography map = Homography::of_square(side, corners);
  const auto line = [&](double u, double v, double to_u, double to_v, double width) {
    const Point a = map({u, v}), b = map({to_u, to_v});
    formats::draw_line(page.picture, a.x, a.y, b.x, b.y, width * page.lattice.pitch(), 30);
  };
  const double near = -2.5, far = side + 2.5;
  for (const auto& [u, v, to_u, to_v] : {std::array{near, near, far, near},
                                         {far, near, far, far},
                                         {far, far, near, far},
                                         {near, far, near, near}})
    line(u, v, to_u, to_v, 0.08);
  Random random(8);
  for (const double v : {-1.9, -1.2, side + 1.2, side + 1.9}) {
    for (double u = -2; u < side + 2; u += 0.1 + 0.2 * random.unit())
      line(u, v - 0.2 * random.unit(), u, v + 0.2 * random.unit(), 0.06);
  }
}

// Sets yesterday's board, half as large, to the right of the page.
void add_small_board(Page& page) {
  Random random(6);
  PageOptions options;
  options.pitch = page.lattice.pitch() / 2;
  const Page small = draw_page(some_clues(9, random), options, {}, random);
  formats::Image both(page.picture.width + small.picture.width, page.picture.height, 220);
  formats::paste(both, page.picture, 0, 0);
  formats::paste(both, small.picture, page.picture.width, 0);
  page.picture = both;
}

// What is not left becomes table.
void tear_corner(Page& page) {
  const Homography back = Homography::of_square(page.lattice.side, page.lattice.corners()).inverse();
  for (int y = 0; y < page.picture.height; ++y) {
    for (int x = 0; x < page.picture.width; ++x) {
      const Point p = back({x + 0.5, y + 0.5});
      if (!is_left(p.x, p.y, page.lattice.side)) page.picture.at(x, y) = 70;
    }
  }
}

struct Way {
  const char* name;
  PageOptions options;
  std::function<void(Page&)> spoil = [](Page&) {};
  bool is_torn = false;
};

std::vector<Way> ways() {
  std::vector<Way> list;
  const auto add = [&](
                       const char* name, auto change, std::function<void(Page&)> spoil = [](Page&) {}) {
    list.push_back({name, {}, std::move(spoil)});
    list.back().options.pitch = 30;
    change(list.back().options);
  };
  add("plain", [](PageOptions&) {});
  add("turned by 7 degrees", [](PageOptions& o) { o.turn = 0.12; });
  add("turned by 45 degrees", [](PageOptions& o) { o.turn = 0.785; });
  add("turned by 200 degrees", [](PageOptions& o) { o.turn = 3.49; });
  add("askance by 40 degrees", [](PageOptions& o) { o.tilt = 0.698, o.tilt_towards = 0.5; });
  add("askance and turned", [](PageOptions& o) { o.tilt = 0.6, o.tilt_towards = 2, o.turn = 1; });
  add("bent", [](PageOptions& o) { o.bend = 0.4; });
  add("uneven light", [](PageOptions& o) { o.light_lost = 0.8, o.light_from = 1; });
  add("a shadow's edge", [](PageOptions& o) { o.shadow = 0.5; });
  add("light on dark", [](PageOptions& o) { o.dark_ink = false, o.turn = 0.3; });
  add("blurred, noisy, packed",
      [](PageOptions& o) { o.blur = 1.6, o.noise = 6, o.jpeg = 40, o.turn = -0.1; });
  add("pale lines", [](PageOptions& o) { o.line_ink = 0.4, o.turn = 0.05; });
  add("small", [](PageOptions& o) { o.pitch = 18, o.turn = 0.1; });
  add("large", [](PageOptions& o) { o.pitch = 150, o.turn = 0.1; });
  add("4 x 4", [](PageOptions& o) { o.side = 4, o.pitch = 60, o.turn = 0.4; });
  add("16 x 16", [](PageOptions& o) { o.side = 16, o.pitch = 30, o.turn = 0.2; });
  add(
      "in a frame with text", [](PageOptions& o) { o.margin = 3.5, o.turn = 0.1; }, print_around);
  add(
      "beside a smaller board", [](PageOptions&) {}, add_small_board);
  add(
      "a corner torn off", [](PageOptions& o) { o.turn = 0.2, o.tilt = 0.2; }, tear_corner);
  list.back().is_torn = true;
  return list;
}

TEST(FindBoard, FindsEveryCrossingHoweverTheSheetLies) {
  for (const Way& way : ways()) {
    Random random(7);
    Page page = draw_page(some_clues(way.options.side, random), way.options, {}, random);
    way.spoil(page);
    const auto found = find_board(page.picture, way.options.side);
    ASSERT_TRUE(found) << way.name;
    EXPECT_EQ(found->dark_ink, way.options.dark_ink) << way.name;
    EXPECT_GT(found->support.score(), kEnoughSupport) << way.name;
    EXPECT_EQ(found->others, 0) << way.name;
    EXPECT_LT(distance(found->lattice, page.lattice, way.is_torn), 0.12) << way.name;
  }
}

TEST(FindBoard, SeesNoBoardInNoiseOrInAnotherGrid) {
  Random random(3);
  formats::Image noise(400, 300);
  for (std::uint8_t& pixel : noise.pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  const auto in_noise = find_board(noise, 9);
  EXPECT_TRUE(!in_noise || in_noise->support.score() < kEnoughSupport);
  PageOptions options;
  options.side = 4;
  options.pitch = 70;
  const Page small = draw_page(std::vector<CellContent>(16), options, {}, random);
  const auto in_another = find_board(small.picture, 9);
  EXPECT_TRUE(!in_another || in_another->support.score() < kEnoughSupport);
}

TEST(Lattice, TurnsFourTimesIntoItselfAndMapsBack) {
  const Quad quad{Point{10, 20}, Point{200, 40}, Point{220, 260}, Point{5, 230}};
  const Lattice lattice = Lattice::of(quad, 9);
  Lattice turned = lattice;
  for (int turn = 0; turn < 4; ++turn) turned = turned.turned();
  for (std::size_t k = 0; k < lattice.crossings.size(); ++k) {
    EXPECT_DOUBLE_EQ(turned.crossings[k].x, lattice.crossings[k].x);
    EXPECT_DOUBLE_EQ(turned.crossings[k].y, lattice.crossings[k].y);
  }
  EXPECT_NEAR(lattice.turned().node(0, 0).x, 200, 1e-9) << "what was the second corner comes first";
  const Homography map = Homography::of_square(9, quad), back = map.inverse();
  const Point there = map({3, 7}), again = back(there);
  EXPECT_NEAR(again.x, 3, 1e-9);
  EXPECT_NEAR(again.y, 7, 1e-9);
}

TEST(CutCells, ShowTheirInkUprightAndBlankCellsPale) {
  Random random(5);
  PageOptions options;
  options.turn = 0.5;
  options.light_lost = 0.5;
  std::vector<CellContent> contents(81);
  for (std::size_t k = 0; k < 81; k += 3) contents[k] = {CellContent::kPrinted, 7};
  const Page page = draw_page(contents, options, {}, random);
  const auto cells = cut_cells(page.picture, page.lattice, true);
  ASSERT_EQ(cells.size(), 81u);
  for (std::size_t k = 0; k < 81; ++k) {
    const int most = *std::max_element(cells[k].pixels.begin(), cells[k].pixels.end());
    if (contents[k].kind == CellContent::kBlank) {
      EXPECT_LT(cells[k].at(14, 14), 60) << k;
      continue;
    }
    EXPECT_GT(most, 180) << k;
    // A seven's bar is above, its foot to the left of the bar's right end.
    int top = 0, bottom = 0;
    for (int y = 0; y < 28; ++y) {
      for (int x = 4; x < 24; ++x) {
        if (y >= 4 && y < 10) top += cells[k].at(x, y);
        if (y >= 18 && y < 24) bottom += cells[k].at(x, y);
      }
    }
    EXPECT_GT(top, bottom) << k;
  }
  formats::Image corner(28, 28);
  corner.at(27, 0) = 9;
  EXPECT_EQ(turned(corner).at(0, 0), 9) << "what was at the right comes to the left end of the top";
}

TEST(PiecesOf, AreTheDigitsOfANumber) {
  const auto pieces = [](int number, const CellPlace& place) {
    formats::Image cell(56, 56);
    draw_number(cell, number, place, 4, 220);
    return pieces_of(cell, 2);
  };
  const auto three = [](std::size_t most) {
    formats::Image cell(56, 56);
    draw_number(cell, 123, {3, 14, 50, 28}, 1.5, 220);
    return pieces_of(cell, most).pictures.size();
  };
  const CellPlace narrow{20, 14, 16, 28}, wide{10, 14, 36, 28};
  for (int digit = 0; digit < 10; ++digit) EXPECT_EQ(pieces(digit, narrow).pictures.size(), 0U) << digit;
  for (int number = 10; number < 100; ++number) {
    const Pieces found = pieces(number, wide);
    ASSERT_EQ(found.pictures.size(), 2U) << number;
    EXPECT_GT(found.belief, 0.4) << number;
    for (const formats::Image& piece : found.pictures) {
      EXPECT_EQ(piece.width, kCellSide);
      int left = 0, right = 0;
      for (int y = 0; y < kCellSide; ++y) {
        for (int x = 0; x < kCellSide; ++x) (x < kCellSide / 2 ? left : right) += piece.at(x, y);
      }
      EXPECT_GT(left + right, 5000) << number;
    }
  }
  EXPECT_EQ(three(2), 0U) << "more than a number has";
  EXPECT_EQ(three(3), 3U);
}

TEST(ReadPhoto, RefusesTwoBoardsAndReadsALargePhotoSmaller) {
  Random random(9);
  PageOptions options;
  options.turn = 0.06;
  const Page page = draw_page(some_clues(9, random), options, {}, random);
  formats::Image two(2 * page.picture.width, page.picture.height, 200);
  formats::paste(two, page.picture, 0, 0);
  formats::paste(two, page.picture, page.picture.width, 0);
  DebugPictures seen;
  try {
    read_photo(two, "two.jpg", 9, &seen);
    FAIL() << "two boards are not one";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("more than one board"), std::string::npos) << error.what();
  }
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].first, "picture");
  EXPECT_EQ(seen[1].first, "ink");
  EXPECT_EQ(seen[2].first, "grid");
  options.pitch = 400;
  const Page large = draw_page(some_clues(9, random), options, {}, random);
  const Photo photo = read_photo(large.picture, "large.jpg", 9);
  EXPECT_LE(photo.picture.width, 2000);
  EXPECT_LT(distance(photo.lattice.scaled(photo.shrunk), large.lattice), 0.1);
}

TEST(ReadPhoto, RefusesALargePhotoByTheSizeOfItsFile) {
  try {
    read_photo(formats::Image(20001, 3, 200), "wide.png", 9);
    FAIL() << "three pixels are no board";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("a picture of 20001x3 pixels"), std::string::npos)
        << error.what();
  }
}

TEST(DrawNumber, HasEveryNumber) {
  std::set<std::vector<std::uint8_t>> pictures;
  for (int number = 0; number < 120; ++number) {
    formats::Image image(40, 40);
    draw_number(image, number, {4, 4, 32, 32}, 2, 255);
    EXPECT_TRUE(pictures.insert(image.pixels).second) << number;
    for (int y = 0; y < 40; ++y) EXPECT_EQ(image.at(1, y) + image.at(38, y), 0) << number;
  }
}

TEST(DrawAnswer, WritesAsTheSheetLies) {
  Random random(2);
  PageOptions options;
  options.turn = 0.8;
  const Page page = draw_page(std::vector<CellContent>(81), options, {}, random);
  std::vector<bool> blank(81, false);
  blank[40] = true;
  const formats::Image drawn = draw_answer(page.picture, page.lattice, blank, sudoku::Grid(81, 1), true);
  const Point middle = page.lattice.at(4.5, 4.5);
  int changed = 0;
  for (int y = 0; y < drawn.height; ++y) {
    for (int x = 0; x < drawn.width; ++x) {
      if (drawn.at(x, y) == page.picture.at(x, y)) continue;
      ++changed;
      const Point d = Point{x + 0.5, y + 0.5} - middle;
      EXPECT_LT(std::sqrt(dot(d, d)), 0.5 * page.lattice.pitch());
    }
  }
  EXPECT_GT(changed, 30);
  // A one's stem runs down the sheet, not down the picture.
  const Point low = page.lattice.at(4.5, 4.7);
  EXPECT_LT(sample(drawn, low), 150);
}

}  // namespace
}  // namespace as2::vision
