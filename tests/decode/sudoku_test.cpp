// Sudoku: generated boards solved and certified unique, misread clues put right, contradictions explained.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "as2/compile.h"
#include "as2/decoder.h"
#include "random.h"
#include "sudoku/board.h"
#include "sudoku/board_list.h"

namespace as2::decode {
namespace {

const compile::ConstraintProgram& sudoku() {
  static const compile::Compiled compiled =
      compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/sudoku.lp"});
  return compiled.program;
}

// Perception's view of a board: near-certain clues, uniform blanks.
Beliefs read_board(const sudoku::Grid& puzzle, double certainty = 0.9999) {
  Beliefs beliefs(81 * 9, 1.0 / 9);
  for (std::size_t i = 0; i < 81; ++i) {
    if (!puzzle[i]) continue;
    std::fill_n(beliefs.begin() + static_cast<std::ptrdiff_t>(9 * i), 9, (1 - certainty) / 8);
    beliefs[9 * i + puzzle[i] - 1] = certainty;
  }
  return beliefs;
}

// The clue is read as another digit; the true one comes second.
void misread(Beliefs& beliefs, std::size_t cell, int truth, int read, double p_truth) {
  std::fill_n(beliefs.begin() + static_cast<std::ptrdiff_t>(9 * cell), 9, 1e-6);
  beliefs[9 * cell + static_cast<std::size_t>(truth) - 1] = p_truth;
  beliefs[9 * cell + static_cast<std::size_t>(read) - 1] = 1 - p_truth - 7e-6;
}

sudoku::Grid grid_of(const compile::Assignment& assignment) {
  sudoku::Grid grid;
  for (const int symbol : assignment) grid.push_back(static_cast<std::uint8_t>(symbol + 1));
  return grid;
}

// All solutions of a 6×6 puzzle with boxes of two rows and three columns, by the definition.
void add_solutions(sudoku::Grid& grid, std::size_t cell, std::set<sudoku::Grid>& solutions) {
  while (cell < 36 && grid[cell] != 0) ++cell;
  if (cell == 36) {
    solutions.insert(grid);
    return;
  }
  const auto row = [](std::size_t at) { return at / 6; };
  const auto column = [](std::size_t at) { return at % 6; };
  const auto box = [&](std::size_t at) { return std::pair(row(at) / 2, column(at) / 3); };
  for (std::uint8_t digit = 1; digit <= 6; ++digit) {
    bool fits = true;
    for (std::size_t at = 0; at < 36; ++at) {
      const bool sees = row(at) == row(cell) || column(at) == column(cell) || box(at) == box(cell);
      fits = fits && !(sees && grid[at] == digit);
    }
    if (!fits) continue;
    grid[cell] = digit;
    add_solutions(grid, cell + 1, solutions);
    grid[cell] = 0;
  }
}

void expect_solved_and_unique(const std::vector<sudoku::Board>& boards) {
  const Decoder decoder(sudoku());
  std::vector<Query> queries;
  for (const sudoku::Board& board : boards) queries.push_back({read_board(board.puzzle)});
  DecodeOptions options;
  options.models = 2;
  const std::vector<Decoded> decoded = decoder.decode_batch(queries, options, 2);
  for (std::size_t k = 0; k < boards.size(); ++k) {
    SCOPED_TRACE(sudoku::grid_text(boards[k].puzzle));
    ASSERT_EQ(decoded[k].status, Status::kOptimal);
    const sudoku::Grid solution = grid_of(decoded[k].models[0].assignment);
    EXPECT_TRUE(sudoku::is_solved(solution));
    if (!boards[k].solution.empty()) {
      EXPECT_EQ(solution, boards[k].solution);
    }
    // The solution is unique, so the second-best answer must have changed at least one clue and paid for it.
    ASSERT_EQ(decoded[k].models.size(), 2U);
    const double margin = decoded[k].models[0].log_probability - decoded[k].models[1].log_probability;
    EXPECT_GT(margin, 10.0);
  }
}

TEST(Sudoku, GeneratedBoardsOfEveryDifficulty) {
  for (const int clues : {22, 23, 24, 26, 28, 30, 36, 45}) {
    sudoku::GenerateOptions options;
    options.min_clues = options.max_clues = clues;
    options.seed = 17;
    expect_solved_and_unique(sudoku::generate(options, 0, 40));
  }
}

// Public 17-clue puzzles (Gordon Royle's collection).
std::vector<sudoku::Board> seventeen_clues() {
  const std::string list =
      "000000010400000000020000000000050407008000300001090000300400200050100000000806000\n"
      "000000010400000000020000000000050604008000300001090000300400200050100000000807000\n"
      "000000012000035000000600070700000300000400800100000000000120000080000040050000600\n"
      "000000012003600000000007000410020000000500300700000600280000040000300500000000000\n"
      "000000012008030000000000040120500000000004700060000000507000300000620000000100000\n";
  return sudoku::parse_boards(list, "list");
}

// Boxes of two rows and three columns: the program has the solutions that the definition has, found by trying
// every digit in every blank.
TEST(Sudoku, BoxesThatAreNotSquareHaveTheSolutionsOfTheDefinition) {
  asp::GroundOptions constants;
  constants.constants = {{"h", "2"}, {"w", "3"}};
  const compile::ConstraintProgram program =
      compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/sudoku.lp"}, constants).program;
  ASSERT_EQ(program.positions.size(), 36U);
  const Decoder decoder(program);
  int several = 0;
  for (std::uint64_t k = 0; k < 20; ++k) {
    sudoku::Grid puzzle = sudoku::generate({{2, 3}, 12, 14, 3}, k).puzzle;
    for (std::size_t cell = 0, lifted = 0; cell < 36 && lifted < k % 4; ++cell) {
      if (puzzle[cell] != 0) puzzle[cell] = 0, ++lifted;
    }
    std::set<sudoku::Grid> expected;
    add_solutions(puzzle, 0, expected);
    Query query{Beliefs(36 * 6, 1.0 / 6)};
    for (int cell = 0; cell < 36; ++cell) {
      if (puzzle[static_cast<std::size_t>(cell)] != 0)
        query.pins.push_back({cell, puzzle[static_cast<std::size_t>(cell)] - 1});
    }
    DecodeOptions options;
    options.models = static_cast<int>(expected.size()) + 1;
    std::set<sudoku::Grid> found;
    for (const auto& model : decoder.decode(query, options).models) found.insert(grid_of(model.assignment));
    EXPECT_EQ(found, expected) << sudoku::grid_text(puzzle);
    several += expected.size() > 1;
  }
  EXPECT_GT(several, 5);
}

TEST(Sudoku, SeventeenClues) {
  expect_solved_and_unique(seventeen_clues());
}

// Problems of slots alone go through a search of their own first; `learn_after` leaves it out.
TEST(Sudoku, RowsOfBitsFindWhatTheOtherSearchesFind) {
  const std::vector<std::string> programs = {
      "{cell(R,C,V) : V=1..5} = 1 :- R=1..5, C=1..5. :- cell(R,C,V), cell(R,D,V), C<D.\n"
      ":- cell(R,C,V), cell(S,C,V), R<S.\n",
      "{cell(R,C,V) : V=1..4} = 1 :- R=1..4, C=1..4. :- cell(R,C,V), cell(R,D,V), C<D.\n"
      ":- cell(R,C,V), cell(S,C,V), R<S. :- cell(R,C,V), cell(S,D,V), (R-1)/2=(S-1)/2, (C-1)/2=(D-1)/2, "
      "(R,C)<(S,D).\n",
      "{queen(R,C) : C=1..7} = 1 :- R=1..7. :- queen(R,C), queen(S,C), R<S.\n"
      ":- queen(R,C), queen(S,D), R<S, S-R=|C-D|.\n",
      "{colour(X,C) : C=1..3} = 1 :- X=1..9. :- colour(X,C), colour(X+1,C). :- colour(X,C), colour(X+3,C).\n"
      ":- colour(1,2). :- colour(X,C), colour(X+2,C), X=1..4.\n"};
  int answered = 0;
  int refused = 0;
  for (const std::string& text : programs) {
    const compile::ConstraintProgram program = compile::compile_text(text).program;
    const Decoder decoder(program);
    const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
    Random random(7);
    for (int k = 0; k < 60; ++k) {
      SCOPED_TRACE(text + std::to_string(k));
      Query query{Beliefs(program.positions.size() * stride, 1.0)};
      for (std::size_t i = 0; i < program.positions.size(); ++i) {
        const std::size_t kind = random.next() % 5;  // certain, one symbol out, two levels, or uniform
        const std::size_t s = random.next() % program.positions[i].symbols.size();
        if (kind == 0)
          std::fill_n(query.beliefs.begin() + static_cast<std::ptrdiff_t>(i * stride), stride, 0.01);
        if (kind <= 1) query.beliefs[i * stride + s] = kind == 0 ? 0.9 : 0.2;
        if (kind == 2 && k % 3 == 0) query.pins = {{static_cast<int>(i), static_cast<int>(s)}};
      }
      DecodeOptions options;
      options.models = 1 + k % 3;
      DecodeOptions without = options;
      without.learn_after = 1 << 20;
      const Decoded rows = decoder.decode(query, options);
      const Decoded others = decoder.decode(query, without);
      ASSERT_EQ(rows.status, others.status);
      ASSERT_EQ(rows.models.size(), others.models.size());
      for (std::size_t m = 0; m < rows.models.size(); ++m) {
        EXPECT_NEAR(rows.models[m].log_probability, others.models[m].log_probability, 1e-9);
        EXPECT_TRUE(compile::violated_groups(program, rows.models[m].assignment).empty());
        for (std::size_t n = 0; n < m; ++n) EXPECT_NE(rows.models[m].assignment, rows.models[n].assignment);
      }
      ++(rows.models.empty() ? refused : answered);
    }
  }
  EXPECT_GT(answered, 100);
  EXPECT_GT(refused, 10);
}

// Locked candidates and both kinds of singles together leave less to decide than the singles do.
TEST(Sudoku, RowsOfBitsDecideLess) {
  const Decoder decoder(sudoku());
  DecodeOptions without;
  without.learn_after = 1 << 20;
  std::int64_t rows = 0;
  std::int64_t others = 0;
  for (const sudoku::Board& board : seventeen_clues()) {
    const Query query{read_board(board.puzzle)};
    rows += decoder.decode(query).nodes;
    others += decoder.decode(query, without).nodes;
  }
  EXPECT_LT(rows, others);
}

TEST(Sudoku, BlankBoardsAreNotUnique) {
  DecodeOptions options;
  options.models = 2;
  const Decoded decoded = Decoder(sudoku()).decode({read_board(sudoku::Grid(81, 0))}, options);
  ASSERT_EQ(decoded.models.size(), 2U);
  EXPECT_EQ(decoded.models[0].log_probability, decoded.models[1].log_probability);
  EXPECT_NE(decoded.models[0].assignment, decoded.models[1].assignment);
}

TEST(Sudoku, PutsRightWhatPerceptionMisread) {
  sudoku::GenerateOptions generate;
  generate.seed = 4;
  const Decoder decoder(sudoku());
  const std::vector<sudoku::Board> boards = sudoku::generate(generate, 0, 100);
  int put_right = 0;
  for (std::size_t k = 0; k < boards.size(); ++k) {
    SCOPED_TRACE(k);
    Beliefs beliefs = read_board(boards[k].puzzle);
    std::vector<std::size_t> wrong;
    for (std::size_t i = k % 5; i < 81 && wrong.size() < 1 + k % 2; ++i) {
      if (boards[k].puzzle[i]) wrong.push_back(i);
    }
    for (const std::size_t cell : wrong) {
      const int truth = boards[k].puzzle[cell];
      misread(beliefs, cell, truth, truth % 9 + 1, 0.2);
    }
    const Decoded decoded = decoder.decode({beliefs});
    ASSERT_EQ(decoded.status, Status::kOptimal);
    double truth = 0;
    for (std::size_t i = 0; i < 81; ++i) truth += std::log(beliefs[9 * i + boards[k].solution[i] - 1]);
    EXPECT_GE(decoded.models[0].log_probability, truth - 1e-9);
    // A board whose misreading has a solution of its own is rightly read that way.
    if (grid_of(decoded.models[0].assignment) != boards[k].solution) {
      EXPECT_GT(decoded.models[0].log_probability, truth + 0.1);
      continue;
    }
    ++put_right;
    const Explanation explanation = explain(sudoku(), beliefs, decoded.models[0].assignment);
    ASSERT_EQ(explanation.changed.size(), wrong.size());
    for (std::size_t w = 0; w < wrong.size(); ++w) {
      const Change& change = explanation.changed[w];
      EXPECT_EQ(change.position, static_cast<int>(wrong[w]));
      EXPECT_EQ(change.decoded + 1, boards[k].puzzle[wrong[w]]);
      EXPECT_GT(change.p_read, change.p_decoded);
    }
    // A group is blamed only for what was read: two equal clues in it.
    for (const int g : explanation.broken_groups) {
      std::vector<int> digits;
      for (const int i : sudoku().groups[g].positions) {
        if (!boards[k].puzzle[i]) continue;
        const bool is_wrong =
            std::find(wrong.begin(), wrong.end(), static_cast<std::size_t>(i)) != wrong.end();
        digits.push_back(is_wrong ? boards[k].puzzle[i] % 9 + 1 : boards[k].puzzle[i]);
      }
      std::sort(digits.begin(), digits.end());
      EXPECT_NE(std::adjacent_find(digits.begin(), digits.end()), digits.end());
    }
  }
  EXPECT_GT(put_right, 90);
}

TEST(Sudoku, ContradictoryPinsAreExplained) {
  sudoku::GenerateOptions generate;
  const sudoku::Board board = sudoku::generate(generate, 3);
  Query query{read_board(sudoku::Grid(81, 0))};
  for (int i = 0; i < 81; ++i) {
    if (board.puzzle[i]) query.pins.push_back({i, board.puzzle[i] - 1});
  }
  const Decoder decoder(sudoku());
  ASSERT_EQ(decoder.decode(query).status, Status::kOptimal);
  // One more clue, which no peer contradicts but the solution does.
  int cell = -1;
  int digit = -1;
  for (int i = 0; i < 81 && cell < 0; ++i) {
    for (int d = 1; d <= 9 && !board.puzzle[i]; ++d) {
      sudoku::Grid tried = board.puzzle;
      tried[i] = static_cast<std::uint8_t>(d);
      if (d != board.solution[i] && sudoku::is_consistent(tried)) {
        cell = i;
        digit = d;
        break;
      }
    }
  }
  ASSERT_GE(cell, 0);
  query.pins.push_back({cell, digit - 1});
  const Decoded decoded = decoder.decode(query);
  ASSERT_EQ(decoded.status, Status::kUnsatisfiable);
  const Conflict& conflict = decoded.conflict;
  EXPECT_FALSE(conflict.groups.empty());
  // Minimal: without any of its pins the whole program is satisfiable together with the others.
  for (std::size_t k = 0; k < conflict.pins.size(); ++k) {
    Query fewer{query.beliefs, conflict.pins};
    DecodeOptions options;
    options.minimal_conflict = false;
    EXPECT_EQ(decoder.decode(fewer, options).status, Status::kUnsatisfiable);
    compile::ConstraintProgram part = sudoku();
    part.groups.clear();
    for (const int g : conflict.groups) part.groups.push_back(sudoku().groups[g]);
    EXPECT_EQ(Decoder(part).decode(fewer, options).status, Status::kUnsatisfiable);
    fewer.pins.erase(fewer.pins.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_EQ(Decoder(part).decode(fewer, options).status, Status::kOptimal);
  }
}

TEST(Sudoku, TwoConfidentEqualCluesInARow) {
  Beliefs beliefs = read_board(sudoku::Grid(81, 0));
  const auto set = [&](std::size_t cell, std::size_t digit, double p) {
    std::fill_n(beliefs.begin() + static_cast<std::ptrdiff_t>(9 * cell), 9, (1 - p) / 8);
    beliefs[9 * cell + digit - 1] = p;
  };
  set(0, 5, 0.9);
  set(8, 5, 0.6);
  const Decoded decoded = Decoder(sudoku()).decode({beliefs});
  ASSERT_EQ(decoded.status, Status::kOptimal);
  EXPECT_EQ(decoded.models[0].assignment[0], 4);
  const Explanation explanation = explain(sudoku(), beliefs, decoded.models[0].assignment);
  ASSERT_EQ(explanation.changed.size(), 1U);
  EXPECT_EQ(explanation.changed[0].position, 8);
  ASSERT_EQ(explanation.broken_groups.size(), 1U);
  EXPECT_EQ(sudoku().families[sudoku().groups[explanation.broken_groups[0]].family].name, "rows");
}

TEST(Sudoku, TheGuideBreaksTies) {
  const sudoku::Board board = sudoku::generate(sudoku::GenerateOptions{}, 9);
  const Beliefs blank = read_board(sudoku::Grid(81, 0));
  const Decoded decoded = Decoder(sudoku()).decode({blank, {}, {}, read_board(board.solution, 0.9)});
  EXPECT_EQ(grid_of(decoded.models[0].assignment), board.solution);
}

TEST(Sudoku, GreedyFollowsThePaper) {
  const sudoku::Board board = sudoku::generate({3, 45, 45, 1}, 2);
  DecodeOptions options;
  options.method = Method::kGreedy;
  const Decoder decoder(sudoku());
  // A reasoner that knows the solution, though not surely: greedy commits it.
  Query query{read_board(board.solution, 0.5)};
  for (int i = 0; i < 81; ++i) {
    if (board.puzzle[i]) query.evidence.push_back(i);
  }
  const Decoded right = decoder.decode(query, options);
  ASSERT_EQ(right.status, Status::kSatisfied);
  EXPECT_EQ(grid_of(right.models[0].assignment), board.solution);
  // Two equal clues in a row are both evidence: the second has nothing left.
  const int first = query.evidence[0];
  int second = -1;
  for (const int i : query.evidence) {
    if (i != first && i / 9 == first / 9) second = i;
  }
  ASSERT_GE(second, 0);
  misread(query.beliefs, static_cast<std::size_t>(second), board.puzzle[second], board.puzzle[first], 0.1);
  const Decoded stuck = decoder.decode(query, options);
  EXPECT_EQ(stuck.status, Status::kDeadEnd);
  EXPECT_EQ(stuck.dead_end_position, second);
  EXPECT_TRUE(stuck.models.empty());
}

TEST(Sudoku, PublicLists) {
  const char* folder = std::getenv("AS2_PUZZLES");
  if (!folder)
    GTEST_SKIP() << "AS2_PUZZLES names no folder with 17-clue.txt.gz, hardest-375.txt, magictour-1465.txt";
  const Decoder decoder(sudoku());
  const Beliefs blank = read_board(sudoku::Grid(81, 0));
  for (const char* name : {"17-clue.txt.gz", "hardest-375.txt", "magictour-1465.txt"}) {
    SCOPED_TRACE(name);
    for (const sudoku::Board& board : sudoku::read_boards(std::string(folder) + "/" + name)) {
      // With its clues pinned a puzzle has exactly one answer.
      DecodeOptions options;
      options.models = 2;
      Query query{blank};
      for (int i = 0; i < 81; ++i) {
        if (board.puzzle[i]) query.pins.push_back({i, board.puzzle[i] - 1});
      }
      const Decoded decoded = decoder.decode(query, options);
      ASSERT_EQ(decoded.status, Status::kOptimal);
      ASSERT_EQ(decoded.models.size(), 1U);
      ASSERT_TRUE(sudoku::is_solved(grid_of(decoded.models[0].assignment)));
    }
  }
}

}  // namespace
}  // namespace as2::decode
