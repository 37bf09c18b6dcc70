#include "task/tensor/symmetries.h"

namespace as2::task {
namespace {

torch::Tensor orders_of(int bands, int lines, torch::Device device) {
  std::vector<std::int64_t> all;
  for (const std::vector<int>& order : sudoku::line_orders(bands, lines))
    all.insert(all.end(), order.begin(), order.end());
  return torch::tensor(all).view({-1, bands * lines}).to(device);
}

}  // namespace

Symmetries::Symmetries(sudoku::Box box, torch::Device device)
    : side_(box.side()),
      transposes_(box.is_square()),
      row_orders_(orders_of(box.columns, box.rows, device)),
      column_orders_(orders_of(box.rows, box.columns, device)) {}

Symmetries::Drawn Symmetries::draw(const torch::Tensor& numbers) const {
  const auto drawn = [&](const torch::Tensor& orders, std::int64_t column) {
    const std::int64_t count = orders.size(0);
    const torch::Tensor choice = (numbers.select(1, column) * count).to(torch::kInt64).clamp_max(count - 1);
    return orders.index_select(0, choice);
  };
  const torch::Tensor rows = drawn(row_orders_, 0).unsqueeze(2),
                      columns = drawn(column_orders_, 1).unsqueeze(1);
  torch::Tensor from = rows * side_ + columns;
  if (transposes_) {
    const torch::Tensor transpose = (numbers.select(1, 2) < 0.5).view({-1, 1, 1});
    from = torch::where(transpose, columns * side_ + rows, from);
  }
  return {from.flatten(1), numbers.narrow(1, 3, side_).argsort(1, false)};
}

torch::Tensor Symmetries::Drawn::moved_digits(const torch::Tensor& digits) const {
  const torch::Tensor here = moved(digits);
  return torch::where(here < 0, here, renamed.gather(1, here.clamp_min(0)));
}

}  // namespace as2::task
