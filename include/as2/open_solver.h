// Trained weights as a Solver, without LibTorch: what `as2 solve` runs on.
//
//   as2::infer::Solver solver = as2::native::open_solver("sudoku-best.safetensors");
//   as2::infer::Answer answer = solver.solve({as2::boards::read_scene("board.png")}).front();
//   as2::compile::shown_atoms(solver.program(), answer.assignment());
#pragma once

#include <cstddef>
#include <filesystem>

#include "as2/solver.h"

namespace as2::native {

struct OpenOptions {
  bool with_guide = true;                           // false: perception and decoder alone
  int threads = 0;                                  // 0: one per core
  std::size_t memory = std::size_t{256} * 1000000;  // bytes the networks may take beyond their weights
  infer::SolverOptions solver;
};

// The solver of a weights file for the program its card names; the card is the `.json` file beside it.
// InputError where a file is missing or damaged, does not fit the others, or reads no pictures.
infer::Solver open_solver(const std::filesystem::path& weights, const OpenOptions& options = {});

}  // namespace as2::native

namespace as2::boards {

// The cells with ink of a board in a picture (PNG, JPEG, BMP or PGM), for a program whose positions are cells
// in reading order. InputError where no board of side × side cells is found.
infer::Scene read_scene(const std::filesystem::path& picture, int side = 9);

}  // namespace as2::boards
