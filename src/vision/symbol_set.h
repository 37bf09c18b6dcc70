// Labelled pictures of what a handwritten formula is made of: digits of MNIST, and operators drawn in the
// typefaces of a machine, each turned, slanted and stretched at random.
#pragma once

#include "vision/cell_set.h"

namespace as2::vision {

struct SymbolSetOptions {
  std::size_t per_class = 5000;
  std::uint64_t seed = 0;
};

// Class by class (`0` … `9`, `plus`, `minus`, `times`) pictures of 28 × 28 bytes, in the order of a CellSet:
// of every ten the first eight show training digits and typefaces, the ninth those for validation and the
// tenth those for the test. A typeface without an operator is left out of its pictures.
CellSet make_symbols(const std::vector<Family>& families, const datasets::Mnist& mnist,
                     const SymbolSetOptions& options);

}  // namespace as2::vision
