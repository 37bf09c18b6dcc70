// Labelled pictures of cells, for training the network that reads photos: pages are drawn as PageOptions say
// and cut as photos are.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vision/page.h"
#include "vision/typefaces.h"

namespace as2::vision {

// MNIST's digits as they are kept apart: training, validation (the last of the training digits, as `as2
// train` has it), test. Keeps a reference.
struct DigitParts {
  explicit DigitParts(const datasets::Mnist& mnist);
  const datasets::Digits& of(std::size_t part) const { return part == 2 ? mnist.test : mnist.train; }

  const datasets::Mnist& mnist;
  std::array<std::vector<std::vector<std::uint32_t>>, 3> by_label;
};

struct CellSetOptions {
  std::size_t per_class = 6000;  // pictures of each class; blank cells: eight times as many
  std::uint64_t seed = 0;
  int threads = 1;
};

// Class by class (`blank`, `printed(0)` … `printed(9)`, `written(0)` … `written(9)`) pictures of 28 × 28
// bytes, one after the other. Of every ten the first eight show training typefaces and digits, the ninth
// those for validation and the tenth those for the test, as a folder of pictures is split by `as2 train`.
using CellSet = std::map<std::string, std::vector<std::uint8_t>>;
CellSet make_cells(const std::vector<Family>& families, const datasets::Mnist& mnist,
                   const CellSetOptions& options, const std::function<void(std::size_t pages)>& report = {});

// The name of the class that shows a cell's content.
std::string class_name(const CellContent& content);

}  // namespace as2::vision
