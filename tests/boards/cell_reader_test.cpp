// Reading boards and deciding between readings, with perceivers made up here: no network, no Sudoku. A
// picture says what it shows by the pixel in its first corner, so another corner speaks after a turn.
#include "boards/cell_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "as2/compile.h"
#include "as2/error.h"
#include "boards/boards.h"
#include "boards/photo_solver.h"

namespace as2::boards {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Row = std::vector<double>;

// What the pictures with the code 1, 2, … show; of 0 nothing is said.
class Codes : public infer::Perceiver {
 public:
  explicit Codes(std::vector<Row> rows) : rows_(std::move(rows)) {}
  std::vector<Row> perceive(const std::vector<const infer::Picture*>& pictures) override {
    std::vector<Row> seen;
    for (const infer::Picture* picture : pictures) seen.push_back(rows_.at(picture->pixels[0]));
    return seen;
  }

 private:
  std::vector<Row> rows_;
};

constexpr const char* kCell = "{ cell(blank); cell(printed(1..3)); cell(written(1..3)) } = 1.\n";
constexpr const char* kLatin =
    "{ at(R,C,V) : V=1..3 } = 1 :- R=1..3, C=1..3.\n"
    ":- R=1..3, V=1..3, #count{C : at(R,C,V)} != 1.\n"
    ":- C=1..3, V=1..3, #count{R : at(R,C,V)} != 1.\n";

infer::Solver solver(const std::string& program, std::vector<Row> rows) {
  infer::SolverOptions options;
  options.unique = true;
  return {std::make_shared<compile::ConstraintProgram>(compile::compile_text(program).program),
          std::make_unique<Codes>(std::move(rows)), nullptr, options};
}

// Of a cell, in the order of kCell: blank, then printed, then written.
Row cell(double blank, Row printed, Row written) {
  Row row{blank};
  row.insert(row.end(), printed.begin(), printed.end());
  row.insert(row.end(), written.begin(), written.end());
  return row;
}
Row sure(std::size_t symbol, double belief = 0.97) {
  Row row(7, (1 - belief) / 6);
  row[symbol] = belief;
  return row;
}

formats::Image coded(std::array<int, 4> corners) {
  formats::Image picture(28, 28);
  formats::fill_rectangle(picture, 8, 8, 12, 12, corners[0] == 0 ? 0 : 200);
  // In the order in which quarter turns bring them to the front.
  picture.at(0, 0) = static_cast<std::uint8_t>(corners[0]);
  picture.at(27, 0) = static_cast<std::uint8_t>(corners[1]);
  picture.at(27, 27) = static_cast<std::uint8_t>(corners[2]);
  picture.at(0, 27) = static_cast<std::uint8_t>(corners[3]);
  return picture;
}

vision::Photo photo_of(const std::vector<std::array<int, 4>>& cells) {
  vision::Photo photo;
  photo.picture = formats::Image(90, 90, 255);
  const int side = cells.size() == 9 ? 3 : 6;
  photo.lattice = vision::Lattice::of({vision::Point{0, 0}, {90, 0}, {90, 90}, {0, 90}}, side);
  for (const auto& corners : cells) photo.cells.push_back(coded(corners));
  return photo;
}

// A board of these cells, the network being as sure of each as it says.
BoardCells board_of(std::vector<CellBeliefs> cells) {
  BoardCells board;
  board.cells = std::move(cells);
  for (const CellBeliefs& shown : board.cells) {
    const double printed = shown.printed[0] + shown.printed[1] + shown.printed[2];
    const double written = shown.written[0] + shown.written[1] + shown.written[2];
    if (printed + written > shown.blank) ++(printed > written ? board.printed : board.written);
  }
  return board;
}
const CellBeliefs kBlank{0.99, {0.01, 0, 0}, {0, 0, 0}};
CellBeliefs printed(int digit, double belief = 0.96) {
  CellBeliefs shown{1 - belief, {0, 0, 0}, {0, 0, 0}};
  shown.printed[static_cast<std::size_t>(digit - 1)] = belief;
  return shown;
}
CellBeliefs written(int digit) {
  CellBeliefs shown{0.04, {0, 0, 0}, {0, 0, 0}};
  shown.written[static_cast<std::size_t>(digit - 1)] = 0.96;
  return shown;
}

TEST(CellReader, WhichDigitWasWrittenSaysTheBoardsOwnPerception) {
  infer::Solver board = solver(kLatin, {{}, {0, 0.2, 0.8}});
  CellReader reader(solver(kCell, {{}, cell(0.1, {0.1, 0, 0}, {0.5, 0.3, 0}), cell(0, {1, 0, 0}, {0, 0, 0})}),
                    board);
  const std::vector<Cell> cells{{4, coded({1, 0, 0, 0})}, {5, coded({1, 0, 0, 0})}, {6, coded({2, 0, 0, 0})}};
  const auto seen = reader.look(cells, [] {
    return std::vector<formats::Image>{coded({1, 0, 0, 0}), formats::Image(28, 28), coded({1, 0, 0, 0})};
  });
  // The odds of a blank are five times what the network says.
  const double all = 1 + 4 * 0.1;
  EXPECT_NEAR(seen[0].blank, 0.5 / all, 1e-9);
  EXPECT_NEAR(seen[0].printed[0], 0.1 / all, 1e-9);
  EXPECT_NEAR(seen[0].written[0], 0, 1e-9);
  EXPECT_NEAR(seen[0].written[1], 0.8 * 0.2 / all, 1e-9);
  EXPECT_NEAR(seen[0].written[2], 0.8 * 0.8 / all, 1e-9);
  EXPECT_NEAR(seen[1].written[0], 0.5 / all, 1e-9) << "without ink perception is not asked";
  EXPECT_NEAR(seen[2].printed[0], 1, 1e-9) << "what is printed is the other network's";
}

TEST(CellReader, TheTurnsAreThoseUnderWhichDigitsAreCertain) {
  infer::Solver board = solver(kLatin, {{}});
  CellReader reader(solver(kCell, {sure(0), sure(1), sure(2, 0.8), sure(0, 0.99), sure(3, 0.4)}), board);
  const auto turns = [&](std::array<int, 4> corners) {
    return reader.likely_turns(photo_of(std::vector<std::array<int, 4>>(9, corners)));
  };
  EXPECT_THAT(turns({1, 3, 3, 3}), ElementsAre(0));
  EXPECT_THAT(turns({3, 3, 1, 3}), ElementsAre(2));
  EXPECT_THAT(turns({2, 1, 3, 3}), ElementsAre(0, 1)) << "a little more certain does not turn the photo";
  EXPECT_THAT(turns({4, 1, 3, 2}), ElementsAre(1, 3, 0)) << "in the order of certainty";
  EXPECT_THAT(reader.likely_turns(photo_of(std::vector<std::array<int, 4>>(9, {0, 0, 0, 0}))).front(), 0);
}

TEST(CellReader, ATurnedBoardIsReadInTheOrderOfItsCells) {
  infer::Solver board = solver(kLatin, {{}});
  CellReader reader(solver(kCell, {sure(0), sure(1), sure(2), sure(3)}), board);
  std::vector<std::array<int, 4>> cells(9, {0, 0, 0, 0});
  cells[2] = {0, 3, 0, 0};  // at the top right, where a quarter turn brings the first cell from
  const BoardCells read = reader.read(photo_of(cells), 1);
  EXPECT_EQ(read.printed, 1);
  EXPECT_GT(read.cells[0].printed[2], 0.9);
  EXPECT_EQ(read.text(), "1 printed digit, turned by 90 degrees");
  EXPECT_NEAR(read.lattice.node(0, 0).x, 90, 1e-9);
}

TEST(CellReader, PrintedDigitsAloneAreEvidenceFirstAndDoubtfulCellsLast) {
  infer::Solver board = solver(kLatin, {{}});
  const CellReader reader(solver(kCell, {{}}), board);
  const auto list = reader.evidence(board_of(
      {printed(1), printed(2), written(3), kBlank, printed(3, 0.3), kBlank, kBlank, kBlank, kBlank}));
  ASSERT_EQ(list.size(), 3U);
  EXPECT_THAT(list[0].positions, ElementsAre(0, 1));
  EXPECT_THAT(list[1].positions, ElementsAre(0, 1, 2));
  EXPECT_THAT(list[2].positions, ElementsAre(0, 1, 2, 4)) << "more likely blank, but not surely";
  // Belief in a blank is shared among the symbols; what is no evidence is uniform.
  EXPECT_NEAR(list[1].beliefs[0], 0.96 + 0.04 / 3, 1e-9);
  EXPECT_NEAR(list[1].beliefs[1], 0.04 / 3, 1e-9);
  EXPECT_NEAR(list[1].beliefs[9], 1.0 / 3, 1e-9);
  EXPECT_NEAR(list[2].beliefs[3 * 4 + 2], 0.3 + 0.7 / 3, 1e-9);

  const auto handwritten = reader.evidence(
      board_of({written(1), written(2), written(3), printed(2), kBlank, kBlank, kBlank, kBlank, kBlank}));
  ASSERT_EQ(handwritten.size(), 1U);
  EXPECT_THAT(handwritten[0].positions, ElementsAre(0, 1, 2, 3)) << "no one's entries";
}

TEST(CellReader, ADigitThatTheRulesContradictIsNoClueWhereABlankExplainsTheCell) {
  infer::Solver board = solver(kLatin, {{}});
  const CellReader reader(solver(kCell, {{}}), board);
  const BoardCells cells =
      board_of({printed(1), printed(1, 0.6), kBlank, kBlank, kBlank, kBlank, kBlank, kBlank, kBlank});
  const infer::Evidence evidence = reader.evidence(cells)[0];
  infer::Answer answer;
  EXPECT_FALSE(reader.without_blanks(cells, evidence, answer)) << "nothing was changed";
  answer.explanation.changed.push_back({1, 0, 1, 0.6, 0.1});
  const auto fewer = reader.without_blanks(cells, evidence, answer);
  ASSERT_TRUE(fewer);
  EXPECT_THAT(fewer->positions, ElementsAre(0));
  EXPECT_NEAR(fewer->beliefs[3], 1.0 / 3, 1e-9);
  // Shown more likely than nothing at all, the other digit was misread.
  BoardCells misread = cells;
  misread.cells[1] = {0.1, {0.5, 0.4, 0}, {0, 0, 0}};
  EXPECT_FALSE(reader.without_blanks(misread, reader.evidence(misread)[0], answer));
}

TEST(CellReader, APaleDigitThatTheAnswerNamesIsAClueOfAHandwrittenBoard) {
  infer::Solver board = solver(kLatin, {{}});
  const CellReader reader(solver(kCell, {{}}), board);
  const CellBeliefs pale{0.7, {0, 0, 0}, {0.3, 0, 0}};
  const auto read = [&](const CellBeliefs& first) {
    const BoardCells cells =
        board_of({first, written(2), written(3), written(2), pale, kBlank, written(3), pale, kBlank});
    const infer::Answer answer = board.answer({reader.evidence(cells)[0]}).front();
    EXPECT_THAT(answer.assignment(), ElementsAre(0, 1, 2, 1, 2, 0, 2, 0, 1));
    return reader.with_pale(cells, answer);
  };
  const auto more = read(written(1));
  ASSERT_TRUE(more);
  EXPECT_THAT(more->positions, ElementsAre(0, 1, 2, 3, 6, 7)) << "and no other digit's";
  EXPECT_NEAR(more->beliefs[3 * 7], 0.3 + 0.7 / 3, 1e-9);
  BoardCells printed_board = board_of(std::vector<CellBeliefs>(9, printed(1)));
  EXPECT_FALSE(reader.with_pale(printed_board, {})) << "a smudge";
}

TEST(CellReader, EntriesAreWhatIsClearlyWritten) {
  infer::Solver board = solver(kLatin, {{}});
  const CellReader reader(solver(kCell, {{}}), board);
  BoardCells cells =
      board_of({printed(1), written(2), kBlank, printed(3), kBlank, kBlank, kBlank, kBlank, kBlank});
  cells.cells[3] = {0, {0.3, 0, 0}, {0.7, 0, 0}};  // some typefaces look written
  const auto entries = reader.entries(cells);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].position, 1);
  EXPECT_EQ(entries[0].symbol, 1);
  EXPECT_NEAR(entries[0].belief, 0.96, 1e-9);
}

