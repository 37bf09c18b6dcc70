// Three blocks of convolution 3×3, max-pooling, norm and GELU: 28 → 14 → 7 → 3, then a linear layer to the
// embedding and another, the concept bottleneck, to the logits; see nn/perception.cpp, which trains it.
//
// Pictures lie channels last with a border of zeros, so that a convolution is one product whose rows are
// pixels and whose depth is nine taps of the channels: a tap is the same rows at another offset, and nothing
// is gathered. So the first layer, of one channel, is computed. The others take four to five times fewer
// multiplications by Winograd's F(m×n, 3×3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016): with tiles d of (m + 2)·(n + 2) pixels and a kernel g, both turned into as many points,
//   m × n pixels of the result = Aᵀ [ Σ_channels (G g Gᵀ) ⊙ (Bᵀ d B) ] A
// is one small product per point; G, B and A are those of m on one side and of n on the other. Polynomials
// are multiplied by their values at a few points where float32 loses little (kernels::tile_points). What is
// lost of a random convolution's result, root mean square in units of 1e-7, where plain sums lose 4, and
// what a pixel costs:
//   tile             3×3   4×4   6×3   5×5   7×4   6×6   7×5   7×7
//   lost               4     7    11    15    23    27    33    74
//   multiplications  2.8  2.25   2.2   2.0   1.9   1.8   1.8   1.7
// Large tiles that fit a layer save most: 28 and 7 pixels take 7×4, 14 pixels 5×5 and 6 pixels 6×3, with
// 1512, 108, 441 and 80 multiplications per picture and pair of channels. 7×5, 7×7 and 6×6 would save up to a
// quarter of these, but with all of them the network's outputs would be off by nearly twice as much. For 3
// and 5 the points do without ∞, which loses a third less; the usual points for 4, 0, ±1, ±2 and ∞, lose
// three times as much as ours.
//
// Blocks take pictures in chunks: one large picture stays in the nearest caches, and of small ones enough
// come together that the weights, which are larger, are fetched for many rows at once. Every number is
// computed in the same order whatever the chunk.
#include "native/perception.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "native/memory.h"

