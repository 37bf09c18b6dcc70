// Refinement alone on generated Sudoku boards: no network, clues given, blanks uniform.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <iostream>

#include "as2/soft_tp.h"
#include "sudoku/board.h"
#include "support/hand_programs.h"

namespace as2::test {
namespace {

double solved_share(const std::vector<sudoku::Board>& boards, int steps) {
  const auto count = static_cast<std::int64_t>(boards.size());
  torch::Tensor beliefs = torch::full({count, 81, 9}, 1.0f / 9);
  torch::Tensor solution = torch::zeros({count, 81}, torch::kInt64);
  for (std::int64_t b = 0; b < count; ++b) {
    for (std::int64_t cell = 0; cell < 81; ++cell) {
      solution[b][cell] = boards[b].solution[cell] - 1;
      if (boards[b].puzzle[cell] == 0) continue;
      beliefs[b][cell].zero_();
      beliefs[b][cell][boards[b].puzzle[cell] - 1] = 1;
    }
  }
  const torch::Tensor read = tp::SoftTp(sudoku(3)).refine(beliefs, steps).argmax(-1);
  return read.eq(solution).all(1).to(torch::kFloat64).mean().item<double>();
}

TEST(Refinement, SolvesMostGeneratedBoardsOf45Clues) {
  const std::vector<sudoku::Board> boards = sudoku::generate({3, 45, 45, 11}, 0, 100);
  const double ten = solved_share(boards, 10), fifty = solved_share(boards, 50);
  std::cout << "boards solved by refinement alone: K = 10: " << ten << ", K = 50: " << fifty << '\n';
  EXPECT_GT(ten, 0.6);
  EXPECT_GE(fifty, ten);
}

}  // namespace
}  // namespace as2::test
