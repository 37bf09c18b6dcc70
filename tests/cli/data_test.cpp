// `as2 data …` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "datasets/real_mnist.h"
#include "files.h"
#include "sudoku/board_list.h"
#include "support/running_as2.h"
#include "support/temporary_folder.h"
#include "support/typefaces.h"

namespace as2::test {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int exit_code;
  std::string out, err;
};

Outcome as2(const test::TemporaryFolder& folder, const std::string& arguments) {
  const std::string command = std::string(std::getenv("AS2_BINARY")) + " data " + arguments + " >" +
                              (folder / "out") + " 2>" + (folder / "err");
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), read_file(folder / "out"), read_file(folder / "err")};
}

TEST(DataVerb, SudokuWritesTheListAndIsDeterministic) {
  test::TemporaryFolder folder;
  const Outcome run =
      as2(folder, "sudoku --count 30 --clues 30-40 --seed 5 --json --out " + (folder / "list.txt"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["count"], 30);
  const std::vector<sudoku::Board> boards = sudoku::read_boards(folder / "list.txt");
  ASSERT_EQ(boards.size(), 30u);
  for (std::size_t k = 0; k < boards.size(); ++k)
    EXPECT_EQ(boards[k].puzzle, sudoku::generate({3, 30, 40, 5}, k).puzzle);
  EXPECT_EQ(as2(folder, "sudoku --count 30 --clues 30-40 --seed 5 --threads 1").out,
            read_file(folder / "list.txt"));
  EXPECT_EQ(folder.entries(), 3) << "no temporary file is left";
}

// Ctrl-C while two threads climb: what there is then is written, and it is how the whole list begins.
TEST(DataVerb, AnInterruptedSearchForHardPuzzlesWritesThoseItHas) {
  test::TemporaryFolder folder;
  const std::string first = as2(folder, "sudoku --hard 8 --seed 5 --count 1").out;
  as2::testing::RunningAs2 searching(folder.path(),
                                     {"data", "sudoku", "--hard", "8", "--seed", "5", "--count", "100000",
                                      "--threads", "2", "--out", "list", "--json"},
                                     /*terminal=*/true);
  ASSERT_TRUE(searching.wait_for("/100000"));  // the first two climbs have ended
  searching.interrupt();
  const auto end = searching.finish();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const auto document = nlohmann::json::parse(end.out);
  EXPECT_EQ(document["interrupted"], true);
  const std::vector<sudoku::Board> boards = sudoku::read_boards(folder / "list");
  EXPECT_EQ(document["count"], boards.size());
  EXPECT_LT(boards.size(), 100000u);
  EXPECT_EQ(read_file(folder / "list").rfind(first, 0), 0u);
}

TEST(DataVerb, SudokuMakesOtherSizes) {
  test::TemporaryFolder folder;
  EXPECT_EQ(as2(folder, "sudoku --box 2 --count 3 --clues 6").out.size(), 3u * 34);
  EXPECT_EQ(as2(folder, "sudoku --box 4 --count 2 --clues 140").out.size(), 2u * 514);
  EXPECT_EQ(as2(folder, "sudoku --box 2x3 --count 2 --clues 12").out.size(), 2u * 74);
  EXPECT_EQ(as2(folder, "sudoku --box 2x4 --count 2 --clues 30").out.size(), 2u * 130);
  EXPECT_EQ(as2(folder, "sudoku --box 2x5 --count 2 --clues 50").out.size(), 2u * 202);
  EXPECT_EQ(as2(folder, "sudoku --box 3x5 --count 1 --clues 150").out.size(), 1u * 452);
  const std::string list = " --json --out '" + (folder / "list.txt") + "'";
  const Outcome twelve = as2(folder, "sudoku --box 3x4 --count 4 --clues 65" + list);
  ASSERT_EQ(twelve.exit_code, 0) << twelve.err;
  EXPECT_EQ(nlohmann::json::parse(twelve.out)["box"], "3x4");
  for (const sudoku::Board& board : sudoku::read_unique_boards(folder / "list.txt")) {
    EXPECT_EQ(board.puzzle.size(), 144u);
    EXPECT_EQ(sudoku::clue_count(board.puzzle), 65);
  }
  EXPECT_EQ(nlohmann::json::parse(as2(folder, "sudoku --count 1" + list).out)["box"], 3);
  for (const auto& [box, clues] :
       {std::pair("2", "7"), {"2x3", "16"}, {"3", "36"}, {"3x4", "64"}, {"4", "114"}}) {
    const Outcome made = as2(folder, std::string("sudoku --count 1 --box ") + box + list);
    EXPECT_EQ(nlohmann::json::parse(made.out)["clues"], nlohmann::json({{clues, 1}})) << box;
  }
}

TEST(DataVerb, MistakesHaveTheirExitCodes) {
  test::TemporaryFolder folder;
  EXPECT_EQ(as2(folder, "").exit_code, 2);
  EXPECT_EQ(as2(folder, "sudoku --clues many").exit_code, 2);
  for (const char* box : {"5", "4x3", "3x3", "x", "''"}) {
    const Outcome refused = as2(folder, std::string("sudoku --count 1 --box ") + box);
    EXPECT_EQ(refused.exit_code, 2) << box;
    EXPECT_THAT(refused.err,
                HasSubstr("is not a shape of box: expected one of 2, 3, 4, 2x3, 2x4, 2x5, 3x4, 3x5"))
        << box;
  }
  EXPECT_EQ(as2(folder, "sudoku --count 1 --hard 5 --box 2x4").exit_code, 2);
  EXPECT_EQ(as2(folder, "sudoku --count -1").exit_code, 2);
  EXPECT_EQ(as2(folder, "sudoku --count 1 --seed -1").exit_code, 2);
  const Outcome large = as2(folder, "sudoku --count 1 --seed 18446744073709551615");
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("18446744073709551615 is too large: at most 9223372036854775807"));
  folder.put("empty.txt", "# none\n");
  const Outcome near = as2(folder, "sudoku --hard 5 --near '" + (folder / "empty.txt") + "' --count 1");
  EXPECT_EQ(near.exit_code, 1);
  EXPECT_THAT(near.err, HasSubstr("empty.txt: error: has no puzzle"));
  EXPECT_EQ(as2(folder, "sudoku --count 1 --out ''").exit_code, 2);
  EXPECT_EQ(as2(folder, "addition --split test --count -1").exit_code, 2);
  const Outcome many = as2(folder, "addition --split test --count 1000000000 --n 1000");
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.err, HasSubstr("more than 100000000 pictures; make fewer at a time"));
  EXPECT_EQ(as2(folder, "sudoku --count 1 --json").exit_code, 2);
  EXPECT_EQ(as2(folder, "sudoku --clues 3-9").exit_code, 1);
  EXPECT_EQ(as2(folder, "sudoku --count 1 --out /nonexistent/x").exit_code, 1);
  folder.put("broken.txt", "# boards\n12345\n");
  const Outcome run =
      as2(folder, "render " + (folder / "broken.txt") + " --split test --out " + (folder / "r"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("broken.txt:2: error: a puzzle of 5 characters"));
  for (const char* verb : {"", "mnist", "sudoku", "render", "addition"})
    EXPECT_EQ(as2(folder, std::string(verb) + " --help").exit_code, 0);
}

