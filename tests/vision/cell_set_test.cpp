#include "vision/symbol_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "as2/error.h"
#include "datasets/real_mnist.h"
#include "support/temporary_folder.h"
#include "support/typefaces.h"

namespace as2::vision {
namespace {

// The typefaces of a machine, as few as it may have.
class WithTypefaces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::put_typefaces(folder_, "fonts")) GTEST_SKIP() << "no DejaVuSans.ttf (fonts-dejavu-core)";
    found_ = find_typefaces(folder_ / "fonts");
  }
  const test::TemporaryFolder folder_;
  std::vector<Family> found_;
};
using Typefaces = WithTypefaces;
using CellSets = WithTypefaces;
using SymbolSets = WithTypefaces;

TEST(NoTypefaces, AFolderWithoutThemIsRefused) {
  const test::TemporaryFolder folder;
  folder.put("broken.ttf", std::string(200, 'x'));
  EXPECT_THROW(find_typefaces(folder.str()), InputError);
  EXPECT_THROW(find_typefaces(folder / "nowhere"), InputError);
}

TEST_F(Typefaces, DrawDigitsOfTheHeightAskedForAndAreKeptApartByFamily) {
  ASSERT_EQ(found_.size(), 3U);
  std::set<std::string> names;
  std::set<FacePart> parts;
  for (const Family& family : found_) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_TRUE(parts.insert(family.part).second) << family.name;
    const formats::Image zero = family.faces.front().draw("0", 40);
    EXPECT_NEAR(zero.height, 40, 2) << family.faces.front().path();
    EXPECT_GT(*std::max_element(zero.pixels.begin(), zero.pixels.end()), 128);
    EXPECT_GT(family.faces.front().draw("16", 40).width, family.faces.front().draw("1", 40).width);
  }
}

TEST_F(CellSets, HasEveryClassInPartsOfTenAndIsTheSameForTheSameSeed) {
  AS2_NEED_MNIST();
  CellSetOptions options;
  options.per_class = 40;
  options.threads = 2;
  const CellSet set = make_cells(found_, *test::real_mnist().mnist, options);
  EXPECT_EQ(set.size(), 21u);
  EXPECT_EQ(set.at("blank").size(), 320u * 784);
  EXPECT_EQ(set.at("printed(7)").size(), 40u * 784);
  EXPECT_EQ(set.at("written(0)").size(), 40u * 784);
  options.threads = 1;
  EXPECT_EQ(make_cells(found_, *test::real_mnist().mnist, options), set);
  // Digits have ink in the middle that blanks do not.
  const auto ink = [](const std::vector<std::uint8_t>& pixels) {
    double sum = 0;
    for (std::size_t at = 0; at < pixels.size(); at += 784) {
      for (std::size_t y = 8; y < 20; ++y) {
        for (std::size_t x = 8; x < 20; ++x) sum += pixels[at + 28 * y + x];
      }
    }
    return sum / static_cast<double>(pixels.size());
  };
  EXPECT_GT(ink(set.at("printed(8)")), 3 * ink(set.at("blank")));
  // Some of the handwriting is MNIST's as it is.
  const datasets::Digits& digits = test::real_mnist().mnist->train;
  int plain = 0;
  for (int digit = 0; digit < 10; ++digit) {
    const auto& cells = set.at("written(" + std::to_string(digit) + ")");
    for (std::size_t number = 0; number < 40; ++number) {
      if (number % 10 >= 8) continue;  // not of the training digits
      const std::size_t at = 784 * number;
      for (std::size_t k = 0; k < digits.size(); ++k) {
        if (digits.labels[k] != digit || !std::equal(digits.image(k), digits.image(k) + 784, &cells[at]))
          continue;
        ++plain;
        break;
      }
    }
  }
  EXPECT_GT(plain, 20);
  EXPECT_LT(plain, 200) << "of 320";
}

// Digits as MNIST has them, kept apart as everywhere; an operator's ink lies where its strokes do.
TEST_F(SymbolSets, HasDigitsAndOperatorsInPartsOfTen) {
  AS2_NEED_MNIST();
  SymbolSetOptions options;
  options.per_class = 60;
  const datasets::Mnist& mnist = *test::real_mnist().mnist;
  const CellSet set = make_symbols(found_, mnist, options);
  EXPECT_EQ(set.size(), 13u);
  EXPECT_EQ(make_symbols(found_, mnist, options), set);
  for (const auto& [name, pixels] : set) EXPECT_EQ(pixels.size(), 60u * 784) << name;
  const DigitParts parts(mnist);
  const auto is_digit = [&](std::size_t number, std::size_t part) {
    const std::uint8_t* expected = parts.of(part).image(parts.by_label[part][3][0]);
    return std::equal(expected, expected + 784,
                      set.at("3").begin() + static_cast<std::ptrdiff_t>(784 * number));
  };
  EXPECT_TRUE(is_digit(0, 0));
  EXPECT_TRUE(is_digit(8, 1));
  EXPECT_TRUE(is_digit(9, 2));
  // The mean picture: a cross, a bar, and a cross lying on its side.
  const auto mean = [&](const std::string& name, int x, int y) {
    double sum = 0;
    for (std::size_t at = 0; at < set.at(name).size(); at += 784)
      sum += set.at(name)[at + static_cast<std::size_t>(28 * y + x)];
    return sum / 60;
  };
  EXPECT_GT(mean("plus", 14, 9), 2 * mean("plus", 9, 9));
  EXPECT_GT(mean("times", 10, 10), 2 * mean("times", 14, 9));
  EXPECT_LT(mean("minus", 14, 8), 10);
  EXPECT_GT(mean("minus", 14, 14), 60);
}

}  // namespace
}  // namespace as2::vision