namespace as2::native {
namespace {

constexpr std::int64_t kTaps = 9;
constexpr std::int64_t kRowsAtOnce = 24;     // of a product, about
constexpr std::int64_t kFewestChannels = 8;  // for tiles: with fewer, turning them takes longer than it saves
constexpr std::int64_t kMostAtOnce = 12;
constexpr std::int64_t kSideBySide = 8;  // output channels whose kernels are transformed together; a panel of
                                         // the packed kernels has as many channels, or a multiple of them

// [outputs, inputs, 3, 3] as nine taps.
Floats packed_taps(const kernels::Version& version, std::int64_t inputs, std::int64_t outputs,
                   const std::vector<float>& weight) {
  Floats packed(elements(kernels::packed_size(version, kTaps, inputs, outputs)));
  kernels::pack(version, kTaps, inputs, outputs, weight.data(), 1, kTaps, inputs * kTaps, packed.data());
  return packed;
}

struct TileSize {
  std::int64_t height, width;
};

// For so many pixels a side; other numbers do not occur, but would be right.
TileSize tile_size(std::int64_t side) {
  if (side % 7 > 0) return {6, 3};
  return side == 14 ? TileSize{5, 5} : TileSize{7, 4};
}

// G: the powers of each point over its differences from the others; the last row is the point ∞.
std::vector<std::array<double, 3>> turn_of_kernels(std::int64_t size) {
  const int tile = static_cast<int>(size);
  const kernels::TilePoints chosen = kernels::tile_points(tile);
  std::vector<double> points{0};
  for (int k = 0; k < kernels::tile_pairs(tile); ++k)
    points.insert(points.end(), {chosen.pairs[k], -chosen.pairs[k]});
  std::vector<std::array<double, 3>> turn;
  for (const double point : points) {
    double under = 1;
    for (const double other : points) under *= point == other ? 1 : point - other;
    turn.push_back({1 / under, point / under, point * point / under});
  }
  if (tile % 2 == 0) turn.push_back({0, 0, 1});
  return turn;
}

// [outputs, inputs, 3, 3] as the points G g Gᵀ, panel by panel; in each, one matrix per point.
Floats packed_points(const kernels::Version& version, const TileSize& tile, std::int64_t inputs,
                     std::int64_t outputs, const std::vector<float>& weight) {
  const auto turn_down = turn_of_kernels(tile.height), turn_across = turn_of_kernels(tile.width);
  const auto points = static_cast<std::int64_t>(turn_down.size() * turn_across.size());
  const std::int64_t panel = version.panel;
  Floats packed(elements(kernels::packed_size(version, points, inputs, outputs)));
  for (std::int64_t first = 0; first < outputs; first += kSideBySide) {
    float* own = packed.data() + first / panel * panel * points * inputs + first % panel;
    const std::int64_t some = std::min(kSideBySide, outputs - first);
    for (std::int64_t input = 0; input < inputs; ++input, own += panel) {
      double g[kTaps][kSideBySide] = {};
      for (std::int64_t n = 0; n < some; ++n) {
        for (std::int64_t t = 0; t < kTaps; ++t)
          g[t][n] = double{weight[elements(((first + n) * inputs + input) * kTaps + t)]};
      }
      float* to = own;
      for (const auto& down : turn_down) {
        double line[3][kSideBySide];
        for (int x = 0; x < 3; ++x) {
          for (std::int64_t n = 0; n < kSideBySide; ++n)
            line[x][n] = down[0] * g[x][n] + down[1] * g[3 + x][n] + down[2] * g[6 + x][n];
        }
        for (const auto& across : turn_across) {
          for (std::int64_t n = 0; n < kSideBySide; ++n)
            to[n] =
                static_cast<float>(across[0] * line[0][n] + across[1] * line[1][n] + across[2] * line[2][n]);
          to += inputs * panel;
        }
      }
    }
  }
  return packed;
}

// Numbers from one point to the next: not a multiple of 4096 bytes, which would all share a few lines of the
// nearest cache.
std::int64_t point_size(std::int64_t rows, std::int64_t channels) {
  return rows * channels + 16;
}

}  // namespace

std::int64_t PerceptionNet::Layer::high() const {
  return (height > 0 ? std::max(side, height * down()) : side) + 2;
}

std::int64_t PerceptionNet::Layer::wide() const {
  return (width > 0 ? std::max(side, width * across()) : side) + 2;
}

std::int64_t PerceptionNet::Block::chunk(std::int64_t group) const {
  const Layer& last = layers.back();
  const std::int64_t rows = last.height > 0 ? last.tiles() : last.side * last.side;
  return std::min(group, std::max<std::int64_t>(1, kRowsAtOnce / rows));
}

// How many numbers a worker needs for a group of pictures; never more per picture than for one alone.
struct PerceptionNet::Sizes {
  // Per layer, its pictures with their borders: the whole group where a block begins, else a chunk.
  std::vector<std::int64_t> bordered;
  std::int64_t plain = 0, points = 0, products = 0, flat = 0, embedding = 0;

  Sizes(const PerceptionNet& net, std::int64_t group) {
    for (const Block& block : net.blocks_) {
      const std::int64_t chunk = block.chunk(group);
      for (const Layer& layer : block.layers) {
        bordered.push_back((&layer == &block.layers.front() ? group : chunk) * layer.bordered());
        plain = std::max(plain, chunk * layer.computed() * layer.computed() * layer.outputs);
        if (layer.height == 0) continue;
        const std::int64_t rows = chunk * layer.tiles();
        points = std::max(points, layer.points() * point_size(rows, layer.inputs));
        products = std::max(products, layer.points() * point_size(rows, net.version_->panel));
      }
    }
    flat = group * net.embed_.inputs;
    embedding = group * net.embed_.outputs;
  }

  std::size_t bytes() const {
    return sizeof(float) * elements(std::accumulate(bordered.begin(), bordered.end(),
                                                    plain + points + products + flat + embedding));
  }
};

struct PerceptionNet::Scratch {
  std::vector<Floats> bordered;  // the borders are zero and stay so
  Floats plain;                  // a layer's results before the norm
  Floats points, products, flat, embedding;

