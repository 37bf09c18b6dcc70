// The symmetries of Sudoku (sudoku::Symmetry) on whole batches of boards, on a device.
#pragma once

#include <torch/torch.h>

#include "sudoku/board.h"

namespace as2::task {

class Symmetries {
 public:
  Symmetries(sudoku::Box box, torch::Device device);

  // Numbers in 0 … 1 that one symmetry is drawn with: the order of rows, that of columns, whether to
  // transpose (without effect where boxes are not square), and one per digit, whose ranks rename them.
  std::int64_t numbers() const { return side_ + 3; }
  // One symmetry per board.
  struct Drawn {
    torch::Tensor from;     // [boards, cells] int64: the cell that comes here
    torch::Tensor renamed;  // [boards, digits] int64: what each digit is called now

    // What belongs to the cells, [boards, cells].
    torch::Tensor moved(const torch::Tensor& cells) const { return cells.gather(1, from); }
    // Digits in the cells, [boards, cells] int64; −1, not known, stays.
    torch::Tensor moved_digits(const torch::Tensor& digits) const;
  };
  // From `numbers` [boards, numbers()].
  Drawn draw(const torch::Tensor& numbers) const;

 private:
  std::int64_t side_;
  bool transposes_;
  torch::Tensor row_orders_, column_orders_;  // [orders, side] int64 each: sudoku::line_orders()
};

}  // namespace as2::task
