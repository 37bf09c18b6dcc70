// Perception: one 28×28 picture in, the concept bottleneck's logits out (the paper's three-block CNN).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "infer/network_options.h"
#include "native/layers.h"
#include "native/threads.h"

namespace as2::native {

class PerceptionNet {
 public:
  static constexpr std::int64_t kSide = infer::kPictureSide, kPixels = kSide * kSide;

  // Takes the tensors `perception.…`.
  PerceptionNet(const kernels::Version& version, const infer::PerceptionOptions& options, Weights& weights);

  std::int64_t symbols() const { return head_.outputs; }
  float temperature() const { return temperature_; }

  // `pictures` [count, 28 · 28], ink 1 on paper 0, to `logits` [count, symbols], before the temperature.
  // Takes no more than `memory` bytes beyond these; InputError where that is too little for one picture.
  void run(Threads& threads, std::size_t memory, std::int64_t count, const float* pictures,
           float* logits) const;

 private:
  struct Layer {
    std::int64_t side = 0, inputs = 0, outputs = 0;
    bool pooled = false;  // the norm sees the largest of 2 × 2 pixels; what is left over is not computed
    std::int64_t height = 0, width = 0;  // of the tiles of Winograd's algorithm; 0: one product, nine taps
    Floats packed;
    Norm norm;

    std::int64_t computed() const { return pooled ? side / 2 * 2 : side; }
    std::int64_t result() const { return pooled ? side / 2 : side; }
    std::int64_t result_size() const { return result() * result() * outputs; }
    std::int64_t down() const { return (computed() + height - 1) / height; }  // tiles
    std::int64_t across() const { return (computed() + width - 1) / width; }
    std::int64_t tiles() const { return down() * across(); }
    std::int64_t points() const { return (height + 2) * (width + 2); }  // of a tile
    std::int64_t high() const;                                          // lines, with the border
    std::int64_t wide() const;                                          // a line with its border
    std::int64_t bordered() const { return high() * wide() * inputs; }  // a picture with its border
  };
  struct Block {
    std::vector<Layer> layers;
    // Pictures of a group that go through it together.
    std::int64_t chunk(std::int64_t group) const;
  };
  struct Sizes;
  struct Scratch;
  void see(std::int64_t count, const float* pictures, Scratch& scratch) const;
  void convolve_by_taps(const Layer& layer, std::int64_t count, const float* pictures,
                        Scratch& scratch) const;
  void convolve_by_tiles(const Layer& layer, std::int64_t count, const float* pictures,
                         Scratch& scratch) const;

  const kernels::Version* version_;
  std::vector<Block> blocks_;
  Linear embed_, head_;
  float temperature_ = 1;
};

}  // namespace as2::native
