// The kernels on vectors of AS2_LANES numbers, in the compilers' vector extension: compiled once per
// instruction set (AS2_ISA names the namespace), and for WebAssembly's SIMD as it is. Includes nothing that
// has inline code shared with other files, because the linker would keep only one copy of it.
//
// The product holds AS2_ROWS × 2 vectors of the result in registers while it walks the depth, so that each
// number of `b` that is read serves AS2_ROWS rows and each of `a` two vectors. On two lines of a Xeon this
// reaches the processor's peak without packing `a`; what oneDNN and XNNPACK reach on the same sizes stands in
// docs/PERFORMANCE.md.
#include "native/kernels/kernels.h"

namespace as2::native::kernels::AS2_ISA {
namespace {

constexpr int kLanes = AS2_LANES;
constexpr int kRows = AS2_ROWS;
constexpr int kPanel = 2 * kLanes;
constexpr std::int64_t kRowsAtOnce = 8 * kRows;  // share a panel while it is in the nearest cache

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
typedef float LooseLanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef std::int32_t Whole __attribute__((vector_size(kLanes * sizeof(float)), may_alias));

inline Lanes load(const float* from) {
  return *reinterpret_cast<const LooseLanes*>(from);
}
inline void store(float* to, const Lanes& x) {
  *reinterpret_cast<LooseLanes*>(to) = x;
}
inline Lanes all(float x) {
  return x - Lanes{};
}
inline Lanes larger(const Lanes& a, const Lanes& b) {
  return a > b ? a : b;
}
inline Lanes smaller(const Lanes& a, const Lanes& b) {
  return a < b ? a : b;
}
inline float sum_of(const Lanes& x) {
  float sum = 0;
  for (int k = 0; k < kLanes; ++k) sum += x[k];
  return sum;
}

// The first `count` numbers, `rest` in the other lanes.
inline Lanes load_some(const float* from, std::int64_t count, float rest) {
  Lanes x = all(rest);
  for (std::int64_t k = 0; k < count; ++k) x[k] = from[k];
  return x;
}
inline void store_some(float* to, const Lanes& x, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) to[k] = x[k];
}

// One block of the result: R rows, two vectors of columns of which the first `columns` numbers are stored.
template <int R>
void block(const Product& p, const float* a, const float* b, std::int64_t columns, const float* bias,
           float* c) {
  Lanes sums[R][2];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = Lanes{};
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const float* from = a + (p.tap ? p.tap[t] : 0);
    for (std::int64_t k = 0; k < p.depth; ++k) {
      const Lanes left = load(b), right = load(b + kLanes);
      b += kPanel;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Lanes x = all(from[r * p.a_row + k]);
        sums[r][0] += x * left;
        sums[r][1] += x * right;
      }
    }
  }
  if (columns < kPanel) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      float sum[kPanel];
      store(sum, sums[r][0]);
      store(sum + kLanes, sums[r][1]);
      for (std::int64_t n = 0; n < columns; ++n) {
        float& to = c[r * p.c_row + n];
        to = sum[n] + (bias ? bias[n] : 0.f) + (p.add ? to : 0.f);
      }
    }
    return;
  }
  const Lanes bias_left = bias ? load(bias) : Lanes{}, bias_right = bias ? load(bias + kLanes) : Lanes{};
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    float* to = c + r * p.c_row;
    Lanes left = sums[r][0] + bias_left, right = sums[r][1] + bias_right;
    if (p.add) {
      left += load(to);
      right += load(to + kLanes);
    }
    store(to, left);
    store(to + kLanes, right);
  }
}

// `rows` of them, R at most.
template <int R>
void some_rows(std::int64_t rows, const Product& p, const float* a, const float* b, std::int64_t columns,
               const float* bias, float* c) {
  if (rows == R) {
    block<R>(p, a, b, columns, bias, c);
  } else if constexpr (R > 1) {
    some_rows<R - 1>(rows, p, a, b, columns, bias, c);
  }
}

