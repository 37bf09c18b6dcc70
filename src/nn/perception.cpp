// Three blocks of convolution 3×3, max-pooling, LayerNorm and GELU: 28 → 14 → 7 → 3, then a linear layer to
// the embedding and another, the concept bottleneck, to the logits. LayerNorm runs over channels, height
// and width of an image with a scale and shift per channel (group norm with one group), so that nothing
// depends on the batch, and stands after the pooling, where it sees a quarter of the values. A block of
// several convolutions normalises between them as well.
#include "nn/perception.h"

#include <cmath>

#include "as2/error.h"

namespace as2::nn {

PerceptionOptions PerceptionOptions::paper(std::int64_t symbols) {
  PerceptionOptions options;
  options.symbols = symbols;
  return options;
}

PerceptionOptions PerceptionOptions::best(std::int64_t symbols) {
  PerceptionOptions options;
  options.symbols = symbols;
  options.convolutions = 2;
  options.dropout = 0.3;
  return options;
}

PerceptionImpl::PerceptionImpl(const PerceptionOptions& options) : options_(options) {
  AS2_REQUIRE(options.symbols > 0 && options.d_model > 0 && options.width > 0 && options.convolutions > 0,
              "perception sizes must be positive");
  std::int64_t in = 1;
  for (const std::int64_t base : options.channels) {
    const auto out = std::max<std::int64_t>(1, std::llround(static_cast<double>(base) * options.width));
    for (int c = 0; c < options.convolutions; ++c) {
      const bool last = c + 1 == options.convolutions;
      blocks_->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false)));
      if (last) blocks_->push_back(torch::nn::MaxPool2d(2));
      blocks_->push_back(torch::nn::GroupNorm(1, out));
      blocks_->push_back(torch::nn::GELU());
      in = out;
    }
  }
  register_module("blocks", blocks_);
  embed_ = register_module("embed", torch::nn::Linear(in * 3 * 3, options.d_model));
  head_ = register_module("head", torch::nn::Linear(options.d_model, options.symbols));
  temperature_ = register_buffer("temperature", torch::ones({}));
}

PerceptionOutput PerceptionImpl::forward(torch::Tensor images) {
  if (images.dim() == 3) images = images.unsqueeze(1);
  AS2_REQUIRE(images.dim() == 4 && images.size(1) == 1 && images.size(2) == 28 && images.size(3) == 28,
              "images are [images, 28, 28]");
  auto embedding = torch::gelu(embed_->forward(blocks_->forward(images).flatten(1)));
  const auto logits = head_->forward(torch::dropout(embedding, options_.dropout, is_training()));
  return {embedding, logits.to(torch::kFloat32)};
}

torch::Tensor PerceptionImpl::beliefs(const torch::Tensor& logits) const {
  return torch::softmax(logits / temperature_, -1);
}

// One parameter and a smooth loss: golden-section search over log T is exact enough and cannot diverge.
void PerceptionImpl::calibrate(const torch::Tensor& logits, const torch::Tensor& labels) {
  torch::NoGradGuard no_grad;
  const auto loss = [&](double log_t) {
    return torch::nn::functional::cross_entropy(logits / std::exp(log_t), labels).item<double>();
  };
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double low = std::log(0.1), high = std::log(10.0);
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double loss_a = loss(a), loss_b = loss(b);
  for (int step = 0; step < 40; ++step) {
    if (loss_a < loss_b) {
      high = b, b = a, loss_b = loss_a;
      loss_a = loss(a = high - ratio * (high - low));
    } else {
      low = a, a = b, loss_a = loss_b;
      loss_b = loss(b = low + ratio * (high - low));
    }
  }
  temperature_.fill_(std::exp((low + high) / 2));
}

}  // namespace as2::nn
