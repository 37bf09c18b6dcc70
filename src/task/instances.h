// A task's examples and pictures as tensors.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace as2::task {

// Which part of the examples: validation pictures are kept out of training, test pictures are MNIST's own.
enum class Part { kTrain, kValidation, kTest };

// Pictures, sorted by class.
struct ImagePool {
  torch::Tensor pixels;            // [images, 28, 28] uint8, ink 255 on paper 0
  torch::Tensor classes;           // [images] int64, ascending
  std::vector<std::string> names;  // of the classes: the symbols they show
  torch::Tensor place;             // [images] int64: where the i-th picture of the source now stands

  // Sorts by class.
  static ImagePool of(const torch::Tensor& pixels, const torch::Tensor& classes,
                      std::vector<std::string> names);
  ImagePool to(torch::Device device) const;
};

// Examples: what every position holds, and which positions are evidence.
struct Instances {
  torch::Tensor labels;    // [instances, positions] int16 symbols; −1: not known
  torch::Tensor evidence;  // [instances, positions] bool
  torch::Tensor
      pictures;  // [instances, positions] int32 indices into the pool, −1: none; undefined: drawn by label

  // Examples that say nothing yet.
  static Instances blank(std::int64_t count, std::int64_t positions);
  std::int64_t size() const { return labels.size(0); }
  // `count` examples from `first` on, sharing storage.
  Instances slice(std::int64_t first, std::int64_t count) const;
  Instances to(torch::Device device) const;
};

}  // namespace as2::task
