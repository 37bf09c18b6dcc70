// The symmetries of Sudoku (sudoku::Symmetry) on whole batches of boards, on a device.
#pragma once

#include <torch/torch.h>

namespace as2::task {

class Symmetries {
 public:
  // Boards of box × box boxes.
  Symmetries(int box, torch::Device device);

  // Numbers in 0 … 1 that one symmetry is drawn with: the order of rows, that of columns, whether to
  // transpose, and one per digit, whose ranks rename them.
  std::int64_t numbers() const { return side_ + 3; }
  // `numbers` [boards, numbers()] gives each board of `labels` [boards, cells], −1 where not known, and
  // `evidence` [boards, cells] a symmetry of its own.
  void apply(const torch::Tensor& numbers, torch::Tensor& labels, torch::Tensor& evidence) const;

 private:
  std::int64_t side_;
  torch::Tensor line_orders_;  // [orders, side] int64: sudoku::line_orders()
};

}  // namespace as2::task
