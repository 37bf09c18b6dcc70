// `as2 solve` as a user runs it, on the weights that ship.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "as2/resources.h"
#include "datasets/mnist.h"
#include "datasets/real_mnist.h"
#include "files.h"
#include "infer/card.h"
#include "sudoku/board.h"
#include "sudoku/render.h"
#include "support/run_as2.h"
#include "support/temporary_folder.h"
#include "vision/board_image.h"
#include "vision/board_pictures.h"
#include "vision/page.h"

namespace as2::cli {
namespace {

using formats::Image;
using sudoku::Board;
using sudoku::Grid;
using testing::Finished;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::vector<Board> boards(int count, int clues, sudoku::Box box = 3) {
  sudoku::GenerateOptions options;
  options.box = box;
  options.min_clues = options.max_clues = clues;
  options.seed = 77;
  return sudoku::generate(options, 0, static_cast<std::size_t>(count));
}

class SolveVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    AS2_NEED_MNIST();
    digits_ = &test::real_mnist().mnist->test;
    by_label_ = datasets::indices_by_label(*digits_);
  }

  Finished run(const std::string& arguments) const {
    return testing::run_as2(folder_.str(), "solve " + arguments);
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  // 28 pixels per cell, no lines.
  void render(const std::string& name, const Grid& puzzle, std::uint64_t seed) {
    Random random(seed);
    formats::write_png(path(name),
                       sudoku::render_board(sudoku::choose_images(puzzle, by_label_, random), *digits_));
  }
  // Lines, dark ink on light paper.
  Image drawn(const Grid& puzzle, const test::PictureOptions& options, std::uint64_t seed) {
    Random random(seed);
    const auto cells = sudoku::choose_images(puzzle, by_label_, random);
    const auto digit = [&](int cell) {
      Image image;
      if (puzzle[static_cast<std::size_t>(cell)] == 0) return image;
      image = Image(datasets::kDigitSide, datasets::kDigitSide);
      const std::uint8_t* pixels =
          digits_->image(static_cast<std::size_t>(cells[static_cast<std::size_t>(cell)]));
      std::copy(pixels, pixels + datasets::kDigitPixels, image.pixels.begin());
      return image;
    };
    return test::picture_of(options, sudoku::box_of_cells(puzzle.size())->side(), digit, seed);
  }

  static std::vector<Json> documents(const std::string& text) {
    std::vector<Json> list;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) list.push_back(Json::parse(line));
    return list;
  }
  // What a document says of every cell, in reading order.
  static Grid grid_of(const Json& cells, int side = 9) {
    Grid grid;
    for (int row = 1; row <= side; ++row) {
      for (int column = 1; column <= side; ++column) {
        const std::string name = "cell(" + std::to_string(row) + "," + std::to_string(column) + ",_)";
        grid.push_back(
            cells.contains(name) ? static_cast<std::uint8_t>(std::stoi(cells[name].get<std::string>())) : 0);
      }
    }
    return grid;
  }

  // The digits of the answers: of documents, and as people see them, to the right of what was read.
  static std::string answers_of(const std::vector<Json>& documents) {
    std::string digits;
    for (const Json& board : documents) {
      if (board["assignment"].is_null()) continue;
      for (const int digit : grid_of(board["assignment"])) digits += std::to_string(digit);
    }
    return digits;
  }
  static std::string answers_of(const std::string& text) {
    std::string digits;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::string cells;
      for (const char c : line) cells += (c == '.' || (c >= '1' && c <= '9')) ? std::string(1, c) : "";
      if (line.find(" | ") != std::string::npos && cells.size() == 18) digits += cells.substr(9);
    }
    return digits;
  }

  test::TemporaryFolder folder_;
  const datasets::Digits* digits_ = nullptr;
  std::vector<std::vector<std::uint32_t>> by_label_;
};

// Without LibTorch, which alone takes 200 MB.
TEST_F(SolveVerb, VerboseSaysWhatEachStepTakesAndLittleMemory) {
  render("board.png", boards(1, 36)[0].puzzle, 1);
  const Finished finished = run("board.png --json --verbose");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("perception "));
  EXPECT_THAT(finished.err, HasSubstr(" boards per second\n"));
  const std::string memory = "memory at most ";
  const auto at = finished.err.find(memory);
  ASSERT_NE(at, std::string::npos) << finished.err;
  EXPECT_LT(std::stod(finished.err.substr(at + memory.size())), 150);
}