  explicit Scratch(const Sizes& sizes)
      : plain(elements(sizes.plain)),
        points(elements(sizes.points)),
        products(elements(sizes.products)),
        flat(elements(sizes.flat)),
        embedding(elements(sizes.embedding)) {
    for (const std::int64_t size : sizes.bordered) bordered.emplace_back(elements(size));
  }
};

PerceptionNet::PerceptionNet(const kernels::Version& version, const infer::PerceptionOptions& options,
                             Weights& weights)
    : version_(&version) {
  std::int64_t inputs = 1, side = kSide;
  int number = 0;
  for (const std::int64_t base : options.channels) {
    const auto outputs = std::max<std::int64_t>(1, std::llround(static_cast<double>(base) * options.width));
    Block block;
    for (int c = 0; c < options.convolutions; ++c, ++number) {
      const std::string index = std::to_string(number);
      Layer layer;
      layer.side = side;
      layer.inputs = inputs;
      layer.outputs = outputs;
      layer.pooled = c + 1 == options.convolutions;
      const auto weight = weights.take("perception.conv_" + index + ".weight", {outputs, inputs, 3, 3});
      if (inputs >= kFewestChannels) {
        const TileSize tile = tile_size(layer.computed());
        layer.height = tile.height;
        layer.width = tile.width;
        layer.packed = packed_points(version, tile, inputs, outputs, weight);
      } else {
        layer.packed = packed_taps(version, inputs, outputs, weight);
      }
      layer.norm = Norm::take(weights, "perception.norm_" + index, outputs);
      side = layer.result();
      inputs = outputs;
      block.layers.push_back(std::move(layer));
    }
    blocks_.push_back(std::move(block));
  }
  // The embedding's weights know channels before pixels; ours come pixel by pixel.
  const std::int64_t pixels = side * side, flat = inputs * pixels;
  const auto given = weights.take("perception.embed.weight", {options.d_model, flat});
  embed_ = {&version, flat, options.d_model,
            Floats(elements(kernels::packed_size(version, 1, flat, options.d_model))),
            weights.take("perception.embed.bias", {options.d_model})};
  kernels::pack(version, pixels, inputs, options.d_model, given.data(), 1, pixels, flat,
                embed_.packed.data());
  head_ = Linear::take(version, weights, "perception.head", options.d_model, options.symbols);
  temperature_ = weights.take_one("perception.temperature");
}

// `pictures` [count] with their borders, one after another, to scratch.plain [count, result, result,
// outputs].
void PerceptionNet::convolve_by_taps(const Layer& layer, std::int64_t count, const float* pictures,
                                     Scratch& scratch) const {
  std::int64_t taps[kTaps];
  for (std::int64_t t = 0; t < kTaps; ++t) taps[t] = (t / 3 * layer.wide() + t % 3) * layer.inputs;
  kernels::Product product;
  product.lines = product.rows = layer.computed();
  product.depth = product.a_row = layer.inputs;
  product.columns = product.c_row = layer.outputs;
  product.a_line = layer.wide() * layer.inputs;
  product.b = layer.packed.data();
  product.c_line = layer.computed() * layer.outputs;
  product.taps = kTaps;
  product.tap = taps;
  for (std::int64_t n = 0; n < count; ++n) {
    product.a = pictures + n * layer.bordered();
    product.c = scratch.plain.data() + n * layer.computed() * product.c_line;
    version_->product(product);
    // In place: what is written has been read.
    if (layer.pooled)
      version_->pool_pixels(layer.computed(), layer.outputs, product.c,
                            scratch.plain.data() + n * layer.result_size());
  }
}

void PerceptionNet::convolve_by_tiles(const Layer& layer, std::int64_t count, const float* pictures,
                                      Scratch& scratch) const {
  const std::int64_t each = layer.tiles(), rows = count * each, panel = version_->panel;
  const bool pool_tiles = layer.pooled && layer.width % 2 == 0;  // else four pixels lie in several tiles
  kernels::Tiles from;
  from.height = layer.height;
  from.width = layer.width;
  from.down = layer.down();
  from.across = layer.across();
  from.channels = from.tile = from.pixel = layer.inputs;
  from.point = point_size(rows, layer.inputs);
  for (std::int64_t n = 0; n < count; ++n)
    version_->tiles_to_points(from, pictures + n * layer.bordered(), layer.wide() * layer.inputs,
                              scratch.points.data() + n * each * layer.inputs);
  // Panel by panel, so that products are turned back while they are near.
  kernels::Tiles to = from;
  to.point = point_size(rows, panel);
  to.tile = panel;
  to.pixel = layer.outputs;
  to.pooled = pool_tiles;
  const std::int64_t size = pool_tiles ? layer.result() : layer.computed(),
                     picture = size * size * layer.outputs;
  kernels::Product product;
  product.rows = rows;
  product.depth = product.a_row = layer.inputs;
  product.c_row = panel;
  product.b = layer.packed.data();
  for (std::int64_t first = 0; first < layer.outputs; first += panel) {
    to.channels = product.columns = std::min(panel, layer.outputs - first);
    for (std::int64_t point = 0; point < layer.points(); ++point, product.b += layer.inputs * panel) {
      product.a = scratch.points.data() + point * from.point;
      product.c = scratch.products.data() + point * to.point;
      version_->product(product);
    }
    for (std::int64_t n = 0; n < count; ++n)
      version_->points_to_tiles(to, scratch.products.data() + n * each * panel, size,
                                scratch.plain.data() + n * picture + first);
  }
  for (std::int64_t n = 0; n < count && layer.pooled && !pool_tiles; ++n)  // in place, as above
    version_->pool_pixels(size, layer.outputs, scratch.plain.data() + n * picture,
                          scratch.plain.data() + n * layer.result_size());
}

// `pictures` [count, 28 · 28] to scratch.flat [count, embed_.inputs].
void PerceptionNet::see(std::int64_t count, const float* pictures, Scratch& scratch) const {
  const Layer& first_layer = blocks_.front().layers.front();
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::int64_t row = 0; row < kSide; ++row)
      std::copy_n(
          pictures + (n * kSide + row) * kSide, kSide,
          scratch.bordered[0].data() + n * first_layer.bordered() + (row + 1) * first_layer.wide() + 1);
  }
  std::size_t number = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const std::vector<Layer>& layers = blocks_[b].layers;
    const std::int64_t chunk = blocks_[b].chunk(count);
    for (std::int64_t first = 0; first < count; first += chunk) {
      const std::int64_t some = std::min(chunk, count - first);
      for (std::size_t l = 0; l < layers.size(); ++l) {
        const Layer& layer = layers[l];
        const bool begins = l == 0, ends = l + 1 == layers.size();
        const float* from = scratch.bordered[number + l].data() + (begins ? first * layer.bordered() : 0);
        if (layer.height > 0) {
          convolve_by_tiles(layer, some, from, scratch);
        } else {
          convolve_by_taps(layer, some, from, scratch);
        }
        const bool last = ends && b + 1 == blocks_.size();
        const Layer* next = last ? nullptr : ends ? &blocks_[b + 1].layers.front() : &layers[l + 1];
        for (std::int64_t n = 0; n < some; ++n) {
          const std::int64_t which = ends ? first + n : n;
          float* to = last ? scratch.flat.data() + which * embed_.inputs
                           : scratch.bordered[number + l + 1].data() + which * next->bordered() +
                                 (next->wide() + 1) * next->inputs;
          version_->picture_norm_gelu(layer.result(), layer.outputs, layer.norm.weight.data(),
                                      layer.norm.bias.data(), scratch.plain.data() + n * layer.result_size(),
                                      to, (last ? layer.result() : next->wide()) * layer.outputs);
        }
      }
    }
    number += layers.size();
  }
}

