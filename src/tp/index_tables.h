// Padded tables of references into a vector of values, and the few tensor operations everything is made of.
//
// All values of one batch element live in one vector: the beliefs [positions · symbols] (padding is 0), then
// a 0 and a 1 (what tables are padded with), then the sums of set literals with several symbols, then what a
// circuit computes. A table row names the inputs of one product, sum or maximum, so that a whole level of a
// program is one gather and a handful of operations, however many ground instances it has.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "tp/value_reference.h"

namespace as2::tp {

// Rows of references, padded to one width.
struct IndexTable {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  torch::Tensor index;   // [rows · width] int64
  torch::Tensor sign;    // [rows, width] 1 or −1; undefined where nothing is complemented
  torch::Tensor offset;  // [rows, width] 0 or 1

  static IndexTable of(const std::vector<std::vector<Reference>>& rows, Reference padding);
  // [batch, n] → [batch, rows, width].
  torch::Tensor read(const torch::Tensor& values) const;
  IndexTable to(torch::Device device, torch::ScalarType type) const;
};

torch::Tensor index_tensor(const std::vector<std::int64_t>& values);

// [.., width] → [.., width]: entry i is the product of all entries but i. By scans of doubling stride: no
// division, so zeros are exact in the value and in the gradient.
torch::Tensor product_of_others(const torch::Tensor& factors);
// [.., width] → [..]: the product, by halving.
torch::Tensor product(torch::Tensor factors);

// Sizes that share a padded table: rounded up to three significant bits, so that padding stays under a
// quarter and the number of tables under four per doubling.
std::int64_t size_class(std::int64_t size);

}  // namespace as2::tp