TEST_F(SolveVerb, ManyRenderedBoardsGiveOneDocumentEach) {
  const auto puzzles = boards(6, 36);
  std::string images;
  for (std::size_t k = 0; k < puzzles.size(); ++k) {
    render("b" + std::to_string(k) + ".png", puzzles[k].puzzle, k);
    images += "b" + std::to_string(k) + ".png ";
  }
  const Finished finished = run(images + "--json --explain");
  const auto list = documents(finished.out);
  ASSERT_EQ(list.size(), puzzles.size()) << finished.err;
  int solved = 0;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const Json& board = list[k];
    EXPECT_EQ(board["file"], "b" + std::to_string(k) + ".png");
    if (board.contains("error")) continue;
    EXPECT_EQ(board["status"], "optimal");
    const Grid answer = grid_of(board["assignment"]), read = grid_of(board["read"]);
    EXPECT_TRUE(sudoku::is_solved(answer));
    EXPECT_EQ(board["confidence"].size(), 81u);
    solved += answer == puzzles[k].solution;
    // Exactly the clues that were misread are changed, and only those conflict.
    std::size_t differing = 0;
    for (std::size_t cell = 0; cell < 81; ++cell) {
      EXPECT_EQ(read[cell] != 0, puzzles[k].puzzle[cell] != 0);
      differing += read[cell] != 0 && read[cell] != answer[cell];
    }
    EXPECT_EQ(board["changed"].size(), differing);
    EXPECT_EQ(board["conflicts"].empty(), differing == 0);
    for (const Json& change : board["changed"]) {
      EXPECT_GT(change["p_read"].get<double>(), change["p_decoded"].get<double>());
      EXPECT_EQ(change["decoded"], board["assignment"][change["position"].get<std::string>()]);
    }
    if (answer == puzzles[k].solution) {
      EXPECT_EQ(board["unique"], true);
      EXPECT_GT(board["margin"].get<double>(), 0);
    }
  }
  EXPECT_GE(solved, 5);
}

// Its beliefs are not printed then, so it is asked only where the answer may hang on it: here where the clues
// have several solutions.
TEST_F(SolveVerb, WithoutJsonTheReasonerIsAskedOnlyWhereItIsNeeded) {
  std::string images;
  for (const int clues : {45, 36, 26}) {
    const auto puzzles = boards(2, clues);
    for (std::size_t k = 0; k < puzzles.size(); ++k) {
      images += "c" + std::to_string(clues) + "-" + std::to_string(k) + ".png ";
      render("c" + std::to_string(clues) + "-" + std::to_string(k) + ".png", puzzles[k].puzzle, k);
    }
  }
  const Finished text = run(images + "--verbose"), json = run(images + "--json --verbose");
  EXPECT_THAT(text.err, HasSubstr("boards: 6, questions to the reasoner: 0\n"));
  EXPECT_THAT(json.err, HasSubstr("boards: 6, questions to the reasoner: 6\n"));
  EXPECT_EQ(answers_of(text.out), answers_of(documents(json.out)));

  Grid open = boards(1, 36)[0].puzzle;
  std::fill(open.begin(), open.begin() + 18, 0);
  render("open.png", open, 1);
  const Finished several = run("open.png --verbose");
  EXPECT_THAT(several.err, HasSubstr("boards: 1, questions to the reasoner: 1\n"));
  EXPECT_EQ(answers_of(several.out), answers_of(documents(run("open.png --json").out)));
}

TEST_F(SolveVerb, ADrawnBoardIsSolvedShownAndFilledIn) {
  const Board board = boards(1, 36)[0];
  const Image picture = drawn(board.puzzle, {}, 5);
  formats::write_png(path("drawn.png"), picture);
  const Finished finished = run("drawn.png --out answer.png --debug-dir seen");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("drawn.png: a grid with lines"));
  EXPECT_THAT(finished.out, HasSubstr("36 of 81 cells filled"));
  EXPECT_THAT(finished.out, HasSubstr("the answer is unique"));
  EXPECT_EQ(finished.out.find('\033'), std::string::npos) << "colours belong on a terminal";
  std::string last;  // the answer's last row
  for (std::size_t cell = 72; cell < 81; ++cell) {
    last += (cell % 9 == 3 || cell % 9 == 6 ? "| " : "") + std::to_string(board.solution[cell]) + " ";
  }
  EXPECT_THAT(finished.out, HasSubstr("    " + last + "\n"));
  for (const char* step : {"picture", "grid", "cells"})
    EXPECT_TRUE(std::filesystem::exists(path(std::string("seen/drawn-") + step + ".png"))) << step;
  // Only blank cells are written into, and every one of them.
  const Image answer = formats::read_image(path("answer.png"));
  ASSERT_EQ(answer.width, picture.width);
  const vision::BoardReading reading = vision::read_board(answer, "answer.png");
  const vision::BoardReading before = vision::read_board(picture, "drawn.png");
  for (std::size_t cell = 0; cell < 81; ++cell) {
    EXPECT_FALSE(reading.blank[cell]);
    if (board.puzzle[cell] == 0) continue;
    const vision::CellPlace& at = before.places[cell];
    EXPECT_EQ(formats::crop(answer, at.x, at.y, at.width, at.height).pixels,
              formats::crop(picture, at.x, at.y, at.width, at.height).pixels);
  }
}