// Reads any narrow ink as a one and any other as a two.
class Widths : public infer::Perceiver {
 public:
  std::vector<Row> perceive(const std::vector<const infer::Picture*>& pictures) override {
    std::vector<Row> seen;
    for (const infer::Picture* picture : pictures) {
      int left = 28, right = -1;
      for (int k = 0; k < 28 * 28; ++k) {
        if (picture->pixels[static_cast<std::size_t>(k)] < 100) continue;
        left = std::min(left, k % 28);
        right = std::max(right, k % 28);
      }
      seen.push_back(right < 0          ? Row{0.96, 0.01, 0.01, 0.01, 0.01}
                     : right - left < 7 ? Row{0.01, 0.96, 0.01, 0.01, 0.01}
                                        : Row{0.01, 0.01, 0.96, 0.01, 0.01});
    }
    return seen;
  }
};

TEST(CellReader, WhichNumbersThereAreSaysTheProgram) {
  const auto read = [](const std::string& symbols, std::vector<std::pair<int, int>> blocks) {
    infer::Solver cells{
        std::make_shared<compile::ConstraintProgram>(
            compile::compile_text("{ cell(blank); cell(printed(1..2)); cell(written(1..2)) } = 1.\n")
                .program),
        std::make_unique<Widths>(),
        nullptr,
        {}};
    infer::Solver board = solver("{ at(1,1,(" + symbols + ")) } = 1.\n", {{}});
    CellReader reader(std::move(cells), board);
    formats::Image cell(56, 56);
    for (const auto& [left, width] : blocks) formats::fill_rectangle(cell, left, 14, width, 28, 200);
    return reader.look({{0, cell}}, {})[0];
  };
  const auto best = [](const CellBeliefs& seen) {
    return std::max_element(seen.printed.begin(), seen.printed.end()) - seen.printed.begin();
  };
  const std::vector<std::pair<int, int>> one_two{{12, 6}, {24, 20}}, two{{18, 20}};
  EXPECT_EQ(best(read("1;2;12;21", one_two)), 2);
  EXPECT_GT(read("1;2;12;21", one_two).printed[2], 0.9);
  EXPECT_EQ(best(read("1;2;12;21", two)), 1);
  EXPECT_EQ(best(read("1;2;12;21", {})), 0);
  EXPECT_GT(read("1;2;12;21", {}).blank, 0.9);
  EXPECT_EQ(best(read("1;2", one_two)), 1) << "no number has two digits: the ink is one";
  EXPECT_LT(read("1;2;11", one_two).printed[1], 0.1) << "and no digit where it is two";
}

