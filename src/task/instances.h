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

// In Instances::pictures, the first of the examples' own files.
constexpr std::int32_t kFirstFile = -2;

// Examples. What a position's label is, what a picture there shows, and what training may use are three
// things: hiding a label leaves `shows`, `evidence` and `pictures` as they were.
//
// Sources say what labels, evidence and pictures are; complete() and Task::instances() add the rest.
struct Instances {
  torch::Tensor labels;    // [instances, positions] int16 symbols; −1: nobody knows
  torch::Tensor evidence;  // [instances, positions] bool
  // [instances, positions] int32 indices into the pool; −1: drawn by `shows`; kFirstFile − k: the k-th of
  // `files`. Undefined: all are drawn.
  torch::Tensor pictures;
  torch::Tensor files;  // [files, 28, 28] uint8: pictures that the examples bring themselves; undefined: none
  // [instances, positions] int16: the symbol that a picture or a given value there shows, or would show were
  // it evidence; −1: nobody knows.
  torch::Tensor shows;
  torch::Tensor known;     // [instances, positions] bool: labels that cross-entropy may use
  torch::Tensor observed;  // [instances, positions] bool: labels that constraints and likelihoods are given
  // [instances, atoms] int8 for the atoms that the task observes: 1 and 0, holds or does not; −1: not
  // observed. Undefined: the task observes none.
  torch::Tensor atoms;

  // Examples that say nothing yet.
  static Instances blank(std::int64_t count, std::int64_t positions);
  std::int64_t size() const { return labels.size(0); }
  // Those that are not said yet: every known label may be used, none is observed, and pictures show labels.
  Instances completed() const;
  // `count` examples from `first` on, sharing storage.
  Instances slice(std::int64_t first, std::int64_t count) const;
  Instances to(torch::Device device) const;
};

}  // namespace as2::task