// Boards of another size than the weights were trained on: their program has to be ground.
TEST_F(SolveVerb, GroundingHasLimits) {
  folder_.put_program("gringo.sh", "exec sleep 100");
  setenv("AS2_GRINGO", (folder_ / "gringo.sh").c_str(), 1);
  const Finished finished = run("'" AS2_SOURCE_DIR "/examples/board.png' --box 2 --grounding-seconds 0.3");
  unsetenv("AS2_GRINGO");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("gringo was stopped after 0.3 s"));
  EXPECT_THAT(finished.err, HasSubstr("--grounding-seconds"));
}

TEST_F(SolveVerb, WhatCannotBeSolvedSaysSoInItsPlace) {
  const Board board = boards(1, 45)[0];
  render("good.png", board.puzzle, 1);
  formats::write_png(path("grey.png"), Image(300, 300, 128));
  const std::string whole = read_file(path("good.png"));
  write_file(path("cut.png"), whole.substr(0, whole.size() / 2));
  // Puts the same digit into three blank cells of a row.
  Grid wrong = board.puzzle;
  for (std::size_t cell = 0, done = 0; cell < 9 && done < 3; ++cell) {
    if (wrong[cell] == 0) continue;
    wrong[cell] = 4;
    ++done;
  }
  render("impossible.png", wrong, 1);
  const Finished finished = run("grey.png cut.png impossible.png nowhere.png good.png --json");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.err, "");
  const auto list = documents(finished.out);
  ASSERT_EQ(list.size(), 5u) << finished.out;
  EXPECT_THAT(list[0]["error"].get<std::string>(), HasSubstr("grey.png: error: unreadable"));
  EXPECT_THAT(list[1]["error"].get<std::string>(), HasSubstr("cut.png"));
  EXPECT_THAT(list[2]["error"].get<std::string>(), HasSubstr("no valid completion of what was read"));
  EXPECT_THAT(list[2]["error"].get<std::string>(), HasSubstr("rows"));
  EXPECT_THAT(list[2]["error"].get<std::string>(), HasSubstr("45 of 81 cells filled"));
  EXPECT_EQ(list[2]["status"], "unsatisfiable");
  EXPECT_TRUE(list[2]["assignment"].is_null());
  EXPECT_THAT(list[3]["error"].get<std::string>(), HasSubstr("nowhere.png"));
  EXPECT_EQ(grid_of(list[4]["assignment"]), board.solution);

  const Finished alone = run("grey.png");
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_EQ(alone.out, "");
  EXPECT_THAT(alone.err, HasSubstr("grey.png: error: unreadable: saw a picture of 300x300"));
}

// A digit that does not belong is no misreading: the board is refused, and the message says what would fit.
TEST_F(SolveVerb, OneForgedDigitIsNotCorrectedInSilence) {
  const auto puzzles = boards(8, 36);
  std::string images;
  for (std::size_t k = 0; k < puzzles.size(); ++k) {
    Grid forged = puzzles[k].puzzle;
    for (std::size_t cell = 10 * k; sudoku::solve(forged); ++cell) {
      forged = puzzles[k].puzzle;
      if (forged[cell % 81] != 0) forged[cell % 81] = forged[cell % 81] % 9 + 1;
    }
    render("f" + std::to_string(k) + ".png", forged, k);
    images += "f" + std::to_string(k) + ".png ";
  }
  const Finished finished = run(images + "--json");
  EXPECT_EQ(finished.exit_code, 1);
  int refused = 0;
  for (const Json& board : documents(finished.out)) {
    if (board["status"] != "unsatisfiable") continue;
    ++refused;
    EXPECT_TRUE(board["assignment"].is_null());
    EXPECT_THAT(board["error"].get<std::string>(), HasSubstr("no valid completion"));
  }
  EXPECT_GE(refused, 7);
}

