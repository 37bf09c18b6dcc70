// Every version of the kernels that runs here gives what a plain loop in double gives, sizes that fill no
// vector included.
#include "native/kernels/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "native/kernels/versions.h"
#include "random.h"

namespace as2::native::kernels {
namespace {

std::vector<float> random_numbers(std::int64_t count, std::uint64_t seed, double size = 1) {
  Random random(seed);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(size * (2 * random.unit() - 1));
  return numbers;
}

class Kernels : public ::testing::TestWithParam<const Version*> {
 protected:
  const Version& version() const { return *GetParam(); }
};

TEST_P(Kernels, ProductsOfAllSizesAreThoseOfAPlainLoop) {
  for (const std::int64_t rows : {1, 3, 7, 8, 9, 31, 70}) {
    for (const std::int64_t depth : {1, 5, 24, 96}) {
      for (const std::int64_t columns : {1, 9, 16, 33, 100}) {
        const auto a = random_numbers(rows * depth, 1), b = random_numbers(depth * columns, 2),
                   bias = random_numbers(columns, 3), before = random_numbers(rows * columns, 4);
        std::vector<float> packed(static_cast<std::size_t>(packed_size(version(), 1, depth, columns)));
        pack(version(), 1, depth, columns, b.data(), 0, columns, 1, packed.data());
        for (const bool add : {false, true}) {
          std::vector<float> c = before;
          Product product;
          product.rows = rows;
          product.depth = product.a_row = depth;
          product.columns = product.c_row = columns;
          product.a = a.data();
          product.b = packed.data();
          product.c = c.data();
          product.bias = add ? nullptr : bias.data();
          product.add = add;
          version().product(product);
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t n = 0; n < columns; ++n) {
              double sum = add ? before[i * columns + n] : bias[n];
              for (std::int64_t k = 0; k < depth; ++k)
                sum += static_cast<double>(a[i * depth + k]) * b[k * columns + n];
              ASSERT_NEAR(c[i * columns + n], sum, 2e-5) << rows << 'x' << depth << 'x' << columns;
            }
          }
        }
      }
    }
  }
}

TEST_P(Kernels, TapsMakeAConvolution) {
  const std::int64_t side = 7, inputs = 5, outputs = 37, wide = side + 2;
  const auto picture = random_numbers(wide * wide * inputs, 5),
             weight = random_numbers(outputs * inputs * 9, 6);
  std::vector<float> packed(static_cast<std::size_t>(packed_size(version(), 9, inputs, outputs)));
  pack(version(), 9, inputs, outputs, weight.data(), 1, 9, inputs * 9, packed.data());
  std::vector<std::int64_t> taps;
  for (std::int64_t t = 0; t < 9; ++t) taps.push_back((t / 3 * wide + t % 3) * inputs);
  std::vector<float> result(static_cast<std::size_t>(side * side * outputs));
  Product product;
  product.lines = product.rows = side;
  product.depth = product.a_row = inputs;
  product.columns = product.c_row = outputs;
  product.a = picture.data();
  product.a_line = wide * inputs;
  product.b = packed.data();
  product.c = result.data();
  product.c_line = side * outputs;
  product.taps = 9;
  product.tap = taps.data();
  version().product(product);
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        double sum = 0;
        for (std::int64_t t = 0; t < 9; ++t) {
          for (std::int64_t c = 0; c < inputs; ++c)
            sum += static_cast<double>(picture[((y + t / 3) * wide + x + t % 3) * inputs + c]) *
                   weight[(o * inputs + c) * 9 + t];
        }
        ASSERT_NEAR(result[(y * side + x) * outputs + o], sum, 2e-5);
      }
    }
  }
}

