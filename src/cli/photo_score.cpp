#include "cli/photo_score.h"

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "as2/error.h"
#include "boards/boards.h"
#include "files.h"

namespace as2::cli {

sudoku::Grid read_clues(const std::string& path, std::size_t cells) {
  std::istringstream in(read_file(path));
  std::string line;
  std::getline(in, line);
  std::getline(in, line);
  sudoku::Grid grid;
  for (int number = 0; in >> number;) {
    if (number < 0 || number > 255)
      throw InputError({path}, "has the number " + std::to_string(number) + ", expected those of a board");
    grid.push_back(static_cast<std::uint8_t>(number));
  }
  if (grid.size() != cells) {
    throw InputError({path},
                     "has " + std::to_string(grid.size()) + " numbers, expected " + std::to_string(cells),
                     {"two lines about the picture, then one row of numbers per row of the board"});
  }
  return grid;
}

void PhotoScore::add(const std::string& image, const boards::PhotoAnswer* found, const infer::Solver& solver,
                     const std::string& error) {
  const std::size_t cells = solver.program().positions.size();
  const sudoku::Grid clues =
      read_clues(std::filesystem::path(image).replace_extension(".dat").string(), cells);
  ++photos_;
  if (!found) {
    ++refused_;
    notes_.push_back("refused: " + error);
    return;
  }
  ++found_;
  const infer::Answer& answer = found->answer;
  sudoku::Grid read(cells, 0);
  const auto digit = [&](int position, int symbol) {
    return boards::number_of(solver.program()
                                 .positions[static_cast<std::size_t>(position)]
                                 .symbols[static_cast<std::size_t>(symbol)]);
  };
  for (const int position : answer.evidence) {
    read[static_cast<std::size_t>(position)] =
        digit(position, answer.completable ? answer.assignment()[static_cast<std::size_t>(position)]
                                           : solver.read_at(answer, position));
  }
  std::string differing;
  bool agrees = answer.completable;
  const sudoku::Grid solved = answer.completable ? boards::digits_of(solver, answer) : sudoku::Grid(cells, 0);
  const int side = found->lattice.side;
  for (std::size_t k = 0; k < cells; ++k) {
    ++cells_;
    cells_right_ += read[k] == clues[k];
    agrees = agrees && (clues[k] == 0 || solved[k] == clues[k]);
    if (read[k] == clues[k]) continue;
    differing += "; row " + std::to_string(k / static_cast<std::size_t>(side) + 1) + ", column " +
                 std::to_string(k % static_cast<std::size_t>(side) + 1) + " has " + std::to_string(clues[k]) +
                 ", read " + std::to_string(read[k]);
  }
  if (!answer.completable || !answer.unique.value_or(false)) {
    ++refused_;
    notes_.push_back(image + (answer.completable ? ": not unique" : ": no completion") + differing);
  } else if (agrees && differing.empty()) {
    ++right_;
  } else {
    ++(agrees ? agree_ : wrong_);
    notes_.push_back(image + (agrees ? ": right answer" : ": WRONG answer") + differing);
  }
}

void PhotoScore::print() const {
  for (const std::string& note : notes_) std::fprintf(stderr, "%s\n", note.c_str());
  std::fprintf(stderr,
               "%d photos: %d boards found; %lld of %lld cells read; %d wholly right, %d right but for cells "
               "read, %d wrong, %d refused or not unique\n",
               photos_, found_, static_cast<long long>(cells_right_), static_cast<long long>(cells_), right_,
               agree_, wrong_, refused_);
}

}  // namespace as2::cli
