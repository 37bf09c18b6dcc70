// Decoding against clingo: random program texts through the whole pipeline, clingo's answer sets as the
// truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "as2/compile.h"
#include "as2/verifier.h"
#include "decode/random_constraints.h"
#include "support/projection.h"
#include "support/random_program.h"

namespace as2::decode_test {
namespace {

using decode::Decoded;
using decode::DecodeOptions;
using decode::Decoder;
using decode::Status;

// clingo leaves out a level whose tuples all vanish in grounding.
std::vector<std::int64_t> nonzero(std::vector<std::int64_t> cost) {
  cost.erase(std::remove(cost.begin(), cost.end(), 0), cost.end());
  return cost;
}

TEST(RandomTexts, SameAnswersAsClingo) {
  if (!testing::have_clingo()) GTEST_SKIP() << "no clingo";
  constexpr int kPrograms = 2000;
  Random random(11);
  int compared = 0;
  int refuted = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; compared < kPrograms && !HasFailure(); ++seed) {
    // Every fourth is of the second kind: guesses, loops with choices in them, edges.
    const std::string text =
        (seed % 4 == 3 ? testing::random_cyclic_program(seed, false) : testing::random_program(seed)).text();
    SCOPED_TRACE(text);
    compile::Compiled compiled;
    try {
      compiled = compile::compile_text(text);
    } catch (const InputError&) {
      ASSERT_LT(++refused, kPrograms / 2);
      continue;
    }
    const compile::ConstraintProgram& program = compiled.program;
    const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
    const auto beliefs = random_beliefs(random, program);
    decode::Query query{beliefs};
    DecodeOptions options;
    options.models = 1 + below(random, 3);
    options.objective_first = below(random, 2) == 0;
    if (below(random, 3) == 0 && !program.positions.empty()) {
      const int position = below(random, static_cast<int>(program.positions.size()));
      const int count = static_cast<int>(program.positions[position].symbols.size());
      query.pins.push_back({position, below(random, count)});
    }

    std::vector<Enumerated> answers;
    for (const testing::AnswerSet& answer : testing::answer_sets(text)) {
      const compile::Assignment assignment = testing::project(program, answer);
      ASSERT_EQ(std::count(assignment.begin(), assignment.end(), -1), 0);
      const bool pinned = std::all_of(query.pins.begin(), query.pins.end(), [&](const decode::Pin& pin) {
        return assignment[pin.position] == pin.symbol;
      });
      if (pinned) answers.push_back({assignment, log_of(beliefs, stride, assignment), answer.cost, 0});
    }
    const auto score = [&](const Enumerated& answer) {
      double total = answer.log_probability;
      if (!options.objective_first) {
        for (const std::int64_t cost : answer.cost) total -= static_cast<double>(cost);
      }
      return total;
    };
    std::sort(answers.begin(), answers.end(), [&](const Enumerated& a, const Enumerated& b) {
      if (options.objective_first && a.cost != b.cost) return a.cost < b.cost;
      return score(a) > score(b);
    });

    const Decoded decoded = Decoder(program).decode(query, options);
    ++compared;
    if (answers.empty()) {
      ++refuted;
      ASSERT_EQ(decoded.status, Status::kUnsatisfiable);
      continue;
    }
    ASSERT_EQ(decoded.status, Status::kOptimal);
    ASSERT_EQ(decoded.models.size(),
              std::min<std::size_t>(answers.size(), static_cast<std::size_t>(options.models)));
    for (std::size_t k = 0; k < decoded.models.size(); ++k) {
      const auto found = std::find_if(answers.begin(), answers.end(), [&](const Enumerated& answer) {
        return answer.assignment == decoded.models[k].assignment;
      });
      ASSERT_NE(found, answers.end()) << "not an answer set";
      EXPECT_EQ(nonzero(decoded.models[k].cost), nonzero(found->cost));
      EXPECT_NEAR(score(*found), score(answers[k]), 1e-7) << "rank " << k;
      if (options.objective_first) {
        EXPECT_EQ(found->cost, answers[k].cost);
      }
    }
  }
  EXPECT_GT(refuted, 100);
  EXPECT_GT(compared - refuted, 500);
}

// Every program that ships, with random beliefs; clingo judges the answers.
TEST(ShippedPrograms, DecodedAnswersAreAnswerSets) {
  const std::vector<std::string> names = {
      "addition",     "birds_fly",    "futoshiki",      "graph_colouring", "killer_sudoku",
      "latin_square", "magic_square", "n_queens",       "reachability",    "multi_digit_addition",
      "scheduling",   "sudoku",       "sudoku_pairwise"};
  Random random(12);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string file = std::string(AS2_SOURCE_DIR) + "/programs/" + name + ".lp";
    const compile::Compiled compiled = compile::compile_files({file});
    const Decoder decoder(compiled.program);
    std::vector<decode::Query> queries;
    for (int k = 0; k < 10; ++k) queries.push_back({random_beliefs(random, compiled.program)});
    DecodeOptions options;
    options.node_budget = 4000;  // the best of 9^81 readings of pure noise may take longer to prove
    std::vector<verify::ChosenAtoms> chosen;
    for (const Decoded& decoded : decoder.decode_batch(queries, options, 2)) {
      ASSERT_FALSE(decoded.models.empty()) << decode::name_of(decoded.status);
      const auto& assignment = decoded.models.front().assignment;
      EXPECT_TRUE(compile::violated_groups(compiled.program, assignment).empty());
      chosen.push_back(verify::chosen_atoms(compiled.program, assignment));
    }
    for (const verify::Verdict& verdict : verify::verify({file}, chosen)) {
      EXPECT_TRUE(verdict.valid.value_or(true));  // none: no clingo on this machine
    }
  }
}

}  // namespace
}  // namespace as2::decode_test