TEST_F(SolveVerb, SeveralSolutionsAreNotUnique) {
  Grid puzzle = boards(1, 45)[0].puzzle;
  for (std::size_t cell = 0; sudoku::count_solutions(puzzle) == 1; ++cell) puzzle[cell] = 0;
  render("open.png", puzzle, 3);
  const Finished finished = run("open.png --json");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json board = Json::parse(finished.out);
  EXPECT_EQ(board["unique"], false);
  EXPECT_NEAR(board["margin"].get<double>(), 0, 1e-9);
  // A reading with one solution was looked for.
  ASSERT_TRUE(board["reread"].is_object()) << board["reread"];
  EXPECT_EQ(board["reread"]["found"], false);
  EXPECT_GT(board["reread"]["readings"].get<int>(), 0);
}

// An 8 of MNIST that reads as a 3, which leaves this board several solutions; as an 8 it has one.
TEST_F(SolveVerb, AReadingWithOneSolutionIsPreferred) {
  const std::string puzzle =
      ".8..4..1.2.7...3..1..8....2..163......2..9.8...............7...75..1..4....4.8.31";
  Grid grid;
  for (const char digit : puzzle) grid.push_back(digit == '.' ? 0 : static_cast<std::uint8_t>(digit - '0'));
  Random random(1);
  auto cells = sudoku::choose_images(grid, by_label_, random);
  cells[43] = 582;
  formats::write_png(path("misread.png"), sudoku::render_board(cells, *digits_));
  const Finished finished = run("misread.png --json");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json board = Json::parse(finished.out);
  EXPECT_EQ(board["read"]["cell(5,8,_)"], "3");
  EXPECT_EQ(board["assignment"]["cell(5,8,_)"], "8");
  ASSERT_TRUE(board["reread"].is_object()) << board["reread"];
  EXPECT_EQ(board["reread"]["found"], true);
  EXPECT_EQ(board["unique"], true);
  EXPECT_EQ(grid_of(board["assignment"]), *sudoku::solve(grid));
}

TEST_F(SolveVerb, TrajectoriesAreForModelsTrainedWithNoise) {
  const Board board = boards(1, 36)[0];
  render("board.png", board.puzzle, 1);
  const Finished finished =
      run("board.png --model " + shipped_file("models/sudoku-hard.safetensors").string() +
          " --passes 2 --restarts 2 --json");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json answer = Json::parse(finished.out);
  EXPECT_EQ(grid_of(answer["assignment"]), board.solution);
  // Two passes leave blanks in doubt, which 256 do not.
  const Json longer =
      Json::parse(run("board.png --model sudoku-hard --json").out);  // models that ship have names
  EXPECT_NE(answer["confidence"], longer["confidence"]);
  const Finished refused = run("board.png --restarts 2");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("restarts have no effect on this model: without noise"));
}

TEST_F(SolveVerb, NamesOfFilesMayBeAnyBytes) {
  render("caf\xE9.png", boards(1, 40)[0].puzzle, 3);
  const Finished finished = run("'caf\xE9.png' --json");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(Json::parse(finished.out)["file"], "caf\uFFFD.png");
}

TEST_F(SolveVerb, SmallBoards) {
  const Board board = boards(1, 7, 2)[0];
  test::PictureOptions options;
  options.dark_ink = false;
  options.size = 300;
  formats::write_png(path("small.png"), drawn(board.puzzle, options, 2));
  const Finished finished = run("small.png --box 2 --json");
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(grid_of(Json::parse(finished.out)["assignment"], 4), board.solution);
}

TEST_F(SolveVerb, BoxesThatAreNotSquare) {
  const Board board = boards(1, 16, {2, 3})[0];
  test::PictureOptions options;
  options.size = 360;
  formats::write_png(path("six.png"), drawn(board.puzzle, options, 2));
  options.thin = 0;  // the boxes alone have lines
  formats::write_png(path("coarse.png"), drawn(board.puzzle, options, 2));
  for (const std::string picture : {"six.png", "coarse.png"}) {
    const Finished finished = run(picture + " --box 2x3 --json");
    ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_EQ(grid_of(Json::parse(finished.out)["assignment"], 6), board.solution) << picture;
  }
  // Three cells, a rule, three cells; a rule after every second row.
  std::istringstream text(run("six.png --box 2x3").out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto rule = std::find(lines.begin(), lines.end(), "  ------+-------    ------+-------");
  ASSERT_NE(rule, lines.end()) << text.str();
  ASSERT_GE(lines.end() - rule, 5);
  EXPECT_EQ(rule[3], *rule) << text.str();
  EXPECT_EQ(rule[1].find('|'), 8u) << text.str();
  const Finished refused = run("six.png --box 3x2");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("3x2 is not a shape of box: expected one of 2, 3, 4, 2x3"));
}

