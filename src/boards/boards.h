// Sudoku boards in pictures for the solver, which knows nothing of them: the only place where both meet.
#pragma once

#include <filesystem>

#include "as2/solver.h"
#include "infer/program.h"
#include "sudoku/board.h"
#include "vision/board_image.h"

namespace as2::eval {

struct BoardSolver {
  infer::ProgramSource source;
  infer::Solver solver;
};

// The solver of these weights, for boards of box × box boxes; InputError where they do not fit.
BoardSolver open_board_solver(const std::filesystem::path& weights, int box, bool with_guide = true,
                              const infer::SolverOptions& options = {});

// A picture for every cell with ink; cells stand in reading order, as the program's positions do.
infer::Scene scene_of(const vision::BoardReading& board);
std::vector<infer::Scene> scenes_of(const std::vector<vision::BoardReading>& boards);

// The digits of the answer in reading order.
sudoku::Grid digits_of(const infer::Solver& solver, const infer::Answer& answer);

}  // namespace as2::eval