TEST(Boards, SymbolsAreDrawnIfTheyAreNumbers) {
  EXPECT_EQ(number_of("0"), 0);
  EXPECT_EQ(number_of("16"), 16);
  for (const char* other : {"a", "", "-1", "256", "1a", "f(1)"})
    EXPECT_THROW(number_of(other), InputError) << other;
}

// The codes 1 to 3 are digits, a little less certain as 4 to 6, and those of `rows` in reading order after so
// many turns.
class Turned : public ::testing::Test {
 protected:
  static std::size_t place(std::size_t k, int turn) {  // where the k-th cell of the turned board lies
    for (; turn > 0; --turn) k = k % 3 * 3 + 2 - k / 3;
    return k;
  }
  static void show(std::vector<std::array<int, 4>>& cells, std::size_t turn, const std::vector<int>& codes) {
    for (std::size_t k = 0; k < 9; ++k) cells[place(k, static_cast<int>(turn))][turn] = codes[k];
  }
  PhotoAnswer solve(const std::vector<std::array<int, 4>>& cells) {
    infer::Solver board = solver(kLatin, {{}});
    PhotoSolver photos(board, [] {
      return solver(kCell, {sure(0), sure(1, 0.999), sure(2, 0.999), sure(3, 0.999), sure(1, 0.7),
                            sure(2, 0.7), sure(3, 0.7), sure(1, 0.2), sure(2, 0.2), sure(3, 0.2)});
    });
    return photos.solve(photo_of(cells), "photo");
  }
  const std::vector<int> impossible_{1, 1, 1, 1, 1, 1, 1, 1, 1}, possible_{4, 5, 6, 5, 6, 4, 6, 4, 5},
      faint_{7, 8, 9, 8, 9, 7, 9, 7, 8};
};