void product(const Product& p) {
  const std::int64_t panel_size = p.taps * p.depth * kPanel;
  const std::int64_t lines_at_once = p.rows < kRowsAtOnce ? kRowsAtOnce / (p.rows > 0 ? p.rows : 1) : 1;
  for (std::int64_t first_line = 0; first_line < p.lines; first_line += lines_at_once) {
    const std::int64_t after = first_line + lines_at_once, last_line = after < p.lines ? after : p.lines;
    for (std::int64_t first = 0; first < p.rows; first += kRowsAtOnce) {
      const std::int64_t last = first + kRowsAtOnce < p.rows ? first + kRowsAtOnce : p.rows;
      for (std::int64_t n = 0; n < p.columns; n += kPanel) {
        const float* b = p.b + n / kPanel * panel_size;
        const float* bias = p.bias ? p.bias + n : nullptr;
        for (std::int64_t line = first_line; line < last_line; ++line) {
          const float* a = p.a + line * p.a_line;
          float* c = p.c + line * p.c_line + n;
          // Blocks as even as can be: one of few rows would wait for its own sums.
          std::int64_t blocks = (last - first + kRows - 1) / kRows;
          for (std::int64_t row = first; row < last; --blocks) {
            const std::int64_t some = (last - row + blocks - 1) / blocks;
            some_rows<kRows>(some, p, a + row * p.a_row, b, p.columns - n, bias, c + row * p.c_row);
            row += some;
          }
        }
      }
    }
  }
}

// ½ erf(x / √2) as a quotient of polynomials in x², right to float32's rounding; past ±4√2 it is ±½.
struct Quotient {
  Lanes over, under;
};

inline Quotient half_error_function(const Lanes& given) {
  constexpr float kMost = 5.6568542494923802f;
  constexpr double h = 0.35355339059327376;  // ½ · √½; each further power of x² brings another ½
  const Lanes x = smaller(larger(given, all(-kMost)), all(kMost)), s = x * x;
  Lanes over = s * float(-2.72614225801306e-10 * h / 64) + float(2.77068142495902e-08 * h / 32);
  over = over * s + float(-2.10102402082508e-06 * h / 16);
  over = over * s + float(-5.69250639462346e-05 * h / 8);
  over = over * s + float(-7.34990630326855e-04 * h / 4);
  over = over * s + float(-2.95459980854025e-03 * h / 2);
  over = over * s + float(-1.60960333262415e-02 * h);
  Lanes under = s * (-1.45660718464996e-05f / 16) - 2.13374055278905e-04f / 8;
  under = under * s - 1.68282697438203e-03f / 4;
  under = under * s - 7.37332916720468e-03f / 2;
  under = under * s - 1.42647390514189e-02f;
  return {x * over, under};
}

// Two at a time, for the price of one division: 1/a = b / (a·b). What is divided by lies between -2.4 and
// -0.014, so that nothing overflows.
inline void gelu(Lanes& x, Lanes& y) {
  const Quotient a = half_error_function(x), b = half_error_function(y);
  const Lanes inverse = 1.f / (a.under * b.under);
  x *= 0.5f + a.over * (b.under * inverse);
  y *= 0.5f + b.over * (a.under * inverse);
}

inline Lanes gelu(Lanes x) {
  Lanes other{};
  gelu(x, other);
  return x;
}

void add_gelu(std::int64_t count, float* x, const float* y) {
  const auto sum = [&](std::int64_t k) { return y ? load(x + k) + load(y + k) : load(x + k); };
  std::int64_t k = 0;
  for (; k + 2 * kLanes <= count; k += 2 * kLanes) {
    Lanes a = sum(k), b = sum(k + kLanes);
    gelu(a, b);
    store(x + k, a);
    store(x + k + kLanes, b);
  }
  for (; k + kLanes <= count; k += kLanes) store(x + k, gelu(sum(k)));
  if (k == count) return;
  Lanes rest = load_some(x + k, count - k, 0);
  if (y) rest += load_some(y + k, count - k, 0);
  store_some(x + k, gelu(rest), count - k);
}

