// How many answers well-known programs have, circuits of known size, budgets, draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "as2/compile.h"
#include "as2/probability.h"

namespace as2::prob {
namespace {

using ::testing::HasSubstr;

compile::ConstraintProgram shipped(const std::string& name, const std::string& constant = "",
                                   const std::string& value = "") {
  asp::GroundOptions options;
  if (!constant.empty()) options.constants.emplace_back(constant, value);
  return compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/" + name + ".lp"}, options).program;
}

std::string count(const compile::ConstraintProgram& program) {
  Budget budget;
  budget.seconds = 3600;  // a slow machine is no failure
  return count_answers(compile_circuit(program, {}, budget));
}

TEST(Counts, OfWellKnownPrograms) {
  EXPECT_EQ(count(shipped("n_queens", "n", "8")), "92");
  EXPECT_EQ(count(shipped("latin_square", "n", "5")), "161280");
  EXPECT_EQ(count(shipped("sudoku", "b", "2")), "288");
  EXPECT_EQ(count(shipped("sudoku_pairwise", "b", "2")), "288");
  EXPECT_EQ(count(shipped("magic_square")), "8");
  EXPECT_EQ(count(shipped("killer_sudoku")), "1");
}

TEST(Counts, TwelveQueens) {
  EXPECT_EQ(count(shipped("n_queens", "n", "12")), "14200");
}

// Colourings of a grid, row by row: the transfer matrix over the colourings of one row.
TEST(Counts, ColouringsOfAGridByTransferMatrix) {
  constexpr int kSide = 6;
  constexpr int kColours = 3;
  std::vector<std::vector<int>> rows;
  for (int code = 0; code < 729; ++code) {
    std::vector<int> row;
    for (int k = 0, rest = code; k < kSide; ++k, rest /= kColours) row.push_back(rest % kColours);
    bool proper = true;
    for (int k = 1; k < kSide; ++k) proper = proper && row[k] != row[k - 1];
    if (proper) rows.push_back(row);
  }
  std::vector<std::int64_t> ways(rows.size(), 1);
  for (int r = 1; r < kSide; ++r) {
    std::vector<std::int64_t> next(rows.size(), 0);
    for (std::size_t a = 0; a < rows.size(); ++a) {
      for (std::size_t b = 0; b < rows.size(); ++b) {
        bool proper = true;
        for (int k = 0; k < kSide; ++k) proper = proper && rows[a][k] != rows[b][k];
        if (proper) next[b] += ways[a];
      }
    }
    ways = next;
  }
  std::int64_t expected = 0;
  for (const std::int64_t way : ways) expected += way;
  const auto program = compile::compile_text(
      "{ colour(X,Y,C) : C=1..3 } = 1 :- X=1..6, Y=1..6.\n"
      ":- colour(X,Y,C), colour(X+1,Y,C).\n"
      ":- colour(X,Y,C), colour(X,Y+1,C).\n");
  EXPECT_EQ(count(program.program), std::to_string(expected));
}

TEST(Sizes, AdditionByColumnsGrowsLinearly) {
  const Circuit ten = compile_circuit(shipped("multi_digit_addition", "n", "10"));
  const Circuit twenty = compile_circuit(shipped("multi_digit_addition", "n", "20"));
  const Circuit hundred = compile_circuit(shipped("multi_digit_addition", "n", "100"));
  const double per_column = static_cast<double>(twenty.children.size() - ten.children.size()) / 10;
  EXPECT_GT(per_column, 0);
  EXPECT_LT(static_cast<double>(hundred.children.size()), 110 * per_column);
  EXPECT_EQ(count_answers(hundred), "1" + std::string(200, '0'));
}

// Sets of roads on a grid of 4 × 3 towns that leave a path from corner to corner, by counting them all.
TEST(Counts, RoadsThatConnectTwoCorners) {
  const auto program = compile::compile_text(
      "road(X,Y,X+1,Y) :- X=1..3, Y=1..3.\n"
      "road(X,Y,X,Y+1) :- X=1..4, Y=1..2.\n"
      "{ built(A,B,C,D) } :- road(A,B,C,D).\n"
      "reached(1,1).\n"
      "reached(C,D) :- reached(A,B), built(A,B,C,D).\n"
      "reached(A,B) :- reached(C,D), built(A,B,C,D).\n"
      ":- not reached(4,3).\n");
  std::vector<std::pair<int, int>> roads;
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 3; ++y) {
      if (x < 3) roads.emplace_back(3 * x + y, 3 * (x + 1) + y);
      if (y < 2) roads.emplace_back(3 * x + y, 3 * x + y + 1);
    }
  }
  std::int64_t expected = 0;
  for (std::uint32_t built = 0; built < (std::uint32_t{1} << roads.size()); ++built) {
    std::uint32_t reached = 1;
    for (bool more = true; more;) {
      const std::uint32_t before = reached;
      for (std::size_t k = 0; k < roads.size(); ++k) {
        if (!((built >> k) & 1U)) continue;
        const std::uint32_t ends = (1U << roads[k].first) | (1U << roads[k].second);
        if (reached & ends) reached |= ends;
      }
      more = reached != before;
    }
    expected += (reached >> 11) & 1U;
  }
  EXPECT_EQ(count(program.program), std::to_string(expected));
}

