// The solver over a perceiver and a guide made up here: no network, no LibTorch, no Sudoku.
#include "as2/solver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "as2/compile.h"

namespace as2::infer {
namespace {

// Reads its distribution off the picture's first pixels, as tenths.
class PixelPerceiver : public Perceiver {
 public:
  explicit PixelPerceiver(int symbols) : symbols_(symbols) {}
  std::vector<std::vector<double>> perceive(const std::vector<const Picture*>& pictures) override {
    std::vector<std::vector<double>> rows;
    for (const Picture* picture : pictures) {
      rows.emplace_back();
      for (int s = 0; s < symbols_; ++s) rows.back().push_back(picture->pixels[s] / 10.0);
    }
    return rows;
  }

 private:
  int symbols_;
};

// Believes in the last symbol everywhere; adds to `asked`, where given, what it was asked about.
class LastGuide : public Guide {
 public:
  explicit LastGuide(std::size_t* asked = nullptr) : asked_(asked) {}
  std::vector<Guidance> guide(const std::vector<Evidence>& instances, const GuideLimits&) override {
    if (asked_) *asked_ += instances.size();
    std::vector<Guidance> guided;
    for (const Evidence& instance : instances) {
      decode::Beliefs& beliefs = guided.emplace_back().beliefs;
      beliefs.assign(instance.beliefs.size(), 0.1);
      for (std::size_t i = 2; i < beliefs.size(); i += 3) beliefs[i] = 0.8;
    }
    return guided;
  }

 private:
  std::size_t* asked_;
};

Picture picture(int position, std::vector<std::uint8_t> tenths) {
  tenths.resize(28 * 28);
  return {position, tenths};
}

Solver solver(const std::string& text, bool guided = false) {
  auto program = std::make_shared<compile::ConstraintProgram>(compile::compile_text(text).program);
  return {program, std::make_unique<PixelPerceiver>(3), guided ? std::make_unique<LastGuide>() : nullptr};
}

const char* const kThree = "{ at(P,S) : S=1..3 } = 1 :- P=1..3.\n:- at(P,S), at(Q,S), P<Q. % different\n";

TEST(Solver, RulesPutAMisreadingRight) {
  Solver three = solver(kThree);
  // Read 1 and 1; the second is almost a 2.
  const auto answers =
      three.solve({{picture(0, {9, 1, 0}), picture(1, {5, 4, 1})}, {picture(0, {0, 10, 0})}});
  ASSERT_EQ(answers.size(), 2U);
  const Answer& answer = answers[0];
  EXPECT_EQ(answer.evidence, (std::vector<int>{0, 1}));
  EXPECT_EQ(answer.assignment(), (compile::Assignment{0, 1, 2}));
  EXPECT_EQ(three.read_at(answer, 1), 0);
  ASSERT_EQ(answer.explanation.changed.size(), 1U);
  EXPECT_NEAR(answer.correction, std::log(0.5 / 0.4), 1e-9);
  EXPECT_TRUE(answer.completable);
  EXPECT_EQ(answer.unique, true);
  EXPECT_NEAR(*answer.margin, std::log(0.4 / 0.1), 1e-9);  // 1 3 2 is the next best
  EXPECT_EQ(three.conflict(answer).size(), 1U);
  EXPECT_NEAR(three.confidence(answer, 1, 1), 0.4, 1e-12);
  EXPECT_NEAR(three.confidence(answer, 2, 2), 1.0 / 3, 1e-12);

  // One given position leaves two completions.
  EXPECT_EQ(answers[1].assignment()[0], 1);
  EXPECT_EQ(answers[1].unique, false);
  EXPECT_NEAR(*answers[1].margin, 0, 1e-12);
  EXPECT_TRUE(three.conflict(answers[1]).empty());
}

TEST(Solver, TheGuideBreaksTiesAndIsNotMultipliedIn) {
  Solver plain = solver(kThree), guided = solver(kThree, true);
  const std::vector<Scene> scenes = {{picture(0, {10, 0, 0})}};
  const Answer answer = guided.solve(scenes)[0];
  EXPECT_EQ(answer.assignment()[0], 0);  // whatever the guide believes of evidence
  EXPECT_NEAR(answer.decoded.models[0].log_probability,
              plain.solve(scenes)[0].decoded.models[0].log_probability, 1e-12);
  EXPECT_NEAR(guided.confidence(answer, 1, 2), 0.8, 1e-12);
}

// One solver that always asks its guide, and one that does so only where the answer may hang on it.
struct Spared {
  explicit Spared(const std::string& text, SolverOptions options = {})
      : program(std::make_shared<compile::ConstraintProgram>(compile::compile_text(text).program)),
        always(program, std::make_unique<PixelPerceiver>(3), std::make_unique<LastGuide>(), options),
        spared(program, std::make_unique<PixelPerceiver>(3), std::make_unique<LastGuide>(&asked), [&] {
          options.reasoned = false;
          return options;
        }()) {}