constexpr float kNormEpsilon = 1e-5f;

inline float inverse_root(float x) {
  return 1.f / __builtin_sqrtf(x);
}

struct Moments {
  float mean, inverse_deviation;
};

// Σ of(x) over whole vectors, in four sums that do not wait for each other, and the numbers left over.
template <class Of>
inline float sum_over(const float* x, std::int64_t count, const Of& of) {
  Lanes sums[4] = {};
  float rest = 0;
  std::int64_t k = 0;
  for (; k + 4 * kLanes <= count; k += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) sums[j] += of(load(x + k + j * kLanes));
  }
  for (; k + kLanes <= count; k += kLanes) sums[0] += of(load(x + k));
  for (; k < count; ++k) rest += of(x[k]);
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

// In two walks: the square of a difference keeps the digits that a difference of squares loses.
Moments moments_of(const float* x, std::int64_t count) {
  const float mean = sum_over(x, count, [](auto value) { return value; }) / static_cast<float>(count);
  const float squares = sum_over(x, count, [&](auto value) { return (value - mean) * (value - mean); });
  return {mean, inverse_root(squares / static_cast<float>(count) + kNormEpsilon)};
}

void add_norm(std::int64_t rows, std::int64_t channels, const float* x, const float* y, const float* weight,
              const float* bias, float* sum, float* normed) {
  for (std::int64_t row = 0; row < rows; ++row, x += channels, normed += channels) {
    const float* from = x;
    if (y) {
      float* to = sum ? sum : normed;
      std::int64_t k = 0;
      for (; k + kLanes <= channels; k += kLanes) store(to + k, load(x + k) + load(y + k));
      for (; k < channels; ++k) to[k] = x[k] + y[k];
      from = to;
      y += channels;
    }
    const Moments moments = moments_of(from, channels);
    std::int64_t k = 0;
    for (; k + kLanes <= channels; k += kLanes) {
      const Lanes unit = (load(from + k) - moments.mean) * moments.inverse_deviation;
      store(normed + k, unit * load(weight + k) + load(bias + k));
    }
    for (; k < channels; ++k)
      normed[k] = (from[k] - moments.mean) * moments.inverse_deviation * weight[k] + bias[k];
    if (sum) sum += channels;
  }
}

void picture_norm_gelu(std::int64_t side, std::int64_t channels, const float* weight, const float* bias,
                       const float* x, float* to, std::int64_t to_line) {
  const Moments moments = moments_of(x, side * side * channels);
  const auto normed = [&](const Lanes& value, const Lanes& scale, const Lanes& shift) {
    return (value - moments.mean) * scale + shift;
  };
  // The same channels of all pixels: their scales and shifts stay in registers.
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= channels; c += 2 * kLanes) {
    const std::int64_t d = c + kLanes;
    const Lanes scale = moments.inverse_deviation * load(weight + c), shift = load(bias + c),
                next_scale = moments.inverse_deviation * load(weight + d), next_shift = load(bias + d);
    const float* from = x;
    for (std::int64_t row = 0; row < side; ++row) {
      float* pixel = to + row * to_line;
      for (std::int64_t column = 0; column < side; ++column, from += channels, pixel += channels) {
        Lanes a = normed(load(from + c), scale, shift), b = normed(load(from + d), next_scale, next_shift);
        gelu(a, b);
        store(pixel + c, a);
        store(pixel + d, b);
      }
    }
  }
  for (; c < channels; c += kLanes) {
    const std::int64_t rest = channels - c < kLanes ? channels - c : kLanes;
    const Lanes scale = moments.inverse_deviation * load_some(weight + c, rest, 0),
                shift = load_some(bias + c, rest, 0);
    const float* from = x;
    for (std::int64_t row = 0; row < side; ++row) {
      float* pixel = to + row * to_line;
      for (std::int64_t column = 0; column < side; ++column, from += channels, pixel += channels)
        store_some(pixel + c, gelu(normed(load_some(from + c, rest, 0), scale, shift)), rest);
    }
  }
}

