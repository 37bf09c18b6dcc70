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

struct Version {
  const char* name;
  std::int64_t panel;  // columns of a panel of a packed matrix

  void (*product)(const Product& product);
  // x = gelu(x + y), exact to float32's rounding; a null y counts as zero.
  void (*add_gelu)(std::int64_t count, float* x, const float* y);
  // Per row: sum = x + y, normed = its layer norm. A null y counts as zero; `sum` may be x or null.
  void (*add_norm)(std::int64_t rows, std::int64_t channels, const float* x, const float* y,
                   const float* weight, const float* bias, float* sum, float* normed);
  // Over all pixels and channels of a picture, with a scale and shift per channel: x = gelu(norm(x)).
  void (*picture_norm_gelu)(std::int64_t pixels, std::int64_t channels, const float* weight,
                            const float* bias, float* x);
  // Convolutions 3 × 3 by Winograd's F(2×2, 3×3), see native/perception.cpp, a few rows of tiles at a time.
  // `points` [16, rows · tiles, channels] takes the 4 × 4 pixels of each tile as points; neighbouring tiles
  // share two pixels, and `line` is how many numbers there are from one line of `picture` to the next.
  void (*tiles_to_points)(std::int64_t rows, std::int64_t tiles, std::int64_t channels, std::int64_t line,
                          const float* picture, float* points);
  // `points` back to 2 × 2 pixels per tile: into `picture`, which has `lines` lines of `side` pixels, what is
  // beyond them dropped; or, with `largest`, only the largest of each tile, `tiles` pixels per line.
  void (*points_to_tiles)(std::int64_t rows, std::int64_t tiles, std::int64_t channels, std::int64_t lines,
                          std::int64_t side, bool largest, const float* points, float* picture);
  // The largest of each 2 × 2 pixels; what is left over on the right and below is dropped.
  void (*pool_pixels)(std::int64_t side, std::int64_t channels, const float* x, float* pooled);
  // mean = Σ x(row) · share over the rows listed, maximum = the largest; both 0 without rows.
  void (*pool_rows)(std::int64_t count, const std::int32_t* rows, float share, std::int64_t channels,
                    const float* x, float* mean, float* maximum);
  // y += scale · x.
  void (*add_scaled)(std::int64_t count, float scale, const float* x, float* y);
  // x = softmax(x).
  void (*softmax)(std::int64_t count, float* x);
  // y = log(max(x + offset, floor)), floor > 0.
  void (*logarithm)(std::int64_t count, const float* x, float offset, float floor, float* y);
};

}  // namespace as2::native::kernels
