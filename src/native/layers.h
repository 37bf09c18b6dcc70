// Layers that perception and the reasoners are made of, with their weights packed for the kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native/kernels/versions.h"
#include "native/memory.h"
#include "native/weights.h"

namespace as2::native {

// y = x·Wᵀ + b.
struct Linear {
  const kernels::Version* version = nullptr;
  std::int64_t inputs = 0, outputs = 0;
  Floats packed;
  std::vector<float> bias;  // [outputs], or empty

  // From `weight` [outputs, inputs] and `bias` [outputs] or empty.
  static Linear of(const kernels::Version& version, std::int64_t inputs, std::int64_t outputs,
                   const std::vector<float>& weight, std::vector<float> bias);
  // From the tensors NAME.weight and, where asked for, NAME.bias.
  static Linear take(const kernels::Version& version, Weights& weights, const std::string& name,
                     std::int64_t inputs, std::int64_t outputs, bool with_bias = true);

  // `x` [rows, inputs] to `y` [rows, outputs], or added to it.
  void apply(std::int64_t rows, const float* x, float* y, bool add = false) const;
};

struct Norm {
  std::vector<float> weight, bias;  // [channels]
  static Norm take(Weights& weights, const std::string& name, std::int64_t channels);
};

// Self-attention of `rows` tokens: `qkv` [rows, 3·width] holds query, key and value, each [heads,
// width/heads]; `bias` [heads, rows, rows] is added to the scores (null: nothing), then `key_bias` [rows]
// (null: nothing). Writes [rows, width] to `mixed`.
class Attention {
 public:
  Attention(const kernels::Version& version, std::int64_t rows, std::int64_t width, std::int64_t heads);
  void apply(const float* qkv, const float* bias, const float* key_bias, float* mixed);
  // Bytes one of these takes.
  static std::size_t memory(const kernels::Version& version, std::int64_t rows, std::int64_t width,
                            std::int64_t heads);

 private:
  const kernels::Version& version_;
  std::int64_t rows_, width_, heads_, depth_;
  Floats queries_, keys_, values_, scores_;
};

}  // namespace as2::native