// The coefficients of the polynomial with the pairs' squares as roots, and of the same without each of them;
// powers of the points.
template <int S>
struct Turn {
  static constexpr int kPairs = tile_pairs(S);
  float all[kPairs + 1] = {}, without[kPairs][kPairs] = {}, power[S][kPairs] = {};

  constexpr Turn() {
    constexpr TilePoints points = tile_points(S);
    for (int skip = 0; skip <= kPairs; ++skip) {
      double product[kPairs + 2] = {1};
      int degree = 0;
      for (int i = 0; i < kPairs; ++i) {
        if (i == skip) continue;
        ++degree;
        for (int k = degree; k >= 0; --k)
          product[k] = (k > 0 ? product[k - 1] : 0) - points.pairs[i] * points.pairs[i] * product[k];
      }
      for (int k = 0; k <= degree; ++k) {
        if (skip == kPairs) {
          all[k] = static_cast<float>(product[k]);
        } else {
          without[skip][k] = static_cast<float>(product[k]);
        }
      }
    }
    for (int i = 0; i < kPairs; ++i) {
      double power_of = 1;
      for (int k = 0; k < S; ++k, power_of *= points.pairs[i]) power[k][i] = static_cast<float>(power_of);
    }
  }
};

// Bᵀ d of S + 2 numbers: the coefficients of the polynomial with all points but one as roots. Those of ±p
// share their even and odd parts.
template <int S, class T>
inline void to_points(const T* d, T* to) {
  constexpr Turn<S> turn;
  constexpr int P = Turn<S>::kPairs;
  const auto sum = [](const float* factors, int count, const T* x) {
    T total = x[2 * (count - 1)];
#pragma GCC unroll 8
    for (int k = count - 2; k >= 0; --k) total += factors[k] * x[2 * k];
    return total;
  };
  to[0] = sum(turn.all, P + 1, d);
#pragma GCC unroll 8
  for (int i = 0; i < P; ++i) {
    const T even = sum(turn.without[i], P, d + 2), odd = sum(turn.without[i], P, d + 1);
    to[2 * i + 1] = even + turn.power[1][i] * odd;
    to[2 * i + 2] = even - turn.power[1][i] * odd;
  }
  if constexpr (S % 2 == 0) to[S + 1] = sum(turn.all, P + 1, d + 1);
}

// Aᵀ m of S + 2 numbers: the powers of the points, S numbers.
template <int S, class T>
inline void from_points(const T* m, T* to) {
  constexpr Turn<S> turn;
  constexpr int P = Turn<S>::kPairs;
  T even[P], odd[P];
#pragma GCC unroll 8
  for (int i = 0; i < P; ++i) {
    even[i] = m[2 * i + 1] + m[2 * i + 2];
    odd[i] = m[2 * i + 1] - m[2 * i + 2];
  }
  to[0] = m[0];
#pragma GCC unroll 8
  for (int i = 0; i < P; ++i) to[0] += even[i];
#pragma GCC unroll 8
  for (int k = 1; k < S; ++k) {
    const T* half = k % 2 == 0 ? even : odd;
    to[k] = turn.power[k][0] * half[0];
#pragma GCC unroll 8
    for (int i = 1; i < P; ++i) to[k] += turn.power[k][i] * half[i];
  }
  if constexpr (S % 2 == 0) to[S - 1] += m[S + 1];
}

template <class T>
inline T take(const float* from) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *from;
  } else {
    return load(from);
  }
}

