#include "native/layers.h"

#include <cmath>

namespace as2::native {

Linear Linear::of(const kernels::Version& version, std::int64_t inputs, std::int64_t outputs,
                  const std::vector<float>& weight, std::vector<float> bias) {
  Linear linear{&version, inputs, outputs, {}, std::move(bias)};
  linear.packed.resize(static_cast<std::size_t>(kernels::packed_size(version, 1, inputs, outputs)));
  kernels::pack(version, 1, inputs, outputs, weight.data(), 0, 1, inputs, linear.packed.data());
  return linear;
}

Linear Linear::take(const kernels::Version& version, Weights& weights, const std::string& name,
                    std::int64_t inputs, std::int64_t outputs, bool with_bias) {
  const std::vector<float> weight = weights.take(name + ".weight", {outputs, inputs});
  return of(version, inputs, outputs, weight,
            with_bias ? weights.take(name + ".bias", {outputs}) : std::vector<float>());
}

void Linear::apply(std::int64_t rows, const float* x, float* y, bool add) const {
  kernels::Product product;
  product.rows = rows;
  product.depth = product.a_row = inputs;
  product.columns = product.c_row = outputs;
  product.a = x;
  product.b = packed.data();
  product.c = y;
  product.bias = bias.empty() ? nullptr : bias.data();
  product.add = add;
  version->product(product);
}

Norm Norm::take(Weights& weights, const std::string& name, std::int64_t channels) {
  return {weights.take(name + ".weight", {channels}), weights.take(name + ".bias", {channels})};
}

Attention::Attention(const kernels::Version& version, std::int64_t rows, std::int64_t width,
                     std::int64_t heads)
    : version_(version),
      rows_(rows),
      width_(width),
      heads_(heads),
      depth_(width / heads),
      queries_(static_cast<std::size_t>(rows * depth_)),
      keys_(static_cast<std::size_t>(kernels::packed_size(version, 1, depth_, rows))),
      values_(static_cast<std::size_t>(kernels::packed_size(version, 1, rows, depth_))),
      scores_(static_cast<std::size_t>(rows * rows)) {}

std::size_t Attention::memory(const kernels::Version& version, std::int64_t rows, std::int64_t width,
                              std::int64_t heads) {
  const std::int64_t depth = width / heads;
  return sizeof(float) *
         static_cast<std::size_t>(rows * depth + kernels::packed_size(version, 1, depth, rows) +
                                  kernels::packed_size(version, 1, rows, depth) + rows * rows);
}

void Attention::apply(const float* qkv, const float* bias, const float* key_bias, float* mixed) {
  const std::int64_t row_size = 3 * width_;
  const float scale = 1.f / std::sqrt(static_cast<float>(depth_));
  for (std::int64_t head = 0; head < heads_; ++head) {
    const float* query = qkv + head * depth_;
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t k = 0; k < depth_; ++k)
        queries_[static_cast<std::size_t>(row * depth_ + k)] = query[row * row_size + k] * scale;
    }
    kernels::pack(version_, 1, depth_, rows_, query + width_, 0, 1, row_size, keys_.data());
    kernels::pack(version_, 1, rows_, depth_, query + 2 * width_, 0, row_size, 1, values_.data());
    kernels::Product product;
    product.rows = product.columns = product.c_row = rows_;
    product.depth = product.a_row = depth_;
    product.a = queries_.data();
    product.b = keys_.data();
    product.c = scores_.data();
    product.bias = key_bias;
    version_.product(product);
    for (std::int64_t row = 0; row < rows_; ++row) {
      float* scores = scores_.data() + row * rows_;
      if (bias) version_.add_scaled(rows_, 1.f, bias + (head * rows_ + row) * rows_, scores);
      version_.softmax(rows_, scores);
    }
    product.depth = product.a_row = rows_;
    product.columns = depth_;
    product.a = scores_.data();
    product.b = values_.data();
    product.c = mixed + head * depth_;
    product.c_row = width_;
    product.bias = nullptr;
    version_.product(product);
  }
}

}  // namespace as2::native