TEST(DataVerb, MnistRenderAndAdditionWork) {
  AS2_NEED_MNIST();
  test::TemporaryFolder folder;
  const Outcome mnist = as2(folder, "mnist --offline --json");
  ASSERT_EQ(mnist.exit_code, 0) << mnist.err;
  EXPECT_EQ(nlohmann::json::parse(mnist.out)["train"], 60000);
  ASSERT_EQ(as2(folder, "sudoku --count 3 --out " + (folder / "list.txt")).exit_code, 0);
  ASSERT_EQ(
      as2(folder, "render " + (folder / "list.txt") + " --split test --out " + (folder / "boards")).exit_code,
      0);
  EXPECT_TRUE(std::filesystem::exists(folder / "boards/board-00002.png"));
  EXPECT_TRUE(std::filesystem::exists(folder / "boards/labels.jsonl"));
  const std::string photos = "render " + (folder / "list.txt") + " --split test --out " + (folder / "photos");
  ASSERT_EQ(as2(folder, photos + " --photos --entries 3").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "photos/board-00002.jpg"));
  const sudoku::Board board = sudoku::read_boards(folder / "list.txt")[0];
  std::istringstream clues(read_file(folder / "photos/board-00000.dat"));
  std::string line;
  std::getline(clues, line);
  std::getline(clues, line);
  for (const int clue : board.puzzle) {
    int said = -1;
    clues >> said;
    EXPECT_EQ(said, clue);
  }
  EXPECT_EQ(as2(folder, photos + " --entries 3").exit_code, 2) << "entries are for photos";
  EXPECT_EQ(as2(folder, photos + " --photos --face " + (folder / "list.txt")).exit_code, 1);
  EXPECT_THAT(as2(folder, photos + " --photos --entries 60").err, HasSubstr("45 blank cells, too few"));
  const Outcome addition = as2(folder, "addition --n 2 --count 30000 --split train --seed 1");
  ASSERT_EQ(addition.exit_code, 0) << addition.err;
  EXPECT_EQ(std::count(addition.out.begin(), addition.out.end(), '\n'), 30000);
}

TEST(DataVerb, PhotosAreAFolderOfPicturesForEveryClass) {
  AS2_NEED_MNIST();
  test::TemporaryFolder folder;
  if (!put_typefaces(folder, "fonts")) GTEST_SKIP() << "no DejaVuSans.ttf (fonts-dejavu-core)";
  const std::string photos = "photos --fonts " + (folder / "fonts") + " --per-class 10 --out ";
  const Outcome run = as2(folder, photos + (folder / "cells"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("3 typefaces in 3 families, of 3 files"));
  std::set<std::string> classes;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "cells"))
    classes.insert(entry.path().filename().string());
  EXPECT_EQ(classes.size(), 21U) << ::testing::PrintToString(classes);
  std::filesystem::remove(folder.path() / "fonts/iota.ttf");
  EXPECT_THAT(as2(folder, photos + (folder / "none")).err, HasSubstr("has typefaces of 2 families, too few"));
}

}  // namespace
}  // namespace as2::test
