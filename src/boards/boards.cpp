#include "boards/boards.h"

#include "as2/open_solver.h"
#include "formats/image.h"

namespace as2::boards {

BoardSolver open_board_solver(const std::filesystem::path& weights, int box, const OpenSolver& open,
                              const asp::GroundOptions& grounding) {
  const infer::Card card = infer::read_card(weights);
  const auto cells = static_cast<std::size_t>(box * box * box * box);
  infer::ProgramSource source = card.program;
  if (card.shape.positions.size() != cells) {  // the same program for boxes of another side
    source.compiled.clear();
    source.constants = {{"b", std::to_string(box)}};
  }
  const auto program = infer::load_program(source, grounding);
  if (program->positions.size() != cells) {
    throw InputError({weights.string()},
                     "its program has " + std::to_string(program->positions.size()) +
                         " positions, the board " + std::to_string(cells) + " cells",
                     {"give --model a model of boards, as `as2 train sudoku` writes it"});
  }
  return {source, open(card, program)};
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

infer::Scene read_scene(const std::filesystem::path& picture, int box) {
  return scene_of(vision::read_board(formats::read_image(picture.string()), picture.string(), box));
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