  // How often the guide was asked; what does not depend on who orders the search is the same.
  std::size_t solve(const std::vector<Scene>& scenes) {
    asked = 0;
    SolveTimes all, some;
    const auto expected = always.solve(scenes, &all);
    answers = spared.solve(scenes, &some);
    EXPECT_EQ(all.asked, scenes.size());
    EXPECT_EQ(some.asked, asked);
    for (std::size_t n = 0; n < scenes.size(); ++n) expect_equal(answers[n], expected[n]);
    return asked;
  }

  static void expect_equal(const Answer& own, const Answer& other) {
    EXPECT_EQ(own.decoded.status, other.decoded.status);
    EXPECT_EQ(own.decoded.gap, other.decoded.gap);
    ASSERT_EQ(own.decoded.models.size(), other.decoded.models.size());
    for (std::size_t k = 0; k < own.decoded.models.size(); ++k)
      EXPECT_EQ(own.decoded.models[k].log_probability, other.decoded.models[k].log_probability);
    if (!own.decoded.models.empty()) {
      EXPECT_EQ(own.assignment(), other.assignment());
    }
    EXPECT_EQ(own.correction, other.correction);
    EXPECT_EQ(own.completable, other.completable);
    EXPECT_EQ(own.unique, other.unique);
    EXPECT_EQ(own.margin, other.margin);
  }