// A photo of a sheet: the puzzle printed, and what a player wrote into it (0: nothing).
vision::Page photo_of(const Grid& puzzle, const Grid& written, const vision::PageOptions& options,
                      const datasets::Digits& digits,
                      const std::vector<std::vector<std::uint32_t>>& by_label) {
  std::vector<vision::CellContent> contents(puzzle.size());
  for (std::size_t k = 0; k < puzzle.size(); ++k) {
    if (puzzle[k] != 0) contents[k] = {vision::CellContent::kPrinted, puzzle[k]};
    if (puzzle[k] == 0 && written[k] != 0) contents[k] = {vision::CellContent::kWritten, written[k]};
  }
  Random random(11);
  return vision::draw_page(contents, options, {nullptr, &digits, &by_label}, random);
}

// Other boards than Sudoku: their size and rules are the card's.
TEST_F(SolveVerb, TheBoardIsTheOneOfTheModelsCard) {
  struct Kind {
    const char *name, *program, *compiled;
    infer::Constants constants;
    int side;
  };
  for (const Kind& kind : {Kind{"futoshiki", "programs/futoshiki.lp", "programs/futoshiki.as2c", {}, 4},
                           Kind{"latin", "programs/latin_square.lp", "", {{"n", "5"}}, 5}}) {
    infer::Card card = infer::read_card(shipped_file("models/digits-best.safetensors"));
    std::filesystem::copy_file(card.weights, path(std::string(kind.name) + ".safetensors"));
    card.weights = path(std::string(kind.name) + ".safetensors");
    card.program = {shipped_file(kind.program).string(),
                    *kind.compiled ? shipped_file(kind.compiled).string() : "", kind.constants};
    card.shape = infer::ProgramShape::of(*infer::load_program(card.program));
    infer::write_card(card);
    // Futoshiki's signs and its clue leave one solution; of the Latin square most cells are shown.
    Grid solution(static_cast<std::size_t>(kind.side * kind.side)), puzzle;
    if (kind.side == 4) {
      const Finished decoded =
          testing::run_as2(folder_.str(), "decode " + card.program.file + " --json --beliefs " +
                                              folder_.put("none.json", "{}"));
      ASSERT_EQ(decoded.exit_code, 0) << decoded.err;
      solution = grid_of(Json::parse(decoded.out)["assignment"], 4);
    } else {
      for (int k = 0; k < 25; ++k)
        solution[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>((k % 5 + 2 * (k / 5)) % 5 + 1);
    }
    puzzle = solution;
    for (std::size_t k = 0; k < puzzle.size(); k += 3) puzzle[k] = 0;
    vision::PageOptions options;
    options.side = kind.side;
    options.turn = 0.2;
    options.tilt = 0.3;
    const std::string picture = std::string(kind.name) + ".png";
    formats::write_png(path(picture),
                       photo_of(puzzle, Grid(puzzle.size(), 0), options, *digits_, by_label_).picture);
    const Finished finished = run(picture + " --model " + card.weights.string() + " --json");
    ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_EQ(grid_of(Json::parse(finished.out)["assignment"], kind.side), solution) << kind.name;
    EXPECT_EQ(run(picture + " --model " + card.weights.string() + " --out " + path("out.png")).exit_code, 0);
    EXPECT_THAT(run(picture + " --box 3 --model " + card.weights.string()).err,
                HasSubstr("positions, the board 81 cells"));
  }
  EXPECT_THAT(run("latin.png --model " + shipped_file("models/addition-n2-best.safetensors").string()).err,
              HasSubstr("its positions are not the cells of a square board"));
}

// Numbers of two digits are read digit by digit, and drawn so.
TEST_F(SolveVerb, BoardsOfSixteenBySixteen) {
  const Board board = boards(1, 150, 4)[0];
  vision::PageOptions options;
  options.side = 16;
  options.turn = 0.1;
  options.pitch = 56;
  const vision::Page page = photo_of(board.puzzle, Grid(256, 0), options, *digits_, by_label_);
  formats::write_png(path("large.png"), page.picture);
  const Finished finished = run("large.png --box 4 --json --out answer.png");
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const Json answer = Json::parse(finished.out);
  EXPECT_EQ(answer["unique"], true);
  EXPECT_EQ(grid_of(answer["read"], 16), board.puzzle);
  EXPECT_EQ(grid_of(answer["assignment"], 16), board.solution);
  EXPECT_NE(formats::read_image(path("answer.png")).pixels, page.picture.pixels);
}

TEST_F(SolveVerb, PhotosAreReadAnyWayUpAndFilledInAsTheyLie) {
  const Board board = boards(1, 36)[0];
  struct Way {
    const char* name;
    double turn, tilt;
    const char* said;
  };
  for (const Way& way :
       {Way{"slanting", 0.15, 0.4, " printed"}, Way{"upside-down", 3.3, 0.2, "turned by 180 degrees"},
        Way{"sideways", 1.5, 0, "turned by"}}) {
    vision::PageOptions options;
    options.turn = way.turn;
    options.tilt = way.tilt;
    options.light_lost = 0.5;
    options.blur = 0.7;
    options.noise = 3;
    const vision::Page page = photo_of(board.puzzle, Grid(81, 0), options, *digits_, by_label_);
    const std::string name = std::string(way.name) + ".png";
    formats::write_png(path(name), page.picture);
    const Finished finished = run(name + " --out answer.png --debug-dir seen");
    ASSERT_EQ(finished.exit_code, 0) << way.name << ": " << finished.err;
    EXPECT_THAT(finished.out, HasSubstr(way.said));
    EXPECT_THAT(finished.out, HasSubstr("36 of 81 cells filled"));
    EXPECT_THAT(finished.out, HasSubstr("the answer is unique"));
    for (const char* step : {"picture", "ink", "grid", "cells"})
      EXPECT_TRUE(std::filesystem::exists(path("seen/" + std::string(way.name) + "-" + step + ".png")))
          << step;
    EXPECT_EQ(grid_of(Json::parse(run(name + " --json").out)["assignment"]), board.solution) << way.name;
    // Written where the blank cells lie, and nowhere else.
    const Image answer = formats::read_image(path("answer.png"));
    ASSERT_EQ(answer.width, page.picture.width);
    for (int cell = 0; cell < 81; ++cell) {
      const vision::Point middle = page.lattice.at(cell % 9 + 0.5, cell / 9 + 0.5);
      int changed = 0;
      for (int y = -8; y <= 8; ++y) {
        for (int x = -8; x <= 8; ++x) {
          const int u = static_cast<int>(middle.x) + x, v = static_cast<int>(middle.y) + y;
          changed += answer.at(u, v) != page.picture.at(u, v);
        }
      }
      EXPECT_EQ(changed > 0, board.puzzle[static_cast<std::size_t>(cell)] == 0)
          << way.name << ", cell " << cell;
    }
  }
}

// Less than a degree off: lines that counted as straight would leave their ends in the cells.
TEST_F(SolveVerb, HandwritingAHairFromStraightIsRead) {
  const std::vector<Board> list = boards(12, 30);
  const auto solved = [&](std::size_t k, double pitch, double ink) {
    vision::PageOptions options;
    options.turn = (k % 2 == 0 ? 1 : -1) * (0.002 + 0.0005 * static_cast<double>(k));
    options.pitch = pitch;
    options.pen_ink = ink;
    formats::write_png(path("hair.png"),
                       photo_of(Grid(81, 0), list[k].puzzle, options, *digits_, by_label_).picture);
    const Json answer = Json::parse(run("hair.png --json").out);
    EXPECT_EQ(answer["read"].size(), 30U) << k;
    EXPECT_EQ(answer["unique"], true) << k;
    EXPECT_EQ(grid_of(answer["assignment"]), list[k].solution) << k << answer["error"];
  };
  for (std::size_t k = 0; k < 8; ++k) solved(k, 60, 0.95);
  // One digit is taken for a blank at first, and read because the board would have several solutions.
  solved(11, 47, 0.6);
  EXPECT_THAT(run("hair.png").out, HasSubstr("a grid in a photo"));  // not between straight lines
}

TEST_F(SolveVerb, APlayersMistakesAreNamed) {
  const Board board = boards(1, 36)[0];
  Grid written(81, 0);
  int entries = 0;
  for (std::size_t k = 0; k < 81 && entries < 6; ++k) {
    if (board.puzzle[k] == 0) written[k] = board.solution[k], ++entries;
  }
  const std::size_t wrong = static_cast<std::size_t>(
      std::find_if(written.begin(), written.end(), [](int digit) { return digit != 0; }) - written.begin());
  written[wrong] = written[wrong] % 9 + 1;
  vision::PageOptions options;
  options.turn = 0.1;
  options.pitch = 56;
  formats::write_png(path("played.png"),
                     photo_of(board.puzzle, written, options, *digits_, by_label_).picture);
  const Finished finished = run("played.png");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("36 printed and 6 handwritten digits"));
  EXPECT_THAT(finished.out, HasSubstr("! wrong entry: row " + std::to_string(wrong / 9 + 1) + ", column " +
                                      std::to_string(wrong % 9 + 1) + " has a handwritten " +
                                      std::to_string(written[wrong])));
  EXPECT_THAT(finished.out, HasSubstr("5 of 6 handwritten entries are right"));
  const Json json = Json::parse(run("played.png --json").out);
  EXPECT_EQ(json["entries"].size(), 6u);
  EXPECT_EQ(json["entries"][0]["right"], false);
  EXPECT_EQ(grid_of(json["assignment"]), board.solution);
}

