// Three blocks of convolution 3×3, max-pooling, norm and GELU: 28 → 14 → 7 → 3, then a linear layer to the
// embedding and another, the concept bottleneck, to the logits; see nn/perception.cpp, which trains it.
//
// Pictures lie channels last with a border of zeros, so that a convolution is one product whose rows are
// pixels and whose depth is nine taps of the channels: a tap is the same rows at another offset, and nothing
// is gathered. So the first layer, of one channel, is computed. The others take 2.25 times fewer
// multiplications by Winograd's F(2×2, 3×3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016): with tiles of 4 × 4 pixels d and a kernel g, both turned into 16 points,
//   2 × 2 pixels of the result = Aᵀ [ Σ_channels (G g Gᵀ) ⊙ (Bᵀ d B) ] A
// is one small product per point. F(4×4, 3×3) would save more of them and lose two digits of float32, which
// is what the outputs may differ from LibTorch's. Where pooling follows, a tile is exactly what is pooled.
//
// A picture goes through all blocks before the next one, so that it stays in the nearest caches; only the two
// linear layers take several at once, because their weights are larger than a picture.
#include "native/perception.h"

#include <algorithm>
#include <cmath>

#include "native/memory.h"

namespace as2::native {
namespace {

constexpr std::int64_t kTaps = 9;
constexpr std::int64_t kPoints = 16;
constexpr std::int64_t kTilesAtOnce = 32;    // their points stay near the processor
constexpr std::int64_t kFewestChannels = 8;  // for tiles: with fewer, turning them takes longer than it saves
constexpr std::int64_t kMostAtOnce = 16;

// [outputs, inputs, 3, 3] as nine taps.
std::vector<float> packed_taps(const kernels::Version& version, std::int64_t inputs, std::int64_t outputs,
                               const std::vector<float>& weight) {
  std::vector<float> packed(elements(kernels::packed_size(version, kTaps, inputs, outputs)));
  kernels::pack(version, kTaps, inputs, outputs, weight.data(), 1, kTaps, inputs * kTaps, packed.data());
  return packed;
}

// [outputs, inputs, 3, 3] as the sixteen points G g Gᵀ, each a matrix of its own.
std::vector<float> packed_points(const kernels::Version& version, std::int64_t inputs, std::int64_t outputs,
                                 const std::vector<float>& weight) {
  constexpr double kTurn[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};  // G
  const std::int64_t size = kernels::packed_size(version, 1, inputs, outputs);
  std::vector<float> packed(elements(kPoints * size)), point(weight.size() / kTaps);
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      for (std::size_t k = 0; k < point.size(); ++k) {
        double sum = 0;
        for (int y = 0; y < 3; ++y) {
          for (int x = 0; x < 3; ++x)
            sum += kTurn[row][y] * kTurn[column][x] * weight[k * kTaps + static_cast<std::size_t>(3 * y + x)];
        }
        point[k] = static_cast<float>(sum);
      }
      kernels::pack(version, 1, inputs, outputs, point.data(), 0, 1, inputs,
                    packed.data() + (4 * row + column) * size);
    }
  }
  return packed;
}

}  // namespace

std::int64_t PerceptionNet::Layer::tile_rows() const {
  return std::min(tiles(), std::max<std::int64_t>(1, kTilesAtOnce / tiles()));
}

struct PerceptionNet::Scratch {
  std::vector<float> bordered, plain, pooled;  // one picture: with its border, a layer's result, its half
  std::vector<float> points, products;         // some of its tiles
  std::vector<float> flat, embedding;          // several pictures
};

PerceptionNet::PerceptionNet(const kernels::Version& version, const infer::PerceptionOptions& options,
                             Weights& weights)
    : version_(&version) {
  std::int64_t inputs = 1, side = kSide;
  for (const std::int64_t base : options.channels) {
    const auto outputs = std::max<std::int64_t>(1, std::llround(static_cast<double>(base) * options.width));
    for (int c = 0; c < options.convolutions; ++c) {
      const std::string index = std::to_string(layers_.size());
      Layer layer;
      layer.side = side;
      layer.inputs = inputs;
      layer.outputs = outputs;
      layer.pooled = c + 1 == options.convolutions;
      const auto weight = weights.take("perception.conv_" + index + ".weight", {outputs, inputs, 3, 3});
      layer.by_tiles = inputs >= kFewestChannels;
      layer.packed = layer.by_tiles ? packed_points(version, inputs, outputs, weight)
                                    : packed_taps(version, inputs, outputs, weight);
      layer.norm = Norm::take(weights, "perception.norm_" + index, outputs);
      side = layer.result();
      inputs = outputs;
      layers_.push_back(std::move(layer));
    }
  }
  // The embedding's weights know channels before pixels; ours come pixel by pixel.
  const std::int64_t pixels = side * side, flat = inputs * pixels;
  const auto given = weights.take("perception.embed.weight", {options.d_model, flat});
  std::vector<float> turned(given.size());
  for (std::int64_t row = 0; row < options.d_model; ++row) {
    for (std::int64_t channel = 0; channel < inputs; ++channel) {
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
        turned[elements(row * flat + pixel * inputs + channel)] =
            given[elements(row * flat + channel * pixels + pixel)];
    }
  }
  embed_ = Linear::of(version, flat, options.d_model, turned,
                      weights.take("perception.embed.bias", {options.d_model}));
  head_ = Linear::take(version, weights, "perception.head", options.d_model, options.symbols);
  temperature_ = weights.take_one("perception.temperature");
}