void PerceptionNet::run(Threads& threads, std::size_t memory, std::int64_t count, const float* pictures,
                        float* logits) const {
  if (count == 0) return;
  const Share share =
      share_memory(memory, 0, Sizes(*this, 1).bytes(), threads.count(), count, kMostAtOnce, "pictures");
  const std::int64_t tasks = (count + share.at_once - 1) / share.at_once,
                     each = (count + tasks - 1) / tasks;  // all tasks alike
  const Sizes sizes(*this, each);
  std::vector<std::unique_ptr<Scratch>> scratches(elements(share.workers));
  threads.run(
      tasks,
      [&](std::int64_t task, int worker) {
        std::unique_ptr<Scratch>& scratch = scratches[elements(worker)];
        if (!scratch) scratch = std::make_unique<Scratch>(sizes);
        Scratch& own = *scratch;
        const std::int64_t first = task * each, some = std::min(each, count - first);
        if (some <= 0) return;
        see(some, pictures + first * kPixels, own);
        embed_.apply(some, own.flat.data(), own.embedding.data());
        // One by one: numbers side by side share a division.
        for (std::int64_t n = 0; n < some; ++n)
          version_->add_gelu(embed_.outputs, own.embedding.data() + n * embed_.outputs, nullptr);
        head_.apply(some, own.embedding.data(), logits + first * head_.outputs);
      },
      share.workers);
}

}  // namespace as2::native