TEST_P(Kernels, TilesMakeAConvolution) {
  // One kernel g for all channels. Its points G g Gᵀ are found here as what the definition asks for: values
  // of the polynomial of each row at the tile's points and ∞, over those of the product of differences.
  const auto turn_of = [](int size) {
    std::vector<double> at{0};
    for (int k = 0; k < tile_pairs(size); ++k) {
      at.push_back(tile_points(size).pairs[k]);
      at.push_back(-at.back());
    }
    std::vector<std::array<double, 3>> turn;
    for (const double point : at) {
      double under = 1;
      for (const double other : at) under *= point == other ? 1 : point - other;
      turn.push_back({1 / under, point / under, point * point / under});
    }
    if (size % 2 == 0) turn.push_back({0, 0, 1});
    return turn;
  };
  struct Case {
    int height, width;
    std::int64_t side;
  };
  for (const auto& [height, width, side] : std::vector<Case>{{6, 3, 3},
                                                             {6, 3, 6},
                                                             {6, 3, 7},
                                                             {7, 4, 3},
                                                             {7, 4, 6},
                                                             {7, 4, 7},
                                                             {7, 4, 8},
                                                             {7, 4, 14},
                                                             {7, 4, 28},
                                                             {5, 5, 3},
                                                             {5, 5, 14},
                                                             {5, 5, 15}}) {
    const auto down = turn_of(height), across = turn_of(width);
    const auto values = static_cast<std::int64_t>(across.size()),
               all_values = static_cast<std::int64_t>(down.size()) * values;
    for (const std::int64_t channels : {1, 16, 37}) {
      Tiles tiles;
      tiles.height = height;
      tiles.width = width;
      tiles.down = (side + height - 1) / height;
      tiles.across = (side + width - 1) / width;
      tiles.channels = tiles.tile = tiles.pixel = channels;
      const std::int64_t count = tiles.down * tiles.across,
                         wide = std::max(height * tiles.down, width * tiles.across) + 3;
      tiles.point = count * channels + 5;
      const auto picture = random_numbers(wide * wide * channels, 15), g = random_numbers(9, 16);
      const auto pixel = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        double sum = 0;
        for (std::int64_t t = 0; t < 9; ++t)
          sum += static_cast<double>(picture[((y + t / 3) * wide + x + t % 3) * channels + c]) * g[t];
        return sum;
      };
      std::vector<float> points(static_cast<std::size_t>(all_values * tiles.point));
      version().tiles_to_points(tiles, picture.data(), wide * channels, points.data());
      for (std::int64_t p = 0; p < all_values; ++p) {
        double factor = 0;
        for (int t = 0; t < 9; ++t) factor += down[p / values][t / 3] * across[p % values][t % 3] * g[t];
        for (std::int64_t k = 0; k < count * channels; ++k)
          points[p * tiles.point + k] *= static_cast<float>(factor);
      }
      const std::int64_t half = side / 2;
      std::vector<float> plain(static_cast<std::size_t>(side * side * channels + 1), -9),
          pooled(static_cast<std::size_t>(half * half * channels + 1), -9);
      version().points_to_tiles(tiles, points.data(), side, plain.data());
      EXPECT_EQ(plain.back(), -9);
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t y = 0; y < side; ++y) {
          for (std::int64_t x = 0; x < side; ++x)
            ASSERT_NEAR(plain[(y * side + x) * channels + c], pixel(y, x, c), 5e-5);
        }
      }
      if (width % 2 == 1) continue;
      tiles.pooled = true;
      version().points_to_tiles(tiles, points.data(), half, pooled.data());
      EXPECT_EQ(pooled.back(), -9);
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t y = 0; y < half; ++y) {
          for (std::int64_t x = 0; x < half; ++x) {
            const double most = std::max({pixel(2 * y, 2 * x, c), pixel(2 * y, 2 * x + 1, c),
                                          pixel(2 * y + 1, 2 * x, c), pixel(2 * y + 1, 2 * x + 1, c)});
            ASSERT_NEAR(pooled[(y * half + x) * channels + c], most, 5e-5);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, PicturesAreNormedAsAWholeAndLeaveBordersAlone) {
  for (const std::int64_t channels : {1, 16, 32, 37}) {
    const std::int64_t side = 3, line = (side + 2) * channels, count = side * side * channels;
    const auto x = random_numbers(count, 17, 3), weight = random_numbers(channels, 18),
               bias = random_numbers(channels, 19);
    std::vector<float> to(static_cast<std::size_t>(side * line), -9);
    version().picture_norm_gelu(side, channels, weight.data(), bias.data(), x.data(), to.data(), line);
    const double mean = std::accumulate(x.begin(), x.end(), 0.) / static_cast<double>(count);
    double variance = 0;
    for (const float value : x) variance += (value - mean) * (value - mean) / static_cast<double>(count);
    for (std::int64_t k = 0; k < side * line; ++k) {
      const std::int64_t row = k / line, column = k % line / channels, c = k % channels;
      if (column >= side) {
        ASSERT_EQ(to[k], -9);
        continue;
      }
      const double unit = (x[(row * side + column) * channels + c] - mean) / std::sqrt(variance + 1e-5);
      const double y = unit * weight[c] + bias[c];
      ASSERT_NEAR(to[k], y * 0.5 * (1 + std::erf(y / std::sqrt(2.0))), 1e-5);
    }
  }
}

TEST_P(Kernels, GeluIsExactToRounding) {
  std::vector<float> x;
  for (double value = -12; value <= 12; value += 0.0037) x.push_back(static_cast<float>(value));
  const std::vector<float> before = x, shift = random_numbers(static_cast<std::int64_t>(x.size()), 7);
  version().add_gelu(static_cast<std::int64_t>(x.size()), x.data(), shift.data());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double y = before[k] + shift[k];
    ASSERT_NEAR(x[k], y * 0.5 * (1 + std::erf(y / std::sqrt(2.0))), 1e-6 * std::max(1.0, std::abs(y))) << y;
  }
}

