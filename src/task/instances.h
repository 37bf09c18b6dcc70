// A task's examples and pictures.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "task/table.h"

namespace as2::task {

// Which part of the examples: validation pictures are kept out of training, test pictures are MNIST's own.
enum class Part { kTrain, kValidation, kTest };

// Pictures, sorted by class.
struct ImagePool {
  Table<std::uint8_t> pixels;       // [images, 28 · 28], ink 255 on paper 0
  std::vector<int> classes;         // [images] ascending
  std::vector<std::int64_t> place;  // [images]: where the i-th picture of the source now stands

  // Sorts by class; pictures of the same class stay in their order.
  static ImagePool of(const Table<std::uint8_t>& pixels, const std::vector<int>& classes);
  std::int64_t size() const { return pixels.rows; }
};

// In Instances::pictures, the first of the examples' own files, and evidence that has no picture: its value
// is known.
constexpr std::int32_t kFirstFile = -2;
constexpr std::int32_t kNoPicture = std::numeric_limits<std::int32_t>::min();

// Examples. What a position's label is, what a picture there shows, and what training may use are three
// things: hiding a label leaves `shows`, `evidence` and `pictures` as they were.
//
// Sources say what labels, evidence and pictures are; completed() and Task::instances() add the rest.
struct Instances {
  Table<std::int16_t> labels;  // [instances, positions] symbols; −1: nobody knows
  Flags evidence;              // [instances, positions]
  // [instances, positions] indices into the pool; −1: drawn by `shows`; kFirstFile − k: the k-th of `files`;
  // kNoPicture. Undefined: all are drawn.
  Table<std::int32_t> pictures;
  Table<std::uint8_t> files;  // [files, 28 · 28]: pictures that the examples bring themselves
  // [instances, positions]: the symbol that a picture or a given value there shows, or would show were it
  // evidence; −1: nobody knows.
  Table<std::int16_t> shows;
  Flags known;     // [instances, positions]: labels that cross-entropy may use
  Flags observed;  // [instances, positions]: labels that constraints and likelihoods are given
  // [instances, atoms] for the atoms that the task observes: 1 and 0, holds or does not; −1: not observed.
  // Undefined: the task observes none.
  Table<std::int8_t> atoms;
  Table<std::int32_t> lines;  // [instances, 1]: where they stand in their file. Undefined: they are of none

  // Examples that say nothing yet.
  static Instances blank(std::int64_t count, std::int64_t positions);
  std::int64_t size() const { return labels.rows; }
  std::int64_t positions() const { return labels.columns; }
  // With those that are not said yet: every known label may be used, none is observed, and pictures show
  // labels.
  Instances completed() const;
  // `count` examples from `first` on.
  Instances slice(std::int64_t first, std::int64_t count) const;
};

}  // namespace as2::task
