#include "vision/symbol_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "as2/error.h"
#include "datasets/real_mnist.h"
#include "support/temporary_folder.h"

namespace as2::vision {
namespace {

constexpr const char* kFonts = "/usr/share/fonts";

// Families of this machine; none where it has too few to keep some apart.
std::vector<Family> families() {
  if (!std::filesystem::is_directory(kFonts)) return {};
  try {
    return find_typefaces(kFonts);
  } catch (const InputError&) {
    return {};
  }
}

TEST(Typefaces, AFolderWithoutThemIsRefused) {
  const test::TemporaryFolder folder;
  folder.put("broken.ttf", std::string(200, 'x'));
  EXPECT_THROW(find_typefaces(folder.str()), InputError);
  EXPECT_THROW(find_typefaces(folder / "nowhere"), InputError);
}

TEST(Typefaces, DrawDigitsOfTheHeightAskedForAndAreKeptApartByFamily) {
  const auto found = families();
  if (found.empty()) GTEST_SKIP() << "too few typefaces under " << kFonts;
  std::set<std::string> names;
  for (const Family& family : found) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    const formats::Image zero = family.faces.front().draw("0", 40);
    EXPECT_NEAR(zero.height, 40, 2) << family.faces.front().path();
    EXPECT_GT(*std::max_element(zero.pixels.begin(), zero.pixels.end()), 128);
    EXPECT_GT(family.faces.front().draw("16", 40).width, family.faces.front().draw("1", 40).width);
  }
}

TEST(CellSet, HasEveryClassInPartsOfTenAndIsTheSameForTheSameSeed) {
  AS2_NEED_MNIST();
  const auto found = families();
  if (found.empty()) GTEST_SKIP() << "too few typefaces under " << kFonts;
  CellSetOptions options;
  options.per_class = 10;
  options.threads = 2;
  const CellSet set = make_cells(found, *test::real_mnist().mnist, options);
  EXPECT_EQ(set.size(), 21u);
  EXPECT_EQ(set.at("blank").size(), 80u * 784);
  EXPECT_EQ(set.at("printed(7)").size(), 10u * 784);
  EXPECT_EQ(set.at("written(0)").size(), 10u * 784);
  options.threads = 1;
  EXPECT_EQ(make_cells(found, *test::real_mnist().mnist, options), set);
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
    for (std::size_t at = 0; at < 8 * 784; at += 784) {
      for (std::size_t k = 0; k < digits.size(); ++k) {
        if (digits.labels[k] != digit || !std::equal(digits.image(k), digits.image(k) + 784, &cells[at]))
          continue;
        ++plain;
        break;
      }
    }
  }
  EXPECT_GT(plain, 5);
  EXPECT_LT(plain, 50) << "of 80";
}

// Digits as MNIST has them, kept apart as everywhere; an operator's ink lies where its strokes do.
TEST(SymbolSet, HasDigitsAndOperatorsInPartsOfTen) {
  AS2_NEED_MNIST();
  const auto found = families();
  if (found.empty()) GTEST_SKIP() << "too few typefaces under " << kFonts;
  SymbolSetOptions options;
  options.per_class = 60;
  const datasets::Mnist& mnist = *test::real_mnist().mnist;
  const CellSet set = make_symbols(found, mnist, options);
  EXPECT_EQ(set.size(), 13u);
  EXPECT_EQ(make_symbols(found, mnist, options), set);
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