TEST_P(Kernels, NormsHaveMeanZeroAndDeviationOne) {
  for (const std::int64_t channels : {3, 16, 96, 101}) {
    const std::int64_t rows = 4;
    const auto x = random_numbers(rows * channels, 8, 3), y = random_numbers(rows * channels, 9),
               weight = random_numbers(channels, 10), bias = random_numbers(channels, 11);
    std::vector<float> sum(x.size()), normed(x.size());
    version().add_norm(rows, channels, x.data(), y.data(), weight.data(), bias.data(), sum.data(),
                       normed.data());
    for (std::int64_t row = 0; row < rows; ++row) {
      double mean = 0, variance = 0;
      const auto total = [&](std::int64_t c) {
        return static_cast<double>(x[row * channels + c]) + y[row * channels + c];
      };
      for (std::int64_t c = 0; c < channels; ++c) mean += total(c) / static_cast<double>(channels);
      for (std::int64_t c = 0; c < channels; ++c)
        variance += (total(c) - mean) * (total(c) - mean) / static_cast<double>(channels);
      for (std::int64_t c = 0; c < channels; ++c) {
        EXPECT_NEAR(sum[row * channels + c], total(c), 1e-6);
        EXPECT_NEAR(normed[row * channels + c],
                    (total(c) - mean) / std::sqrt(variance + 1e-5) * weight[c] + bias[c], 1e-5);
      }
    }
  }
}

TEST_P(Kernels, SoftmaxAndLogarithm) {
  for (const std::int64_t count : {1, 4, 9, 16, 21}) {
    const auto given = random_numbers(count, 12, 40);
    std::vector<float> x = given, logs(given.size());
    version().softmax(count, x.data());
    double sum = 0;
    for (const float logit : given) sum += std::exp(static_cast<double>(logit));
    for (std::int64_t k = 0; k < count; ++k) EXPECT_NEAR(x[k], std::exp(double{given[k]}) / sum, 1e-6);
    version().logarithm(count, x.data(), 1e-3f, 1e-6f, logs.data());
    for (std::int64_t k = 0; k < count; ++k) EXPECT_NEAR(logs[k], std::log(x[k] + 1e-3), 1e-6);
    version().logarithm(count, given.data(), 0, 1e-30f, logs.data());
    for (std::int64_t k = 0; k < count; ++k) EXPECT_NEAR(logs[k], std::log(std::max(given[k], 1e-30f)), 1e-5);
  }
}

TEST_P(Kernels, RowsAreReadByAWeightPerChannel) {
  for (const std::int64_t channels : {1, 16, 35, 96}) {
    const auto x = random_numbers(3 * channels, 20), weight = random_numbers(channels, 21);
    std::vector<float> read(3, 2);
    version().dot_rows(3, channels, x.data(), weight.data(), read.data());
    for (std::int64_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (std::int64_t c = 0; c < channels; ++c) sum += double{x[row * channels + c]} * weight[c];
      EXPECT_NEAR(read[row], 2 + sum, 1e-5);
    }
  }
}

TEST_P(Kernels, PoolsTakeMeanAndMaximum) {
  for (const std::int64_t channels : {1, 16, 35}) {
    const auto x = random_numbers(6 * channels, 13);
    const std::vector<std::int32_t> rows{4, 0, 5};
    std::vector<float> mean(static_cast<std::size_t>(channels)), most(mean.size());
    version().pool_rows(3, rows.data(), 1.f / 3, channels, x.data(), mean.data(), most.data());
    for (std::int64_t c = 0; c < channels; ++c) {
      const float a = x[4 * channels + c], b = x[c], d = x[5 * channels + c];
      EXPECT_NEAR(mean[c], (a + b + d) / 3, 1e-6);
      EXPECT_EQ(most[c], std::max({a, b, d}));
    }
    version().pool_rows(0, rows.data(), 0, channels, x.data(), mean.data(), most.data());
    EXPECT_EQ(mean[0], 0);
    EXPECT_EQ(most[0], 0);
    const std::int64_t side = 4;
    const auto picture = random_numbers(side * side * channels, 14);
    std::vector<float> pooled(static_cast<std::size_t>(side / 2 * (side / 2) * channels));
    version().pool_pixels(side, channels, picture.data(), pooled.data());
    for (std::int64_t y = 0; y < 2; ++y) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto at = [&](std::int64_t row, std::int64_t column) {
          return picture[(row * side + column) * channels + c];
        };
        EXPECT_EQ(pooled[(y * 2 + 1) * channels + c],
                  std::max({at(2 * y, 2), at(2 * y, 3), at(2 * y + 1, 2), at(2 * y + 1, 3)}));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Kernels, ::testing::ValuesIn(versions()),
                         [](const auto& version) { return version.param->name; });

}  // namespace
}  // namespace as2::native::kernels