// What was seen of a picture is shown above all where it was refused.
TEST_F(SolveVerb, ARefusedPhotoComesWithPictures) {
  Board board = boards(1, 36)[0];
  vision::PageOptions options;
  options.turn = 0.1;
  const auto refused = [&](const std::string& name, const Image& picture, const char* why,
                           const std::set<std::string>& steps) {
    formats::write_png(path(name + ".png"), picture);
    const Finished finished = run(name + ".png --debug-dir seen");
    EXPECT_EQ(finished.exit_code, 1) << name;
    EXPECT_THAT(finished.err, HasSubstr(why)) << name;
    for (const char* step : {"picture", "ink", "grid", "cells"})
      EXPECT_EQ(std::filesystem::exists(path("seen/" + name + "-" + step + ".png")), steps.count(step) > 0)
          << name << ", " << step;
  };
  const Image one = photo_of(board.puzzle, Grid(81, 0), options, *digits_, by_label_).picture;
  Image two(2 * one.width, one.height, 200);
  formats::paste(two, one, 0, 0);
  formats::paste(two, one, one.width, 0);
  refused("two", two, "more than one board", {"picture", "ink", "grid"});
  Grid wrong = board.puzzle;
  for (std::size_t cell = 0; cell < 4; ++cell) wrong[cell] = 4;
  refused("impossible", photo_of(wrong, Grid(81, 0), options, *digits_, by_label_).picture,
          "no valid completion", {"picture", "ink", "grid", "cells"});
  options.line_ink = 0;
  refused("lineless", photo_of(board.puzzle, Grid(81, 0), options, *digits_, by_label_).picture,
          "not a board", {"picture", "ink"});
}