inline void put(float* to, float x) {
  *to = x;
}
inline void put(float* to, const Lanes& x) {
  store(to, x);
}
inline float larger(float a, float b) {
  return a > b ? a : b;
}

template <int H, int W, class T>
inline void tile_to_points(const Tiles& tiles, const float* from, std::int64_t line, float* points) {
  T turned[H + 2][W + 2];
#pragma GCC unroll 16
  for (int j = 0; j < W + 2; ++j) {
    T d[H + 2], own[H + 2];
#pragma GCC unroll 16
    for (int i = 0; i < H + 2; ++i) d[i] = take<T>(from + i * line + j * tiles.pixel);
    to_points<H>(d, own);
#pragma GCC unroll 16
    for (int i = 0; i < H + 2; ++i) turned[i][j] = own[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < H + 2; ++i) {
    T own[W + 2];
    to_points<W>(turned[i], own);
#pragma GCC unroll 16
    for (int j = 0; j < W + 2; ++j) put(points + ((W + 2) * i + j) * tiles.point, own[j]);
  }
}

template <int H, int W>
void tiles_to_points_of(const Tiles& tiles, const float* picture, std::int64_t line, float* points) {
  for (std::int64_t y = 0; y < tiles.down; ++y) {
    for (std::int64_t x = 0; x < tiles.across; ++x, points += tiles.tile) {
      const float* from = picture + H * y * line + W * x * tiles.pixel;
      std::int64_t c = 0;
      for (; c + kLanes <= tiles.channels; c += kLanes)
        tile_to_points<H, W, Lanes>(tiles, from + c, line, points + c);
      for (; c < tiles.channels; ++c) tile_to_points<H, W, float>(tiles, from + c, line, points + c);
    }
  }
}

void tiles_to_points(const Tiles& tiles, const float* picture, std::int64_t line, float* points) {
  const auto version = tiles.height == 7   ? tiles_to_points_of<7, 4>
                       : tiles.height == 5 ? tiles_to_points_of<5, 5>
                                           : tiles_to_points_of<6, 3>;
  version(tiles, picture, line, points);
}

// Where a tile's pixels go, or where pooled the largest of each 2 × 2 of them.
struct Place {
  std::int64_t down, across, line;  // lines and columns there is room for; numbers from one line to the next
  bool continues;  // the first line's other pixels lie in the tile above and are there already
};

template <int H, int W, class T>
inline void points_to_tile(const Tiles& tiles, const float* points, const Place& place, float* to) {
  T turned[W][H + 2];
#pragma GCC unroll 16
  for (int i = 0; i < H + 2; ++i) {
    T m[W + 2], own[W];
#pragma GCC unroll 16
    for (int j = 0; j < W + 2; ++j) m[j] = take<T>(points + ((W + 2) * i + j) * tiles.point);
    from_points<W>(m, own);
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j) turned[j][i] = own[j];
  }
#pragma GCC unroll 16
  for (int j = 0; j < W; ++j, to += tiles.pixel) {
    if (j >= place.across) break;
    T pixels[H];
    from_points<H>(turned[j], pixels);
    float* pixel = to;
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i, pixel += place.line) {
      if (i < place.down) put(pixel, pixels[i]);
    }
  }
}

template <int H, int W, class T>
inline void points_to_pooled_tile(const Tiles& tiles, const float* points, const Place& place, float* to) {
  T turned[H][W + 2];
#pragma GCC unroll 16
  for (int j = 0; j < W + 2; ++j) {
    T m[H + 2], own[H];
#pragma GCC unroll 16
    for (int i = 0; i < H + 2; ++i) m[i] = take<T>(points + ((W + 2) * i + j) * tiles.point);
    from_points<H>(m, own);
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) turned[i][j] = own[i];
  }
  T upper[W / 2] = {};
  bool lower = place.continues;
  std::int64_t down = place.down;
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i, lower = !lower) {
    if (down <= 0) break;
    T pixels[W];
    from_points<W>(turned[i], pixels);
#pragma GCC unroll 16
    for (int j = 0; j < W / 2; ++j) {
      float* pixel = to + j * tiles.pixel;
      const T both = larger(pixels[2 * j], pixels[2 * j + 1]);
      if (j < place.across && lower) put(pixel, larger(both, i == 0 ? take<T>(pixel) : upper[j]));
      if (j < place.across && !lower && i + 1 == H) put(pixel, both);
      upper[j] = both;
    }
    if (lower) to += place.line, --down;
  }
}

