#include "tp/index_tables.h"

#include <algorithm>

namespace as2::tp {

torch::Tensor index_tensor(const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

IndexTable IndexTable::of(const std::vector<std::vector<Reference>>& rows, Reference padding) {
  IndexTable table;
  table.rows = static_cast<std::int64_t>(rows.size());
  table.width = 1;
  for (const auto& row : rows) table.width = std::max(table.width, static_cast<std::int64_t>(row.size()));
  std::vector<std::int64_t> index;
  std::vector<double> complement;
  bool any = false;
  for (const auto& row : rows) {
    for (std::int64_t k = 0; k < table.width; ++k) {
      const Reference& entry = k < static_cast<std::int64_t>(row.size()) ? row[k] : padding;
      index.push_back(entry.index);
      complement.push_back(entry.complement ? 1.0 : 0.0);
      any = any || entry.complement;
    }
  }
  table.index = index_tensor(index);
  if (any) {
    table.offset = torch::tensor(complement, torch::kFloat64).view({table.rows, table.width});
    table.sign = 1 - 2 * table.offset;
  }
  return table;
}

torch::Tensor IndexTable::read(const torch::Tensor& values) const {
  torch::Tensor read = values.index_select(1, index).view({values.size(0), rows, width});
  return sign.defined() ? read * sign + offset : read;
}

IndexTable IndexTable::to(torch::Device device, torch::ScalarType type) const {
  IndexTable moved = *this;
  if (index.defined()) moved.index = index.to(device);
  if (sign.defined()) {
    moved.sign = sign.to(device, type);
    moved.offset = offset.to(device, type);
  }
  return moved;
}

namespace {

// Moves entries `by` places to the right and fills up with ones from the left.
torch::Tensor shifted(const torch::Tensor& x, std::int64_t by) {
  return torch::constant_pad_nd(x.narrow(-1, 0, x.size(-1) - by), {by, 0}, 1);
}

// Entry i is the product of the entries before it.
torch::Tensor product_before(const torch::Tensor& factors) {
  torch::Tensor products = shifted(factors, 1);
  for (std::int64_t stride = 1; stride < factors.size(-1); stride *= 2) {
    products = products * shifted(products, stride);
  }
  return products;
}

}  // namespace

torch::Tensor product_of_others(const torch::Tensor& factors) {
  return product_before(factors) * product_before(factors.flip({-1})).flip({-1});
}

torch::Tensor product(torch::Tensor factors) {
  while (factors.size(-1) > 1) {
    const std::int64_t half = (factors.size(-1) + 1) / 2;
    torch::Tensor upper = factors.narrow(-1, half, factors.size(-1) - half);
    if (upper.size(-1) < half) upper = torch::constant_pad_nd(upper, {0, 1}, 1);
    factors = factors.narrow(-1, 0, half) * upper;
  }
  return factors.squeeze(-1);
}

std::int64_t size_class(std::int64_t size) {
  std::int64_t step = 1;
  while (size > 8 * step) step *= 2;
  return (size + step - 1) / step * step;
}

}  // namespace as2::tp