void PerceptionNet::convolve_by_taps(const Layer& layer, Scratch& scratch) const {
  std::int64_t taps[kTaps];
  for (std::int64_t t = 0; t < kTaps; ++t) taps[t] = (t / 3 * layer.wide() + t % 3) * layer.inputs;
  kernels::Product product;
  product.lines = product.rows = layer.computed();
  product.depth = product.a_row = layer.inputs;
  product.columns = product.c_row = layer.outputs;
  product.a = scratch.bordered.data();
  product.a_line = layer.wide() * layer.inputs;
  product.b = layer.packed.data();
  product.c = scratch.plain.data();
  product.c_line = layer.computed() * layer.outputs;
  product.taps = kTaps;
  product.tap = taps;
  version_->product(product);
  if (layer.pooled)
    version_->pool_pixels(layer.computed(), layer.outputs, scratch.plain.data(), scratch.pooled.data());
}

void PerceptionNet::convolve_by_tiles(const Layer& layer, Scratch& scratch, float* result) const {
  const std::int64_t tiles = layer.tiles(), line = layer.pooled ? tiles : 2 * layer.side;
  for (std::int64_t first = 0; first < tiles; first += layer.tile_rows()) {
    const std::int64_t rows = std::min(layer.tile_rows(), tiles - first), count = rows * tiles;
    version_->tiles_to_points(rows, tiles, layer.inputs, layer.wide() * layer.inputs,
                              scratch.bordered.data() + 2 * first * layer.wide() * layer.inputs,
                              scratch.points.data());
    kernels::Product product;
    product.rows = count;
    product.depth = product.a_row = layer.inputs;
    product.columns = product.c_row = layer.outputs;
    for (std::int64_t point = 0; point < kPoints; ++point) {
      product.a = scratch.points.data() + point * count * layer.inputs;
      product.b = layer.packed.data() + point * (static_cast<std::int64_t>(layer.packed.size()) / kPoints);
      product.c = scratch.products.data() + point * count * layer.outputs;
      version_->product(product);
    }
    version_->points_to_tiles(rows, tiles, layer.outputs, layer.side - 2 * first, layer.side, layer.pooled,
                              scratch.products.data(), result + first * line * layer.outputs);
  }
}

void PerceptionNet::see(const float* picture, Scratch& scratch, float* flat) const {
  const float* from = picture;
  for (const Layer& layer : layers_) {
    const std::int64_t wide = layer.wide(), line = layer.side * layer.inputs;
    float* bordered = scratch.bordered.data();
    std::fill_n(bordered, wide * wide * layer.inputs, 0.f);
    for (std::int64_t row = 0; row < layer.side; ++row)
      std::copy_n(from + row * line, line, bordered + ((row + 1) * wide + 1) * layer.inputs);
    float* result = layer.pooled ? scratch.pooled.data() : scratch.plain.data();
    if (layer.by_tiles) {
      convolve_by_tiles(layer, scratch, result);
    } else {
      convolve_by_taps(layer, scratch);
    }
    version_->picture_norm_gelu(layer.result() * layer.result(), layer.outputs, layer.norm.weight.data(),
                                layer.norm.bias.data(), result);
    from = result;
  }
  std::copy_n(from, embed_.inputs, flat);
}

void PerceptionNet::run(Threads& threads, std::size_t memory, std::int64_t count, const float* pictures,
                        float* logits) const {
  if (count == 0) return;
  std::int64_t bordered = 0, plain = 0, pooled = 0, points = 0, products = 0;
  for (const Layer& layer : layers_) {
    bordered = std::max(bordered, layer.wide() * layer.wide() * layer.inputs);
    if (layer.by_tiles) {
      const std::int64_t tiles = kPoints * layer.tile_rows() * layer.tiles();
      points = std::max(points, tiles * layer.inputs);
      products = std::max(products, tiles * layer.outputs);
    }
    plain = std::max(plain, layer.computed() * layer.computed() * layer.outputs);
    pooled = std::max(pooled, layer.result() * layer.result() * layer.outputs);
  }
  const std::int64_t each = embed_.inputs + embed_.outputs;
  const Share share =
      share_memory(memory, sizeof(float) * elements(bordered + plain + pooled + points + products),
                   sizeof(float) * elements(each), threads.count(), count, kMostAtOnce, "pictures");
  std::vector<Scratch> scratch(elements(share.workers));
  for (Scratch& own : scratch) {
    own.bordered.resize(elements(bordered));
    own.plain.resize(elements(plain));
    own.pooled.resize(elements(pooled));
    own.points.resize(elements(points));
    own.products.resize(elements(products));
    own.flat.resize(elements(share.at_once * embed_.inputs));
    own.embedding.resize(elements(share.at_once * embed_.outputs));
  }
  const std::int64_t tasks = (count + share.at_once - 1) / share.at_once;
  threads.run(
      tasks,
      [&](std::int64_t task, int worker) {
        Scratch& own = scratch[elements(worker)];
        const std::int64_t first = task * share.at_once, some = std::min(share.at_once, count - first);
        for (std::int64_t k = 0; k < some; ++k)
          see(pictures + (first + k) * kPixels, own, own.flat.data() + k * embed_.inputs);
        embed_.apply(some, own.flat.data(), own.embedding.data());
        version_->add_gelu(some * embed_.outputs, own.embedding.data(), nullptr);
        head_.apply(some, own.embedding.data(), logits + first * head_.outputs);
      },
      share.workers);
}

}  // namespace as2::native
