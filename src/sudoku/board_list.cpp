#include "sudoku/board_list.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <thread>

#include "as2/error.h"
#include "formats/gzip.h"
#include "share_work.h"

namespace as2::sudoku {
namespace {

constexpr std::string_view kSymbols = ".123456789ABCDEFG";

struct Line {
  const std::string& file;
  int number;

  [[noreturn]] void fail(const std::string& message, int column = 0) const {
    throw InputError(
        {file, number, column}, message,
        {"a line is a puzzle of 16, 36, 64, 81, 100, 144, 225 or 256 characters (`.` or `0` is blank), alone "
         "or followed by `,solution` or `:word:solution`"});
  }
};

// Reads the characters text[from, to) of the line.
Grid read_grid(std::string_view text, std::size_t from, std::size_t to, const char* what, const Line& line) {
  const std::size_t cells = to - from;
  const std::optional<Box> box = box_of_cells(cells);
  if (!box) line.fail(std::string("a ") + what + " of " + std::to_string(cells) + " characters");
  const std::string side = std::to_string(box->side());
  Grid grid(cells);
  for (std::size_t k = 0; k < cells; ++k) {
    const char c = text[from + k];
    const std::size_t digit = c == '0'               ? 0
                              : c >= 'a' && c <= 'g' ? static_cast<std::size_t>(c - 'a' + 10)
                                                     : kSymbols.find(c);
    if (digit == std::string_view::npos || digit > static_cast<std::size_t>(box->side())) {
      line.fail(std::string("'") + c + "' is not a digit of a " + side + "x" + side + " board",
                static_cast<int>(from + k) + 1);
    }
    grid[k] = static_cast<std::uint8_t>(digit);
  }
  return grid;
}

Board read_line(std::string_view text, const Line& line) {
  Board board;
  const std::size_t mark = text.find_first_of(",:");
  board.puzzle = read_grid(text, 0, std::min(mark, text.size()), "puzzle", line);
  if (!is_consistent(board.puzzle)) line.fail("a digit stands twice in a row, column or box of the puzzle");
  if (mark == std::string_view::npos) return board;
  std::size_t start = mark;
  if (text[mark] == ':') start = text.find(':', mark + 1);
  if (start == std::string_view::npos) line.fail("one ':' where two are expected");
  board.solution = read_grid(text, start + 1, text.size(), "solution", line);
  if (board.solution.size() != board.puzzle.size()) line.fail("puzzle and solution differ in length");
  if (!is_solved(board.solution)) line.fail("the solution breaks the rules of Sudoku or has blanks");
  for (std::size_t k = 0; k < board.puzzle.size(); ++k) {
    if (board.puzzle[k] != 0 && board.puzzle[k] != board.solution[k])
      line.fail("the solution differs from the puzzle at clue " + std::to_string(k + 1));
  }
  return board;
}

// `use(board, line)` sees every board that is kept.
template <class Use>
std::vector<Board> parse_lines(const std::string& text, const std::string& name, Use use) {
  std::vector<Board> boards;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view content(text.data() + at, end - at);
    at = end + 1;
    const Line line{name, ++number};
    content = content.substr(0, content.find('#'));
    const std::size_t last = content.find_last_not_of(" \t\r");
    if (last == std::string_view::npos) continue;
    const std::size_t first = content.find_first_not_of(" \t");
    boards.push_back(read_line(content.substr(first, last + 1 - first), line));
    if (boards.back().puzzle.size() != boards.front().puzzle.size())
      line.fail("a board of another size than the list's first");
    use(boards.back(), line);
  }
  return boards;
}

}  // namespace

std::vector<Board> parse_boards(const std::string& text, const std::string& name) {
  return parse_lines(text, name, [](const Board&, const Line&) {});
}

std::vector<Board> read_boards(const std::string& path) {
  return parse_boards(formats::read_unpacked(path), path);
}

std::vector<Board> read_unique_boards(const std::string& path) {
  std::vector<int> lines;
  std::vector<Board> boards =
      parse_lines(formats::read_unpacked(path), path,
                  [&](const Board&, const Line& line) { lines.push_back(line.number); });
  // The hardest puzzles take a tenth of a millisecond and more; lists hold hundreds of thousands.
  constexpr std::size_t kBlock = 256;
  std::vector<int> solutions(boards.size());
  std::atomic<std::size_t> next{0};
  const std::size_t blocks = (boards.size() + kBlock - 1) / kBlock;
  share_work(std::min<std::size_t>(blocks, std::thread::hardware_concurrency()), [&] {
    for (std::size_t block; (block = next++) < blocks;) {
      for (std::size_t k = block * kBlock; k < std::min(boards.size(), (block + 1) * kBlock); ++k) {
        solutions[k] = count_solutions(boards[k].puzzle);
        if (solutions[k] == 1 && boards[k].solution.empty()) boards[k].solution = *solve(boards[k].puzzle);
      }
    }
  });
  for (std::size_t k = 0; k < boards.size(); ++k) {
    if (solutions[k] == 1) continue;
    throw InputError({path, lines[k]},
                     solutions[k] == 0 ? "the puzzle has no solution" : "the puzzle has several solutions",
                     {"every puzzle of this list needs exactly one; leave the line out"});
  }
  return boards;
}

std::string grid_text(const Grid& grid) {
  std::string text;
  for (const std::uint8_t digit : grid) text += kSymbols[digit];
  return text;
}

std::string format_boards(const std::vector<Board>& boards) {
  std::string text;
  for (const Board& board : boards) {
    text += grid_text(board.puzzle);
    if (!board.solution.empty()) text += "," + grid_text(board.solution);
    text += '\n';
  }
  return text;
}

}  // namespace as2::sudoku