TEST(Sizes, PartialSumsAreShared) {
  // k digits have 9·k + 1 sums with ten edges into each, so nothing grows exponentially.
  const Circuit circuit = compile_circuit(shipped("addition", "n", "8"));
  EXPECT_EQ(count_answers(circuit), "100000000");
  EXPECT_LT(circuit.children.size(), 20000U);
}

TEST(Budgets, ARefusalSaysHowFarItGotAndWhatToDo) {
  const auto program = shipped("sudoku");
  Budget budget;
  budget.seconds = 0.5;
  try {
    compile_circuit(program, {}, budget);
    FAIL() << "6.7·10²¹ answers in half a second";
  } catch (const CircuitTooLarge& error) {
    EXPECT_THAT(error.what(), HasSubstr("0.5 s"));
    EXPECT_THAT(error.what(), HasSubstr("nodes"));
    EXPECT_THAT(error.what(), HasSubstr("--approx top-k"));
    EXPECT_THAT(error.what(), HasSubstr("--approx sample"));
    EXPECT_THAT(error.what(), HasSubstr("losses.circuit.seconds"));
    EXPECT_THAT(error.what(), HasSubstr("and losses.constraint do without a circuit"));
  }
  budget.seconds = 0;
  budget.bytes = std::int64_t{4} << 20;
  EXPECT_THROW(compile_circuit(program, {}, budget), CircuitTooLarge);
}

TEST(Budgets, AWishToStopEndsWhateverTakesLong) {
  const auto program = shipped("sudoku"), small = shipped("addition");
  const Circuit circuit = compile_circuit(small);
  const decode::Beliefs beliefs(small.positions.size() * static_cast<std::size_t>(small.max_symbols()), 0.1);
  const Weights weights = weights_of(circuit, small, beliefs);
  std::atomic<bool> stop{false};
  Budget budget;
  budget.seconds = 3600;
  budget.bytes = 0;
  budget.stop = &stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  EXPECT_THROW(compile_circuit(program, {}, budget), EnvironmentError);
  other.join();
  const int most = std::numeric_limits<int>::max();
  EXPECT_THROW(draw(circuit, weights, most, 1, &stop), EnvironmentError);
  EXPECT_THROW(count_answers(circuit, &stop), EnvironmentError);
  EXPECT_THROW(sum_best(small, beliefs, {}, {}, most, 0, &stop), EnvironmentError);
  EXPECT_THROW(sum_drawn(small, beliefs, {}, {}, most, 1, &stop), EnvironmentError);
}

