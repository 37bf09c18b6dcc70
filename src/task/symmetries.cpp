#include "task/symmetries.h"

#include "sudoku/board.h"

namespace as2::task {

Symmetries::Symmetries(int box, torch::Device device) : side_(box * box) {
  std::vector<std::int64_t> lines;
  for (const std::vector<int>& order : sudoku::line_orders(box))
    lines.insert(lines.end(), order.begin(), order.end());
  line_orders_ = torch::tensor(lines).view({-1, side_}).to(device);
}

void Symmetries::apply(const torch::Tensor& numbers, torch::Tensor& labels, torch::Tensor& evidence) const {
  const auto orders = [&](std::int64_t column) {
    const std::int64_t count = line_orders_.size(0);
    const torch::Tensor choice = (numbers.select(1, column) * count).to(torch::kInt64).clamp_max(count - 1);
    return line_orders_.index_select(0, choice);
  };
  const torch::Tensor rows = orders(0).unsqueeze(2), columns = orders(1).unsqueeze(1);
  const torch::Tensor transpose = (numbers.select(1, 2) < 0.5).view({-1, 1, 1});
  const torch::Tensor from =
      torch::where(transpose, columns * side_ + rows, rows * side_ + columns).flatten(1);
  labels = labels.gather(1, from);
  evidence = evidence.gather(1, from);
  const torch::Tensor renamed = numbers.narrow(1, 3, side_).argsort(1, false).gather(1, labels.clamp_min(0));
  labels = torch::where(labels < 0, labels, renamed);
}

}  // namespace as2::task
