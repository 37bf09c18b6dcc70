// Lists: puzzles, and tuples of digits with their sums.
#include "datasets/addition.h"
#include "fuzz/fuzz.h"
#include "sudoku/board_list.h"

AS2_FUZZ(bytes) {
  using as2::fuzz::refused_or_read;
  refused_or_read([&] {
    const auto boards = as2::sudoku::parse_boards(bytes, "fuzz.txt");
    as2::sudoku::parse_boards(as2::sudoku::format_boards(boards), "again.txt");
  });
  refused_or_read([&] { as2::datasets::parse_addition(bytes, "fuzz.txt", 2, 100); });
}