template <int H, int W>
void points_to_tiles_of(const Tiles& tiles, const float* points, std::int64_t size, float* picture) {
  const std::int64_t line = size * tiles.pixel, pool = tiles.pooled ? 2 : 1;
  for (std::int64_t y = 0; y < tiles.down; ++y) {
    const std::int64_t above = H * y / pool;
    for (std::int64_t x = 0; x < tiles.across; ++x, points += tiles.tile) {
      const std::int64_t left = W * x / pool;
      const Place place{size - above, size - left, line, H * y % pool == 1};
      float* to = picture + above * line + left * tiles.pixel;
      const auto turn = [&](auto kind, std::int64_t c) {
        using T = decltype(kind);
        if (W % 2 == 0 && tiles.pooled) {
          points_to_pooled_tile<H, W, T>(tiles, points + c, place, to + c);
        } else {
          points_to_tile<H, W, T>(tiles, points + c, place, to + c);
        }
      };
      std::int64_t c = 0;
      for (; c + kLanes <= tiles.channels; c += kLanes) turn(Lanes{}, c);
      for (; c < tiles.channels; ++c) turn(0.f, c);
    }
  }
}

void points_to_tiles(const Tiles& tiles, const float* points, std::int64_t size, float* picture) {
  const auto version = tiles.height == 7   ? points_to_tiles_of<7, 4>
                       : tiles.height == 5 ? points_to_tiles_of<5, 5>
                                           : points_to_tiles_of<6, 3>;
  version(tiles, points, size, picture);
}

void pool_pixels(std::int64_t side, std::int64_t channels, const float* x, float* pooled) {
  const std::int64_t half = side / 2, line = side * channels;
  for (std::int64_t row = 0; row < half; ++row) {
    for (std::int64_t column = 0; column < half; ++column, pooled += channels) {
      const float* from = x + (2 * row * side + 2 * column) * channels;
      std::int64_t c = 0;
      for (; c + kLanes <= channels; c += kLanes) {
        const float* at = from + c;
        store(pooled + c, larger(larger(load(at), load(at + channels)),
                                 larger(load(at + line), load(at + line + channels))));
      }
      for (; c < channels; ++c) {
        const float upper = from[c] > from[c + channels] ? from[c] : from[c + channels];
        const float* below = from + line;
        const float lower = below[c] > below[c + channels] ? below[c] : below[c + channels];
        pooled[c] = upper > lower ? upper : lower;
      }
    }
  }
}

void pool_rows(std::int64_t count, const std::int32_t* rows, float share, std::int64_t channels,
               const float* x, float* mean, float* maximum) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    Lanes sum{}, most{};
    for (std::int64_t j = 0; j < count; ++j) {
      const Lanes value = load(x + rows[j] * channels + c);
      sum += value;
      most = j == 0 ? value : larger(most, value);
    }
    store(mean + c, sum * share);
    store(maximum + c, most);
  }
  for (; c < channels; ++c) {
    float sum = 0, most = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const float value = x[rows[j] * channels + c];
      sum += value;
      most = j == 0 || value > most ? value : most;
    }
    mean[c] = sum * share;
    maximum[c] = most;
  }
}

void dot_rows(std::int64_t rows, std::int64_t channels, const float* x, const float* weight, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += channels) {
    Lanes sums{};
    float rest = 0;
    std::int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) sums += load(x + c) * load(weight + c);
    for (; c < channels; ++c) rest += x[c] * weight[c];
    y[row] += sum_of(sums) + rest;
  }
}