TEST_F(Turned, TheRulesSettleWhatCertaintyLeavesOpen) {
  std::vector<std::array<int, 4>> cells(9, {0, 0, 0, 0});
  show(cells, 0, impossible_);
  show(cells, 1, possible_);
  const PhotoAnswer found = solve(cells);
  ASSERT_TRUE(found.answer.completable);
  EXPECT_EQ(found.answer.unique, true);
  EXPECT_THAT(found.answer.assignment(), ElementsAre(0, 1, 2, 1, 2, 0, 2, 0, 1));
  EXPECT_THAT(found.saw, HasSubstr("9 printed digits, turned by 90 degrees"));
  EXPECT_NEAR(found.lattice.node(0, 0).x, 90, 1e-9);
}

TEST_F(Turned, ATurnIsTakenOnlyWithOneSolutionAndOnlyIfItsDigitsAreNearlyAsCertain) {
  std::vector<std::array<int, 4>> cells(9, {0, 0, 0, 0});
  show(cells, 0, impossible_);
  std::vector<int> few = possible_;
  std::fill(few.begin() + 3, few.end(), 0);  // two solutions
  show(cells, 1, few);
  EXPECT_FALSE(solve(cells).answer.completable);
  show(cells, 1, faint_);
  EXPECT_FALSE(solve(cells).answer.completable);
  show(cells, 1, possible_);
  EXPECT_TRUE(solve(cells).answer.completable);
}

