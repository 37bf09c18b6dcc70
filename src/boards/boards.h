// Boards in pictures for the solver, which knows nothing of them: the only place where both meet.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "as2/solver.h"
#include "infer/card.h"
#include "infer/grounding.h"
#include "sudoku/board.h"
#include "vision/board_image.h"

namespace as2::boards {

// Opens the solver of a card for a program, with LibTorch or without: infer/tensor/open.h, native/networks.h.
using OpenSolver =
    std::function<infer::Solver(const infer::Card&, std::shared_ptr<const compile::ConstraintProgram>)>;

struct BoardSolver {
  infer::ProgramSource source;
  infer::Solver solver;
  int side = 0;  // of the board, in cells
};

// The solver of these weights for the board that their card's program describes, or for the same program with
// boxes of that shape; InputError where they do not fit.
BoardSolver open_board_solver(const std::filesystem::path& weights, std::optional<sudoku::Box> box,
                              const OpenSolver& open, const asp::GroundOptions& grounding = {});

// Whether cells hold numbers of several digits, which no network reads as one picture.
bool has_long_numbers(const compile::ConstraintProgram& program);

// How many rows and columns the board has whose cells are the program's positions: `cell(1,1,_)`,
// `cell(1,2,_)`, …, whatever they are called. InputError at `file` for any other program.
int grid_side(const compile::ConstraintProgram& program, const std::string& file);

// The boxes that a board of that side is shown in. Six rows need not have any: boxes that are not square have
// to be those of the program, one of whose groups holds the cells of the first. Without boxes the whole
// board.
sudoku::Box shown_box(const compile::ConstraintProgram& program, int side);

// A picture for every cell with ink; cells stand in reading order, as the program's positions do.
infer::Scene scene_of(const vision::BoardReading& board);
std::vector<infer::Scene> scenes_of(const std::vector<vision::BoardReading>& boards);

// The number that a symbol of a board is, 0 to 255; InputError where it is none.
std::uint8_t number_of(const std::string& symbol);
// The numbers of the answer in reading order.
sudoku::Grid digits_of(const infer::Solver& solver, const infer::Answer& answer);

}  // namespace as2::boards