TEST_F(SolveVerb, ManyLargePicturesAreNotHeldAtOnce) {
  const std::string picture = formats::encode_png(Image(3500, 3500, 200));
  std::string images;
  for (int k = 0; k < 30; ++k) {
    const std::string name = "large" + std::to_string(k) + ".png";
    write_file(path(name), picture);
    images += " " + name;
  }
  const Finished finished = run(images + " --out answers --threads 2 --verbose");
  EXPECT_EQ(finished.exit_code, 1);
  const std::string memory = "memory at most ";
  const auto at = finished.err.find(memory);
  ASSERT_NE(at, std::string::npos) << finished.err;
  EXPECT_LT(std::stod(finished.err.substr(at + memory.size())), 250) << "all of them take 367 MB";
}

// Photos that are not the project's: AS2_PHOTOS names a folder of them with their clues.
TEST_F(SolveVerb, PublicPhotos) {
  const char* folder = std::getenv("AS2_PHOTOS");
  if (!folder) GTEST_SKIP() << "AS2_PHOTOS names no folder with NAME.jpg and NAME.dat";
  const Finished finished = run("--score '" + std::string(folder) + "'/*.jpg");
  const auto count = [&](const std::string& what) {
    const auto end = finished.err.rfind(what);
    if (end == std::string::npos) return -1;
    return std::stoi(finished.err.substr(finished.err.find_last_of(" \n", end - 1) + 1));
  };
  const int photos = count(" photos: ");
  EXPECT_GT(photos, 0) << finished.err;
  EXPECT_GE(48 * (count(" wholly right, ") + count(" right but for cells ")), 46 * photos) << finished.err;
  EXPECT_EQ(count(" wrong, "), 0) << finished.err;
}

