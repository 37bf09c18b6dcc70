#include "boards/boards.h"

#include <cmath>

#include "as2/error.h"
#include "as2/open_solver.h"
#include "formats/image.h"

namespace as2::boards {

BoardSolver open_board_solver(const std::filesystem::path& weights, int box, const OpenSolver& open,
                              const asp::GroundOptions& grounding) {
  const infer::Card card = infer::read_card(weights);
  infer::ProgramSource source = card.program;
  const auto cells = static_cast<std::size_t>(box * box * box * box);
  if (box > 0 && card.shape.positions.size() != cells) {  // the same program for boxes of another side
    source.compiled.clear();
    source.constants = {{"b", std::to_string(box)}};
  }
  const auto program = infer::load_program(source, grounding);
  if (box > 0 && program->positions.size() != cells) {
    throw InputError({weights.string()},
                     "its program has " + std::to_string(program->positions.size()) +
                         " positions, the board " + std::to_string(cells) + " cells",
                     {"give --model a model of boards, as `as2 train sudoku` writes it"});
  }
  return {source, open(card, program), grid_side(*program, source.file)};
}

int grid_side(const compile::ConstraintProgram& program, const std::string& file) {
  const auto side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(program.positions.size()))));
  const auto refuse = [&](const std::string& why) {
    throw InputError({file}, "its positions are not the cells of a square board: " + why,
                     {"positions of boards are named NAME(ROW,COLUMN,…), row by row, counted from 1"});
  };
  if (program.positions.empty() || side * side != static_cast<int>(program.positions.size()))
    refuse("there are " + std::to_string(program.positions.size()));
  for (int k = 0; k < side * side; ++k) {
    const std::string& name = program.positions[static_cast<std::size_t>(k)].name;
    const std::string place = "(" + std::to_string(k / side + 1) + "," + std::to_string(k % side + 1) + ",";
    if (name.find(place) == std::string::npos) refuse("found " + name + ", expected " + place + "…)");
  }
  return side;
}

infer::Scene scene_of(const vision::BoardReading& board) {
  infer::Scene scene;
  for (std::size_t cell = 0; cell < board.cells.size(); ++cell) {
    if (board.blank[cell]) continue;
    scene.push_back({static_cast<int>(cell), board.cells[cell].pixels});
  }
  return scene;
}

std::vector<infer::Scene> scenes_of(const std::vector<vision::BoardReading>& boards) {
  std::vector<infer::Scene> scenes;
  for (const vision::BoardReading& board : boards) scenes.push_back(scene_of(board));
  return scenes;
}

infer::Scene read_scene(const std::filesystem::path& picture, int side) {
  return scene_of(vision::read_board(formats::read_image(picture.string()), picture.string(), side));
}

sudoku::Grid digits_of(const infer::Solver& solver, const infer::Answer& answer) {
  sudoku::Grid grid;
  for (std::size_t i = 0; i < solver.program().positions.size(); ++i) {
    const std::string& symbol =
        solver.program().positions[i].symbols[static_cast<std::size_t>(answer.assignment()[i])];
    grid.push_back(static_cast<std::uint8_t>(std::stoi(symbol)));
  }
  return grid;
}

}  // namespace as2::boards
