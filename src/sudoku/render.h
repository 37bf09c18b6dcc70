// Boards as the paper draws them: one 28×28 MNIST digit per clue, no lines, black blanks; 252×252 pixels for
// 9×9.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "datasets/mnist.h"
#include "formats/image.h"
#include "random.h"
#include "sudoku/board.h"

namespace as2::sudoku {

inline constexpr std::int32_t kBlank = -1;

// For each cell the index of the digit image drawn there, kBlank in blank cells.
using CellImages = std::vector<std::int32_t>;

// A random image of the right class for each clue; `by_label` is indices_by_label() of the split.
// Throws InputError for digits above 9, which MNIST does not have.
CellImages choose_images(const Grid& puzzle, const std::vector<std::vector<std::uint32_t>>& by_label,
                         Random& random);
formats::Image render_board(const CellImages& cells, const datasets::Digits& digits);

// Draws the boards of a list into `folder` (made if needed): board-00000.png, … and labels.jsonl, one line
// per board: {"file","split","puzzle","solution","images"}, images being CellImages. Board k is a function of
// (seed, k). `done` is called after each board.
void render_boards(const std::vector<Board>& boards, const datasets::Mnist& mnist, datasets::Split split,
                   std::uint64_t seed, const std::string& folder, const std::function<void()>& done = {});

}  // namespace as2::sudoku
