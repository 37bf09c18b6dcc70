// Lists of boards as public collections write them, one puzzle per line:
//   53..7....6..195...…            81 characters (16 to 256 for other sizes), `.` or `0` is blank
//   53..7….,534678912…             the solution after a comma
//   53..7….:1:534678912…           or after a second colon, with any word between
// `#` starts a comment, empty lines are skipped; digits above 9 are A … G.
#pragma once

#include <string>
#include <vector>

#include "sudoku/board.h"

namespace as2::sudoku {

// Reads a list; `name` stands for the file in messages. All boards of a list have the same size. Throws
// InputError with the line's number for a broken line, two clues that clash, or a solution that is not the
// puzzle's.
std::vector<Board> parse_boards(const std::string& text, const std::string& name);
// The same from a file, plain or gzipped.
std::vector<Board> read_boards(const std::string& path);

// The same for a list whose every puzzle has exactly one solution; solutions are found where the list has
// none. InputError names the line of a puzzle that has none or several.
std::vector<Board> read_unique_boards(const std::string& path);

// The cells as characters, `.` for blanks.
std::string grid_text(const Grid& grid);
// One line per board: the puzzle, then `,solution` where there is one.
std::string format_boards(const std::vector<Board>& boards);

}  // namespace as2::sudoku
