#include "task/tensor/symmetries.h"

#include "sudoku/board.h"

namespace as2::task {

Symmetries::Symmetries(int box, torch::Device device) : side_(box * box) {
  std::vector<std::int64_t> lines;
  for (const std::vector<int>& order : sudoku::line_orders(box))
    lines.insert(lines.end(), order.begin(), order.end());
  line_orders_ = torch::tensor(lines).view({-1, side_}).to(device);
}

Symmetries::Drawn Symmetries::draw(const torch::Tensor& numbers) const {
  const auto orders = [&](std::int64_t column) {
    const std::int64_t count = line_orders_.size(0);
    const torch::Tensor choice = (numbers.select(1, column) * count).to(torch::kInt64).clamp_max(count - 1);
    return line_orders_.index_select(0, choice);
  };
  const torch::Tensor rows = orders(0).unsqueeze(2), columns = orders(1).unsqueeze(1);
  const torch::Tensor transpose = (numbers.select(1, 2) < 0.5).view({-1, 1, 1});
  return {torch::where(transpose, columns * side_ + rows, rows * side_ + columns).flatten(1),
          numbers.narrow(1, 3, side_).argsort(1, false)};
}

torch::Tensor Symmetries::Drawn::moved_digits(const torch::Tensor& digits) const {
  const torch::Tensor here = moved(digits);
  return torch::where(here < 0, here, renamed.gather(1, here.clamp_min(0)));
}

}  // namespace as2::task