PhotoAnswer solved(const std::vector<int>& codes, std::vector<Row> rows) {
  infer::Solver board = solver(kLatin, {{}});
  PhotoSolver photos(board, [&] { return solver(kCell, rows); });
  std::vector<std::array<int, 4>> cells;
  for (const int code : codes) cells.push_back({code, 0, 0, 0});
  return photos.solve(photo_of(cells), "photo");
}

TEST(PhotoSolver, WhatWouldBeMadeUpIsRefused) {
  const std::vector<Row> rows{sure(0), sure(1), sure(2), sure(3), cell(0, {0.45, 0.3, 0.25}, {0, 0, 0})};
  EXPECT_TRUE(solved({4, 2, 3, 2, 3, 4, 3, 1, 2}, rows).answer.completable);
  try {
    solved({4, 2, 3, 2, 3, 4, 3, 4, 2}, rows);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 of 9 digits"));
  }
}

TEST(PhotoSolver, WhereNothingHasOneSolutionAllDigitsCount) {
  const std::vector<Row> rows{sure(0), sure(1), sure(5), sure(6)};  // printed 1, written 2 and 3
  for (const int written : {2, 3}) {
    const PhotoAnswer found = solved({1, written, 0, 0, 0, 0, 0, 0, 0}, rows);
    EXPECT_EQ(found.answer.unique, false);
    EXPECT_EQ(found.answer.assignment()[1], written - 1);
    EXPECT_TRUE(found.entries.empty());
  }
}

// No board has this sum, and no bound refutes it: every search would take its own ten seconds, for each of
// the readings and turns.
TEST(PhotoSolver, AllSearchesForAPhotoShareItsTime) {
  std::string program = "{ at(R,C,1..3) } = 1 :- R=1..6, C=1..6.\n";
  for (int k = 0; k < 36; ++k) {
    program += "weight(" + std::to_string(k / 6 + 1) + "," + std::to_string(k % 6 + 1) + "," +
               std::to_string(2 * (k * 7919 % 9973 + 5000)) + ").\n";
  }
  program += ":- #sum{W*V,R,C : at(R,C,V), weight(R,C,W)} != 1440001.\n";
  infer::Solver board = solver(program, {{}});
  PhotoSolver photos(
      board,
      [] {
        return solver(kCell, {sure(0), sure(1), sure(2), sure(3)});
      },
      0.4);
  const std::clock_t begin = std::clock();  // of the processor: what else runs here does not count
  const PhotoAnswer found =
      photos.solve(photo_of(std::vector<std::array<int, 4>>(36, {1, 2, 3, 1})), "photo");
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 8);
  EXPECT_TRUE(found.timed_out);
  EXPECT_FALSE(found.answer.completable);
  const std::vector<Row> rows{sure(0), sure(1), sure(2), sure(3)};
  EXPECT_FALSE(solved({1, 2, 3, 2, 3, 1, 3, 1, 2}, rows).timed_out);
}

}  // namespace
}  // namespace as2::boards
