// Whole photos of printed boards, drawn as page.h draws sheets: to try `as2 solve --score` on, and to test
// it.
#pragma once

#include <functional>
#include <string>

#include "sudoku/board.h"
#include "vision/page.h"

namespace as2::vision {

// An ordinary photo, to be made worse: a sheet nearly upright, slightly bent, in slightly uneven light.
PageOptions ordinary_page();

struct BoardPhotoOptions {
  std::uint64_t seed = 0;
  int entries = 0;  // cells that a player has filled in by hand, the first one wrongly
  const formats::Typeface* face = nullptr;  // none: digits drawn with straight strokes
};

// The sheet of board k, turned by up to 30 degrees and seen askance by up to 30, in light that falls off by
// up to a half. InputError where no more cells are blank than there are entries.
Page photograph(const sudoku::Board& board, std::size_t k, const datasets::Digits& digits,
                const std::vector<std::vector<std::uint32_t>>& by_label, const BoardPhotoOptions& options);

// Photographs the boards of a list into `folder` (made if needed): board-00000.jpg, … and beside each the
// clues in a .dat file, as `as2 solve --score` reads them. `done` is called after each board.
void photograph_boards(const std::vector<sudoku::Board>& boards, const datasets::Digits& digits,
                       const BoardPhotoOptions& options, const std::string& folder,
                       const std::function<void()>& done = {});

}  // namespace as2::vision
