// The most probable reading with exactly one completion, against counting completions of every reading.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "as2/compile.h"
#include "decode/random_constraints.h"
#include "sudoku/board.h"
#include "sudoku/board_list.h"

namespace as2::decode_test {
namespace {

using decode::Decoded;
using decode::DecodeOptions;
using decode::Decoder;
using decode::Status;

constexpr double kTie = 1e-8;

struct Reading {
  double log_probability = 0;
  int completions = 0;
};

// The readings of the evidence that occur in some answer.
std::map<std::vector<int>, Reading> readings_of(const std::vector<compile::Assignment>& answers,
                                                const std::vector<int>& evidence,
                                                const decode::Beliefs& beliefs, std::size_t stride) {
  std::map<std::vector<int>, Reading> readings;
  for (const compile::Assignment& answer : answers) {
    std::vector<int> symbols;
    double sum = 0;
    for (const int i : evidence) {
      symbols.push_back(answer[i]);
      const std::size_t at = static_cast<std::size_t>(i) * stride + static_cast<std::size_t>(answer[i]);
      sum += std::log(std::max(beliefs[at], 1e-30));
    }
    Reading& reading = readings[symbols];
    reading.log_probability = sum;
    ++reading.completions;
  }
  return readings;
}

// Compares with what counting says; returns the rank of the reading found, 0 if there is none.
int expect_right(const compile::ConstraintProgram& program, const std::vector<compile::Assignment>& answers,
                 const decode::Query& query, const DecodeOptions& options, const Decoded& decoded) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const auto readings = readings_of(answers, query.evidence, query.beliefs, stride);
  double most = -1e300;
  double best = -1e300;
  bool some = false;
  for (const auto& [symbols, reading] : readings) {
    most = std::max(most, reading.log_probability);
    if (reading.completions == 1) best = std::max(best, reading.log_probability);
    some = some || reading.completions == 1;
  }
  some = some && best >= most - options.unique_margin;
  EXPECT_TRUE(decoded.unique.has_value());
  if (!decoded.unique) return 0;
  EXPECT_TRUE(decoded.unique->complete);
  EXPECT_EQ(decoded.unique->found, some);
  if (answers.empty()) {
    EXPECT_EQ(decoded.status, Status::kUnsatisfiable);
    return 0;
  }
  EXPECT_EQ(decoded.status, Status::kOptimal);
  if (!some || decoded.models.empty() || !decoded.unique->found) return 0;
  std::vector<int> symbols;
  for (const int i : query.evidence) symbols.push_back(decoded.models[0].assignment[i]);
  const auto found = readings.find(symbols);
  EXPECT_TRUE(found != readings.end());
  if (found == readings.end()) return 0;
  EXPECT_EQ(found->second.completions, 1);
  EXPECT_NEAR(found->second.log_probability, best, kTie);
  int rank = 1;
  for (const auto& [other, reading] : readings) rank += reading.log_probability > best + kTie;
  EXPECT_EQ(decoded.unique->rank, rank);
  EXPECT_GE(decoded.unique->readings, rank);
  std::vector<double> expected;
  for (const auto& [other, reading] : readings) {
    if (reading.completions == 1 && reading.log_probability >= most - options.unique_margin)
      expected.push_back(reading.log_probability);
  }
  std::sort(expected.rbegin(), expected.rend());
  expected.resize(std::min(expected.size(), static_cast<std::size_t>(options.models)));
  EXPECT_EQ(decoded.models.size(), expected.size());
  std::set<std::vector<int>> different;
  for (std::size_t k = 0; k < std::min(expected.size(), decoded.models.size()); ++k) {
    const compile::Assignment& answer = decoded.models[k].assignment;
    symbols.clear();
    for (const int i : query.evidence) symbols.push_back(answer[i]);
    EXPECT_TRUE(different.insert(symbols).second) << "one reading twice";
    EXPECT_EQ(readings.at(symbols).completions, 1);
    EXPECT_NEAR(readings.at(symbols).log_probability, expected[k], kTie);
    EXPECT_TRUE(compile::violated_groups(program, answer).empty());
  }
  return rank;
}

TEST(Unique, RandomProgramsAgainstEnumeration) {
  Random random(21);
  int first = 0;
  int later = 0;
  int none = 0;
  for (std::uint64_t seed = 0; seed < 4000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const auto program = RandomConstraints(seed).make();
    decode::Query query{random_beliefs(random, program)};
    for (int i = 0; i < static_cast<int>(program.positions.size()); ++i) {
      if (below(random, 2)) query.evidence.push_back(i);
    }
    if (query.evidence.empty()) query.evidence.push_back(0);
    DecodeOptions options;
    options.unique = true;
    options.unique_margin = below(random, 3) == 0 ? 1 + below(random, 10) : 1000;
    options.learn_after = seed % 2 ? 0 : -1;
    options.models = 1 + static_cast<int>(seed % 3);
    if (below(random, 4) == 0) query.guide = random_beliefs(random, program);
    std::vector<compile::Assignment> answers;
    for (const Enumerated& answer : enumerate(program, query.beliefs, {}))
      answers.push_back(answer.assignment);
    const int rank = expect_right(program, answers, query, options, Decoder(program).decode(query, options));
    ++(rank == 0 ? none : rank == 1 ? first : later);
  }
  EXPECT_GT(first, 300);
  EXPECT_GT(later, 100);
  EXPECT_GT(none, 300);
}

void fill_grids(sudoku::Grid& grid, std::size_t cell, std::vector<compile::Assignment>& all) {
  if (cell == 16) {
    all.emplace_back();
    for (const std::uint8_t digit : grid) all.back().push_back(digit - 1);
    return;
  }
  for (std::uint8_t digit = 1; digit <= 4; ++digit) {
    bool fits = true;
    for (std::size_t other = 0; other < cell; ++other) {
      const bool peers = other / 4 == cell / 4 || other % 4 == cell % 4 ||
                         (other / 8 == cell / 8 && other % 4 / 2 == cell % 4 / 2);
      fits = fits && !(peers && grid[other] == digit);
    }
    if (!fits) continue;
    grid[cell] = digit;
    fill_grids(grid, cell + 1, all);
  }
}

TEST(Unique, SmallBoardsAgainstAllGrids) {
  asp::GroundOptions small;
  small.constants = {{"b", "2"}};
  const auto program =
      compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/sudoku.lp"}, small).program;
  std::vector<compile::Assignment> grids;
  sudoku::Grid grid(16, 0);
  fill_grids(grid, 0, grids);
  ASSERT_EQ(grids.size(), 288U);
  const Decoder decoder(program);
  Random random(22);
  int later = 0;
  for (int k = 0; k < 300 && !HasFailure(); ++k) {
    decode::Query query{decode::Beliefs(64, 0.25)};
    for (int i = 0; i < 16; ++i) {
      if (below(random, 3)) continue;
      query.evidence.push_back(i);
      double sum = 0;
      for (int s = 0; s < 4; ++s) sum += query.beliefs[4 * i + s] = 1 + below(random, 1000);
      for (int s = 0; s < 4; ++s) query.beliefs[4 * i + s] /= sum;
    }
    if (query.evidence.empty()) continue;
    DecodeOptions options;
    options.unique = true;
    later += expect_right(program, grids, query, options, decoder.decode(query, options)) > 1;
  }
  EXPECT_GT(later, 50);
}

// A clue misread with confidence, so that the board as read has several completions.
TEST(Unique, MisreadClueOfAPuzzle) {
  const auto program = compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/sudoku.lp"}).program;
  const Decoder decoder(program);
  sudoku::GenerateOptions generate;
  generate.min_clues = generate.max_clues = 24;
  generate.seed = 5;
  int used = 0;
  int right = 0;
  for (const sudoku::Board& board : sudoku::generate(generate, 0, 60)) {
    SCOPED_TRACE(sudoku::grid_text(board.puzzle));
    sudoku::Grid read = board.puzzle;
    for (std::size_t i = 0; i < 81 && sudoku::count_solutions(read) != 2; ++i) {
      for (int digit = 1; board.puzzle[i] && digit <= 9 && sudoku::count_solutions(read) != 2; ++digit) {
        read = board.puzzle;
        read[i] = static_cast<std::uint8_t>(digit);
      }
    }
    if (sudoku::count_solutions(read) != 2) continue;
    ++used;
    decode::Query query{decode::Beliefs(81 * 9, 1.0 / 9)};
    for (int i = 0; i < 81; ++i) {
      if (!board.puzzle[i]) continue;
      query.evidence.push_back(i);
      std::fill_n(query.beliefs.begin() + 9 * i, 9, 1e-7);
      query.beliefs[9 * i + board.puzzle[i] - 1] = 1e-4;
      query.beliefs[9 * i + read[i] - 1] = 0.9999;
    }
    DecodeOptions options;
    options.unique = true;
    const Decoded decoded = decoder.decode(query, options);
    ASSERT_TRUE(decoded.unique->found);
    EXPECT_GT(decoded.unique->rank, 1);
    sudoku::Grid clues(81, 0);
    for (const int i : query.evidence)
      clues[i] = static_cast<std::uint8_t>(decoded.models[0].assignment[i] + 1);
    EXPECT_EQ(sudoku::count_solutions(clues), 1);
    right += clues == board.puzzle;

    options.unique_readings = 1;
    const Decoded tired = decoder.decode(query, options);
    EXPECT_FALSE(tired.unique->found);
    EXPECT_FALSE(tired.unique->complete);
    EXPECT_EQ(tired.unique->readings, 1);
    EXPECT_EQ(tired.status, Status::kOptimal);  // ordinary decoding's answer
    options.unique_readings = 2000;
    options.unique_margin = 1;
    const Decoded strict = decoder.decode(query, options);
    EXPECT_FALSE(strict.unique->found);
    EXPECT_TRUE(strict.unique->complete);
  }
  EXPECT_GT(used, 20);
  EXPECT_EQ(right, used);
}

TEST(Unique, WhatHasNoEffectIsRefused) {
  const auto program = RandomConstraints(1).make();
  const Decoder decoder(program);
  Random random(1);
  decode::Query query{random_beliefs(random, program)};
  DecodeOptions options;
  options.unique = true;
  EXPECT_THROW(decoder.decode(query, options), std::exception);
  query.evidence = {0};
  options.objective_first = true;
  EXPECT_THROW(decoder.decode(query, options), std::exception);
}

}  // namespace
}  // namespace as2::decode_test
