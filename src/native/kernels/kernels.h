// The arithmetic of the networks over plain arrays of float32, one version per instruction set. Whoever owns
// the arrays keeps them alive during the call; nothing here allocates.
#pragma once

#include <cstdint>

namespace as2::native::kernels {

// c = a·b + bias, or c += a·b + bias: `a` has `rows` rows of `depth` numbers, `b` is packed (see below), `c`
// has `columns` columns. A convolution is the same product with `taps` shifted copies of the rows of `a` side
// by side, and with a row per pixel of each of several lines of a picture.
struct Product {
  std::int64_t lines = 1, rows = 0, depth = 0, columns = 0;
  const float* a = nullptr;
  std::int64_t a_line = 0, a_row = 0;  // numbers from one line or row to the next
  const float* b = nullptr;
  float* c = nullptr;
  std::int64_t c_line = 0, c_row = 0;
  const float* bias = nullptr;  // [columns]; null: none
  bool add = false;             // to what c holds
  std::int64_t taps = 1;
  const std::int64_t* tap = nullptr;  // [taps]: where each copy of `a` begins; null: one tap at 0
};

// Where a convolution by tiles (see native/perception.cpp) multiplies polynomials, for tiles of `size` pixels
// in one direction: at 0, at ± each of these, and where `size` is even at ∞, in this order.
struct TilePoints {
  double pairs[4];
};
constexpr int tile_pairs(int size) {
  return (size + 1) / 2;
}
constexpr TilePoints tile_points(int size) {
  if (size == 3) return {{0.875, 2.5}};
  if (size == 4) return {{0.625, 1.5}};
  if (size == 5) return {{0.5625, 1.125, 2.5}};
  if (size == 6) return {{0.5, 1, 2}};
  return {{0.4375, 0.875, 1.375, 3}};  // 7
}

// The tiles of one picture, `height` · `width` pixels each: 7·4, 5·5 or 6·3. There are `down` lines of
// `across` tiles. Point k of tile t has its channels at k · point + t · tile; those of the picture's pixels
// are `pixel` numbers apart.
struct Tiles {
  std::int64_t height = 0, width = 0, down = 0, across = 0, channels = 0, point = 0, tile = 0, pixel = 0;
  bool pooled = false;  // only for an even width
};

struct Version {
  const char* name;
  std::int64_t panel;  // columns of a panel of a packed matrix

  void (*product)(const Product& product);
  // x = gelu(x + y), exact to float32's rounding; a null y counts as zero. The last bit may depend on the
  // other numbers of the call, two of which share a division: one call per row.
  void (*add_gelu)(std::int64_t count, float* x, const float* y);
  // Per row: sum = x + y, normed = its layer norm. A null y counts as zero; `sum` may be x or null.
  void (*add_norm)(std::int64_t rows, std::int64_t channels, const float* x, const float* y,
                   const float* weight, const float* bias, float* sum, float* normed);
  // Over all `side` · `side` pixels and channels of the picture `x`, with a scale and shift per channel:
  // gelu(norm(x)), into `to`, whose lines are `to_line` numbers apart.
  void (*picture_norm_gelu)(std::int64_t side, std::int64_t channels, const float* weight, const float* bias,
                            const float* x, float* to, std::int64_t to_line);
  // A convolution 3 × 3 by tiles: the (height + 2) · (width + 2) pixels of each tile of `picture`, whose
  // lines are `line` numbers apart, become as many points. Neighbouring tiles share two pixels.
  void (*tiles_to_points)(const Tiles& tiles, const float* picture, std::int64_t line, float* points);
  // The points back to height · width pixels per tile, of which `picture`, `size` · `size` pixels, takes what
  // it has room for; where pooled, the largest of each 2 × 2 of them.
  void (*points_to_tiles)(const Tiles& tiles, const float* points, std::int64_t size, float* picture);
  // The largest of each 2 × 2 pixels; what is left over on the right and below is dropped.
  void (*pool_pixels)(std::int64_t side, std::int64_t channels, const float* x, float* pooled);
  // mean = Σ x(row) · share over the rows listed, maximum = the largest; both 0 without rows.
  void (*pool_rows)(std::int64_t count, const std::int32_t* rows, float share, std::int64_t channels,
                    const float* x, float* mean, float* maximum);
  // y += Σ x(row) · weight per row.
  void (*dot_rows)(std::int64_t rows, std::int64_t channels, const float* x, const float* weight, float* y);
  // y += scale · x.
  void (*add_scaled)(std::int64_t count, float scale, const float* x, float* y);
  // x = softmax(x).
  void (*softmax)(std::int64_t count, float* x);
  // y = log(max(x + offset, floor)), floor > 0.
  void (*logarithm)(std::int64_t count, const float* x, float offset, float floor, float* y);
};

}  // namespace as2::native::kernels