TEST_F(SolveVerb, ScoresPhotosAgainstTheirClues) {
  const Board board = boards(1, 36)[0];
  vision::PageOptions options;
  options.turn = 0.1;
  formats::write_png(path("p.png"),
                     photo_of(board.puzzle, Grid(81, 0), options, *digits_, by_label_).picture);
  std::string clues = "a camera\n9x9 PNG\n";
  for (std::size_t k = 0; k < 81; ++k) clues += std::to_string(board.puzzle[k]) + (k % 9 == 8 ? "\n" : " ");
  write_file(path("p.dat"), clues);
  EXPECT_THAT(run("p.png --score").err,
              HasSubstr("1 photos: 1 boards found; 81 of 81 cells read; 1 wholly right"));
  clues[clues.size() - 2] = clues[clues.size() - 2] == '0' ? '5' : '0';
  write_file(path("p.dat"), clues);
  EXPECT_THAT(run("p.png --score").err, HasSubstr("80 of 81 cells read; 0 wholly right"));
  write_file(path("p.dat"), clues.substr(0, clues.size() - 2) + "259");  // 3 in eight bits
  EXPECT_THAT(run("p.png --score").err, HasSubstr("p.dat: error: has the number 259"));
  write_file(path("p.dat"), "short\n");
  EXPECT_EQ(run("p.png --score").exit_code, 1);
}

TEST_F(SolveVerb, MistakesInUse) {
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_EQ(run("a.png --threshold 2").exit_code, 2);
  EXPECT_EQ(run("a.png --threshold nan").exit_code, 2);
  const auto listed = run("a.png --threshold 0.5 --json");
  EXPECT_EQ(listed.exit_code, 2);
  EXPECT_THAT(listed.err, HasSubstr("--threshold does not apply"));
  EXPECT_EQ(run("x/a.png y/a.png --out folder").exit_code, 2);
  const auto jpeg = run("a.png --out solved.JPG");
  EXPECT_EQ(jpeg.exit_code, 2);
  EXPECT_THAT(jpeg.err, HasSubstr("solved.JPG would be written as PNG: call it solved.png"));
  const Finished none = run("a.png --model none.safetensors");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("none.safetensors: error: no such file"));
  write_file(path("alone.safetensors"), "");
  EXPECT_THAT(run("a.png --model alone.safetensors").err,
              HasSubstr("card of these weights is missing: alone.json"));
}

TEST_F(SolveVerb, BothEnginesGiveTheSameAnswers) {
  std::string names;
  const auto puzzles = boards(3, 30);
  for (int k = 0; k < 3; ++k) {
    const std::string name = "engine" + std::to_string(k) + ".png";
    render(name, puzzles[static_cast<std::size_t>(k)].puzzle, static_cast<std::uint64_t>(k));
    names += ' ' + path(name);
  }
  const auto documents = [](const Finished& finished) {
    std::vector<Json> lines;
    std::istringstream in(finished.out);
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  };
  const Finished native = run("--json" + names);
  ASSERT_EQ(native.exit_code, 0) << native.err;
  const auto ours = documents(native);
  ASSERT_EQ(ours.size(), 3U);
  EXPECT_EQ(run("--json --threads 1 --memory 4" + names).out, native.out);

  const Finished torch = run("--json --engine torch" + names);
  if (torch.err.find("this build has no LibTorch") != std::string::npos) GTEST_SKIP() << torch.err;
  ASSERT_EQ(torch.exit_code, 0) << torch.err;
  const auto theirs = documents(torch);
  ASSERT_EQ(theirs.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(ours[k]["assignment"], theirs[k]["assignment"]);
    EXPECT_EQ(ours[k]["read"], theirs[k]["read"]);
    EXPECT_EQ(ours[k]["unique"], theirs[k]["unique"]);
    for (const auto& [position, confidence] : ours[k]["confidence"].items())
      EXPECT_NEAR(confidence.get<double>(), theirs[k]["confidence"][position].get<double>(), 1e-4)
          << position;
  }
}

TEST_F(SolveVerb, MemoryIsBoundedOrRefused) {
  render("board.png", boards(1, 30)[0].puzzle, 1);
  const Finished little = run("--json --memory 1 " + path("board.png"));
  EXPECT_EQ(little.exit_code, 1);
  EXPECT_THAT(little.err, HasSubstr("not enough memory for boards: one at a time takes "));
  EXPECT_THAT(little.err, HasSubstr("allow more with --memory"));
  const Finished torch = run("--memory 100 --engine torch " + path("board.png"));
  EXPECT_EQ(torch.exit_code, 2);
  EXPECT_THAT(torch.err, HasSubstr("--memory bounds the native engine"));
  EXPECT_EQ(run("--engine cuda " + path("board.png")).exit_code, 2);
}

}  // namespace
}  // namespace as2::cli