void add_scaled(std::int64_t count, float scale, const float* x, float* y) {
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) store(y + k, load(y + k) + scale * load(x + k));
  for (; k < count; ++k) y[k] += scale * x[k];
}

// e^x = 2^n · e^r with |r| ≤ ln 2 / 2: a polynomial for e^r, and n goes into the exponent's bits.
inline Lanes exponential(const Lanes& given) {
  constexpr float kShift = 12582912.f;  // 1.5 · 2²³: adding it rounds to a whole number
  const Lanes x = smaller(larger(given, all(-87.f)), all(88.f));
  const Lanes n = (x * 1.44269504088896341f + kShift) - kShift;
  const Lanes r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Lanes power = r * 1.9875691500e-4f + 1.3981999507e-3f;
  power = power * r + 8.3334519073e-3f;
  power = power * r + 4.1665795894e-2f;
  power = power * r + 1.6666665459e-1f;
  power = power * r + 5.0000001201e-1f;
  power = power * r * r + r + 1.f;
  const Whole exponent = (__builtin_convertvector(n, Whole) + 127) << 23;
  return power * reinterpret_cast<const Lanes&>(exponent);
}

void softmax(std::int64_t count, float* x) {
  float most = x[0];
  for (std::int64_t k = 1; k < count; ++k) most = x[k] > most ? x[k] : most;
  Lanes sums{};
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    const Lanes power = exponential(load(x + k) - most);
    sums += power;
    store(x + k, power);
  }
  float sum = sum_of(sums);
  if (k < count) {
    store_some(x + k, exponential(load_some(x + k, count - k, most) - most), count - k);
    for (std::int64_t j = k; j < count; ++j) sum += x[j];
  }
  const float scale = 1.f / sum;
  for (k = 0; k + kLanes <= count; k += kLanes) store(x + k, load(x + k) * scale);
  for (; k < count; ++k) x[k] *= scale;
}

// log x = e · ln 2 + log m with m between √½ and √2, for positive normal numbers.
inline Lanes log_of(const Lanes& x) {
  Whole bits = reinterpret_cast<const Whole&>(x);
  Whole exponent = (bits >> 23) - 126;
  bits = (bits & 0x7fffff) | 0x3f000000;  // between ½ and 1
  const Lanes m = reinterpret_cast<const Lanes&>(bits);
  const Whole low = m < 0.70710678118654752f;
  exponent += low;  // true is −1
  const Lanes r = (low ? m + m : m) - 1.f, e = __builtin_convertvector(exponent, Lanes), s = r * r;
  Lanes y = r * 7.0376836292e-2f - 1.1514610310e-1f;
  y = y * r + 1.1676998740e-1f;
  y = y * r - 1.2420140846e-1f;
  y = y * r + 1.4249322787e-1f;
  y = y * r - 1.6668057665e-1f;
  y = y * r + 2.0000714765e-1f;
  y = y * r - 2.4999993993e-1f;
  y = y * r + 3.3333331174e-1f;
  y = y * r * s - e * 2.12194440e-4f - s * 0.5f;
  return r + y + e * 0.693359375f;
}

void logarithm(std::int64_t count, const float* x, float offset, float floor, float* y) {
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) store(y + k, log_of(larger(load(x + k) + offset, all(floor))));
  if (k < count)
    store_some(y + k, log_of(larger(load_some(x + k, count - k, 1) + offset, all(floor))), count - k);
}

}  // namespace

extern const Version kVersion;
const Version kVersion = {AS2_ISA_NAME,      kPanel,          product,         add_gelu,    add_norm,
                          picture_norm_gelu, tiles_to_points, points_to_tiles, pool_pixels, pool_rows,
                          dot_rows,          add_scaled,      softmax,         logarithm};

}  // namespace as2::native::kernels::AS2_ISA
