#include "boards/boards.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "as2/error.h"
#include "as2/open_solver.h"
#include "formats/image.h"

namespace as2::boards {

BoardSolver open_board_solver(const std::filesystem::path& weights, std::optional<sudoku::Box> box,
                              const OpenSolver& open, const asp::GroundOptions& grounding) {
  infer::Card card = infer::read_card(weights);
  infer::ProgramSource source = card.program;
  const std::size_t cells = box ? static_cast<std::size_t>(box->cells()) : 0;
  if (box && card.shape.positions.size() != cells) {  // the same program for other boxes
    source.compiled.clear();
    source.constants = {{"b", std::to_string(box->rows)}};
    if (!box->is_square())
      source.constants = {{"h", std::to_string(box->rows)}, {"w", std::to_string(box->columns)}};
  }
  const auto program = infer::load_program(source, grounding);
  if (box && program->positions.size() != cells) {
    throw InputError({weights.string()},
                     "its program has " + std::to_string(program->positions.size()) +
                         " positions, the board " + std::to_string(cells) + " cells",
                     {"give --model a model of boards, as `as2 train sudoku` writes it"});
  }
  // Numbers of several digits are read digit by digit (cell_reader.h), not by the model's own perception.
  if (has_long_numbers(*program)) card.pictures.positions.clear();
  return {source, open(card, program), grid_side(*program, source.file)};
}

bool has_long_numbers(const compile::ConstraintProgram& program) {
  return std::any_of(
      program.positions.begin(), program.positions.end(), [](const compile::Position& position) {
        return std::any_of(position.symbols.begin(), position.symbols.end(), [](const std::string& symbol) {
          return symbol.size() > 1 && symbol.find_first_not_of("0123456789") == std::string::npos;
        });
      });
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

sudoku::Box shown_box(const compile::ConstraintProgram& program, int side) {
  const sudoku::Box box = sudoku::box_of_side(side).value_or(side);
  if (box.is_square()) return box;
  std::vector<int> first;
  for (int cell = 0; cell < side; ++cell) first.push_back(cell / box.columns * side + cell % box.columns);
  const bool has_boxes = std::any_of(program.groups.begin(), program.groups.end(),
                                     [&](const compile::Group& group) { return group.positions == first; });
  return has_boxes ? box : sudoku::Box(side);
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

std::uint8_t number_of(const std::string& symbol) {
  int number = 0;
  const char* const end = symbol.data() + symbol.size();
  const auto [last, error] = std::from_chars(symbol.data(), end, number);
  if (error != std::errc() || last != end || number < 0 || number > 255) {
    throw InputError("the symbol " + symbol + " of a cell cannot be drawn",
                     {"boards are drawn with numbers from 0 to 255"});
  }
  return static_cast<std::uint8_t>(number);
}

sudoku::Grid digits_of(const infer::Solver& solver, const infer::Answer& answer) {
  sudoku::Grid grid;
  for (std::size_t i = 0; i < solver.program().positions.size(); ++i) {
    const std::string& symbol =
        solver.program().positions[i].symbols[static_cast<std::size_t>(answer.assignment()[i])];
    grid.push_back(number_of(symbol));
  }
  return grid;
}

}  // namespace as2::boards
