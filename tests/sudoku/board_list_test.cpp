#include "sudoku/board_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "as2/error.h"
#include "support/temporary_folder.h"

namespace as2::sudoku {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kPuzzle =
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
const std::string kSolution =
    "534678912672195348198342567859761423426853791713924856961537284287419635345286179";

std::string message_of(const std::string& text) {
  try {
    parse_boards(text, "list.txt");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BoardList, ReadsEveryVariant) {
  std::string zeros = kPuzzle;
  for (char& c : zeros) c = c == '.' ? '0' : c;
  const std::string text = "# a comment\n" + kPuzzle + "\n" + zeros + "\r\n\n" + kPuzzle + "," + kSolution +
                           "\n  " + kPuzzle + ":1:" + kSolution + "  # from somewhere\n" + kPuzzle +
                           ":any word:" + kSolution;
  const std::vector<Board> boards = parse_boards(text, "list.txt");
  ASSERT_EQ(boards.size(), 5u);
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(grid_text(boards[k].puzzle), kPuzzle) << k;
    EXPECT_EQ(grid_text(boards[k].solution), k < 2 ? "" : kSolution) << k;
  }
  EXPECT_EQ(boards[0].puzzle[0], 5);
  EXPECT_EQ(boards[0].puzzle[2], 0);
}

TEST(BoardList, WritesWhatItReads) {
  for (const Box box : kBoxes) {
    const int clues = box.cells() * 55 / 100;
    std::vector<Board> boards = generate({box, clues, clues, 3}, 0, 5);
    boards[2].solution.clear();
    const std::vector<Board> again = parse_boards(format_boards(boards), "list.txt");
    ASSERT_EQ(again.size(), boards.size());
    for (int k = 0; k < 5; ++k) {
      EXPECT_EQ(again[k].puzzle, boards[k].puzzle);
      EXPECT_EQ(again[k].solution, boards[k].solution);
    }
  }
}

TEST(BoardList, AnEmptyListIsEmpty) {
  EXPECT_TRUE(parse_boards("", "list.txt").empty());
  EXPECT_TRUE(parse_boards("# nothing\n\n", "list.txt").empty());
}

TEST(BoardList, NamesTheBrokenLine) {
  const std::string good = kPuzzle + "\n";
  EXPECT_THAT(message_of(good + kPuzzle.substr(1)),
              StartsWith("list.txt:2: error: a puzzle of 80 characters"));
  EXPECT_THAT(message_of("# c\n\n" + kPuzzle + "1\n"),
              StartsWith("list.txt:3: error: a puzzle of 82 characters"));
  std::string letter = kPuzzle;
  letter[4] = 'x';
  EXPECT_THAT(message_of(good + letter), StartsWith("list.txt:2:5: error: 'x' is not a digit"));
  letter[4] = 'A';
  EXPECT_THAT(message_of(letter), HasSubstr("'A' is not a digit of a 9x9 board"));
  EXPECT_THAT(message_of(std::string(35, '.') + "7"), HasSubstr("'7' is not a digit of a 6x6 board"));
  EXPECT_THAT(message_of(std::string(143, '.') + "D"), HasSubstr("'D' is not a digit of a 12x12 board"));
  EXPECT_THAT(message_of(std::string(143, '.') + "C"), HasSubstr("no error"));
  std::string clash = kPuzzle;
  clash[2] = '5';
  EXPECT_THAT(message_of(good + good + clash), StartsWith("list.txt:3: error: a digit stands twice"));
  EXPECT_THAT(message_of(kPuzzle + ":1"), HasSubstr("one ':' where two are expected"));
  EXPECT_THAT(message_of(kPuzzle + "," + kSolution.substr(5)), HasSubstr("a solution of 76 characters"));
  EXPECT_THAT(message_of(kPuzzle + "," + kPuzzle), HasSubstr("breaks the rules of Sudoku or has blanks"));
  std::string other = kSolution;
  for (char& c : other) c = c == '5' ? '6' : c == '6' ? '5' : c;
  EXPECT_THAT(message_of(kPuzzle + "," + other), HasSubstr("differs from the puzzle at clue 1"));
  EXPECT_THAT(message_of(good + "1234341221434321"), HasSubstr("list.txt:2: error: a board of another size"));
  EXPECT_THAT(message_of(kPuzzle + "," + kSolution + ",7"), HasSubstr("error"));
  EXPECT_THAT(message_of(good + "what?"),
              HasSubstr("note: a line is a puzzle of 16, 36, 64, 81, 100, 144, 225 or 256 characters"));
}

TEST(BoardList, NamesAFileThatIsNotThere) {
  try {
    read_boards("/nonexistent/list.txt");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), StartsWith("/nonexistent/list.txt: error: cannot be opened: No such file"));
  }
}

TEST(BoardList, MayBeGzipped) {
  const test::TemporaryFolder folder;
  const std::vector<Board> boards = generate({3, 36, 36, 1}, 0, 50);
  const std::vector<Board> again =
      read_boards(folder.put("list.txt.gz", folder.gzipped(format_boards(boards))));
  ASSERT_EQ(again.size(), 50u);
  for (int k = 0; k < 50; ++k) EXPECT_EQ(again[k].solution, boards[k].solution);
}

}  // namespace
}  // namespace as2::sudoku
