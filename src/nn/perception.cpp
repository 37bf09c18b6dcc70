// Three blocks of convolution 3×3, max-pooling, LayerNorm and GELU: 28 → 14 → 7 → 3, then a linear layer to
// the embedding and another, the concept bottleneck, to the logits. LayerNorm runs over channels, height
// and width of an image with a scale and shift per channel (group norm with one group), so that nothing
// depends on the batch, and stands after the pooling, where it sees a quarter of the values. A block of
// several convolutions normalises between them as well.
#include "nn/perception.h"

#include <cmath>

#include "as2/error.h"
#include "nn/precision.h"

namespace as2::nn {

namespace {

// Over channels, height and width, with a scale and shift per channel. Tensor cores want channels last, and
// LibTorch's group norm wants them first: where they are last, a layer norm of the flat image is the same.
torch::Tensor image_norm(const torch::Tensor& x, const Affine& norm) {
  if (!x.is_cuda()) return torch::group_norm(x, 1, norm.weight, norm.bias);
  const auto rows = x.permute({0, 2, 3, 1}).contiguous();
  const auto normed = at::layer_norm(rows, rows.sizes().slice(1));
  return at::addcmul(norm.bias, normed, norm.weight).permute({0, 3, 1, 2});
}

}  // namespace

PerceptionImpl::PerceptionImpl(const PerceptionOptions& options) : options_(options) {
  AS2_REQUIRE(options.symbols > 0 && options.d_model > 0 && options.width > 0 && options.convolutions > 0,
              "perception sizes must be positive");
  std::int64_t in = 1;
  for (const std::int64_t base : options.channels) {
    const auto out = std::max<std::int64_t>(1, std::llround(static_cast<double>(base) * options.width));
    for (int c = 0; c < options.convolutions; ++c) {
      const auto index = std::to_string(convolutions_.size());
      const auto kernel = torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false);
      convolutions_.push_back(register_module("conv_" + index, torch::nn::Conv2d(kernel)));
      norms_.push_back(register_module("norm_" + index, torch::nn::GroupNorm(1, out)));
      in = out;
    }
  }
  embed_ = register_module("embed", torch::nn::Linear(in * 3 * 3, options.d_model));
  head_ = register_module("head", torch::nn::Linear(options.d_model, options.symbols));
  temperature_ = register_buffer("temperature", torch::ones({}));
}

PerceptionOutput PerceptionImpl::forward(const torch::Tensor& images) {
  const ComputeScope scope(images.device());
  const auto dtype = scope.dtype();
  auto x = (images.dim() == 3 ? images.unsqueeze(1) : images).to(dtype);
  AS2_REQUIRE(x.dim() == 4 && x.size(1) == 1 && x.size(2) == 28 && x.size(3) == 28,
              "images are [images, 28, 28]");
  const auto format = x.is_cuda() ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  for (std::size_t k = 0; k < convolutions_.size(); ++k) {
    const auto kernel = convolutions_[k]->weight.to(dtype).contiguous(format);
    x = torch::conv2d(x.contiguous(format), kernel, {}, 1, 1);
    if ((k + 1) % options_.convolutions == 0) x = torch::max_pool2d(x, 2);
    x = torch::gelu(image_norm(x, Affine::of(norms_[k], dtype)));
  }
  const auto embedding = torch::gelu(Affine::of(embed_, dtype).linear(x.flatten(1)));
  const auto dropped = torch::dropout(embedding, options_.dropout, is_training());
  return {embedding, Affine::of(head_, dtype).linear(dropped).to(torch::kFloat32)};
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