  std::size_t asked = 0;
  std::shared_ptr<compile::ConstraintProgram> program;
  Solver always, spared;
  std::vector<Answer> answers;
};

TEST(Solver, TheGuideIsNotAskedAboutWhatASearchWithoutItSettles) {
  Spared three(kThree);
  EXPECT_EQ(three.solve({{picture(0, {9, 1, 0}), picture(1, {5, 4, 1})},
                         {picture(0, {7, 2, 1}), picture(2, {1, 7, 2})},
                         {picture(0, {200, 2, 1}), picture(1, {199, 3, 1})}}),
            0U);
  EXPECT_FALSE(three.answers[2].completable);
  EXPECT_TRUE(three.answers[0].reasoned.empty());
  EXPECT_NEAR(three.spared.confidence(three.answers[0], 1, 1), 0.4, 1e-12);
  EXPECT_THROW(three.spared.confidence(three.answers[0], 2, 2), ContractError) << "the guide would know";
  EXPECT_EQ(Spared("{ at(1,S) : S=1..3 } = 1.\n:- at(1,S).\n").solve({{picture(0, {10, 0, 0})}}), 0U)
      << "that there is no answer is settled as well";
}

TEST(Solver, TheGuideIsAskedWhereAnswersAreEqual) {
  Spared three(kThree);
  // The first has two completions, the second one.
  EXPECT_EQ(three.solve({{picture(0, {10, 0, 0})}, {picture(0, {9, 1, 0}), picture(1, {1, 9, 0})}}), 1U);
  EXPECT_EQ(three.answers[0].unique, false);
  EXPECT_NEAR(three.spared.confidence(three.answers[0], 1, 2), 0.8, 1e-12);
  EXPECT_TRUE(three.answers[1].reasoned.empty());
}

// Colourings of a 7 × 7 grid whose every cell is read badly.
TEST(Solver, TheGuideIsAskedWhereTheSearchIsLong) {
  Spared grid(
      "{ at(P,S) : S=1..3 } = 1 :- P=0..48.\n"
      ":- at(P,S), at(P+1,S), P \\ 7 < 6.\n"
      ":- at(P,S), at(P+7,S).\n");
  std::vector<Scene> scenes(2);
  for (int p = 0; p < 49; ++p) {
    const auto noise = static_cast<std::uint8_t>((p * p * 5 + p * 3) % 11);
    scenes[0].push_back(picture(p, {static_cast<std::uint8_t>(30 + noise), 30, 33}));
    // Read well: a colouring by turns.
    scenes[1].push_back(p % 2 == 0 ? picture(p, {9, 1, 0}) : picture(p, {1, 9, 0}));
  }
  EXPECT_EQ(grid.solve(scenes), 1U);
  EXPECT_FALSE(grid.answers[0].reasoned.empty());
  EXPECT_GT(grid.answers[0].decoded.nodes, 1000);
}

// Where nodes are counted, those of the search that the guide orders are; and equal scores need not be
// equally probable where objectives are part of them.
TEST(Solver, TheGuideIsAlwaysAskedWithABudgetOfNodesAndWithObjectives) {
  SolverOptions options;
  options.node_budget = 1000;
  const std::vector<Scene> easy = {{picture(0, {9, 1, 0}), picture(1, {1, 9, 0})}};
  EXPECT_EQ(Spared(kThree, options).solve(easy), 1U);
  EXPECT_EQ(Spared(std::string(kThree) + "#minimize { 1 : at(3,3) }.\n").solve(easy), 1U);
}

// What is left unproved then is the choice among equals, and the next best.
TEST(Solver, AnAnswerAsProbableAsCanBeIsOptimalThoughABudgetRanOut) {
  SolverOptions options;
  options.node_budget = 100;
  options.time_budget_seconds = 0;
  auto program = std::make_shared<compile::ConstraintProgram>(
      compile::compile_text("{ at(P,S) : S=1..3 } = 1 :- P=1..60.\n:- at(P,S), at(P+1,S), P<60.\n").program);
  Solver limited{program, std::make_unique<PixelPerceiver>(3), std::make_unique<LastGuide>(), options};
  const Answer answer = limited.solve({{picture(0, {9, 1, 0})}})[0];
  EXPECT_EQ(answer.decoded.status, decode::Status::kOptimal);
  EXPECT_NEAR(answer.decoded.models[0].log_probability, std::log(0.9) + 59 * std::log(1.0 / 3), 1e-9);
}

TEST(Solver, WhatCannotBeReadSoIsNotCompletable) {
  Solver three = solver(kThree);
  SolveTimes times;
  const Answer clear = three.solve({{picture(0, {10, 0, 0}), picture(1, {10, 0, 0})}}, &times)[0];
  EXPECT_FALSE(clear.completable);  // both are surely 1: no misreading explains it
  EXPECT_GT(clear.correction, kMisreading);
  EXPECT_GT(times.decoding, 0);
  Solver none = solver("{ at(1,S) : S=1..3 } = 1.\n:- at(1,S).\n");
  const Answer answer = none.solve({{picture(0, {10, 0, 0})}})[0];
  EXPECT_EQ(answer.decoded.status, decode::Status::kUnsatisfiable);
  EXPECT_FALSE(answer.completable);
  EXPECT_FALSE(answer.unique);
}

TEST(Solver, MoreScenesThanGoThroughAtOnceKeepTheirOrder) {
  Solver three = solver(kThree);
  std::vector<Scene> scenes;
  for (int n = 0; n < 40; ++n)
    scenes.push_back({picture(
        n % 3, n % 2 == 0 ? std::vector<std::uint8_t>{10, 0, 0} : std::vector<std::uint8_t>{0, 0, 10})});
  const auto answers = three.solve(scenes);
  for (int n = 0; n < 40; ++n) EXPECT_EQ(answers[n].assignment()[n % 3], n % 2 == 0 ? 0 : 2) << n;
}

TEST(Solver, RefusesScenesOutOfOrder) {
  Solver three = solver(kThree);
  EXPECT_THROW(three.solve({{picture(1, {10, 0, 0}), picture(0, {10, 0, 0})}}), ContractError);
  EXPECT_THROW(three.solve({{picture(7, {10, 0, 0})}}), ContractError);
}

}  // namespace
}  // namespace as2::infer