TEST(Observations, AreReadAsClingoPrintsAtoms) {
  const auto program =
      compile::compile_text(R"({ p(a,"x  y"); p(a,"x\\"); p(a,b) } = 1. r(X) :- p(a,X).)").program;
  const auto same = [&](const std::string& a, const std::string& b) {
    const auto first = parse_observation(program, a), second = parse_observation(program, b);
    return first[0].known && second[0].known && first[0].set.position == second[0].set.position &&
           first[0].set.symbols == second[0].set.symbols;
  };
  EXPECT_TRUE(same(R"(p( a , "x  y" ))", R"(p(a,"x  y"))"));
  EXPECT_TRUE(same(R"(p(a, _) = "x\\")", R"(r("x\\"))"));
  EXPECT_TRUE(same("not\tp(a, b)", "not p(a,b)"));
  EXPECT_FALSE(parse_observation(program, R"(p(a,"x y"))")[0].known);
  EXPECT_THROW(parse_observation(program, "p(a, b b)"), InputError);
  EXPECT_EQ(parse_observation(program, R"(r("x\\"), r(b))").size(), 2U);
  EXPECT_EQ(matching_atoms(program, R"(r( "x  y" ))").size(), 1U);
  EXPECT_EQ(matching_atoms(program, "r( _ )").size(), 3U);
}

TEST(Draws, FollowTheMarginalsAndTheSeed) {
  const auto program = shipped("addition");
  const Circuit circuit = compile_circuit(program);
  decode::Beliefs beliefs(program.positions.size() * static_cast<std::size_t>(program.max_symbols()), 0.0);
  const int first = program.find_position("digit(1,_)");
  const int second = program.find_position("digit(2,_)");
  const int total = program.find_position("total(_)");
  beliefs[circuit.input(first, 3)] = 0.75;
  beliefs[circuit.input(first, 5)] = 0.25;
  beliefs[circuit.input(second, 4)] = 1;
  std::vector<char> believed(program.positions.size(), 1);
  believed[total] = 0;
  const Weights weights = weights_of(circuit, program, beliefs, believed);
  EXPECT_NEAR(log_value(circuit, weights), 0, 1e-12);
  int sevens = 0;
  const auto drawn = draw(circuit, weights, 4000, 1);
  for (const auto& assignment : drawn) {
    EXPECT_EQ(assignment[second], 4);
    EXPECT_EQ(program.positions[total].symbols[assignment[total]], assignment[first] == 3 ? "7" : "9");
    sevens += assignment[first] == 3;
  }
  EXPECT_NEAR(sevens / 4000.0, 0.75, 0.03);
  EXPECT_EQ(drawn, draw(circuit, weights, 4000, 1));
  EXPECT_NE(drawn, draw(circuit, weights, 4000, 2));
}

TEST(Drawn, ApproximationsLieWithinTheirBound) {
  const auto program = shipped("addition");
  const std::vector<Observation> queries = {parse_observation(program, "total(9)"),
                                            parse_observation(program, "not digit(1,0)")};
  const decode::Beliefs beliefs(program.positions.size() * static_cast<std::size_t>(program.max_symbols()),
                                0.1);
  std::vector<char> believed(program.positions.size(), 1);
  believed[program.find_position("total(_)")] = 0;
  const Approximation found = sum_drawn(program, beliefs, believed, queries, 20000, 3);
  EXPECT_GT(found.bound, 0);
  EXPECT_LT(found.bound, 0.1);
  EXPECT_NEAR(found.queries[0], 0.1, found.bound);
  EXPECT_NEAR(found.queries[1], 0.9, found.bound);
  EXPECT_NEAR(found.log_p_program, 0, 0.2);
}

TEST(Empty, AProgramWithoutPositionsHasOneAnswerAndAContradictionNone) {
  const Circuit circuit = compile_circuit(compile::ConstraintProgram{});
  EXPECT_EQ(count_answers(circuit), "1");
  EXPECT_EQ(log_value(circuit, {}), 0);
  const Circuit none = compile_circuit(compile::compile_text("{ a }. :- a. :- not a.").program);
  EXPECT_EQ(count_answers(none), "0");
  EXPECT_EQ(log_value(none, Weights(2, 1.0)), -INFINITY);
  EXPECT_TRUE(most_probable(none, Weights(2, 1.0)).empty());
}

}  // namespace
}  // namespace as2::prob
