#include "eval/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "as2/verifier.h"
#include "eval/matching.h"
#include "eval/observed.h"
#include "infer/open.h"
#include "infer/tensor/open.h"
#include "random.h"
#include "support/bars.h"
#include "support/temporary_folder.h"

namespace as2::eval {
namespace {

struct Tiny {
  explicit Tiny(const std::vector<std::string>& overrides = {})
      : settings(task::layered_settings("sudoku", "tiny", overrides)) {}

  task::Settings settings;
  task::TaskConfig config = task::read_task(settings, task::Purpose::kEvaluation);
  task::Task task{config, {}};
  task::Instances instances = task.instances(task::Part::kTest, 12);

  // The right answers.
  Answers answers() const {
    Answers result;
    for (std::int64_t n = 0; n < instances.size(); ++n) {
      result.assignments.emplace_back();
      for (std::int64_t i = 0; i < 16; ++i) {
        result.assignments.back().push_back(instances.labels[n][i]);
      }
    }
    return result;
  }
};

nn::ModelOptions tiny_network() {
  nn::ModelOptions options;
  options.kind = nn::ReasonerKind::kSoftTp;
  options.soft_tp.width = 32;
  options.soft_tp.heads = 2;
  options.soft_tp.d_ff = 64;
  options.soft_tp.mixing = nn::Mixing::kPooling;
  options.soft_tp.passes = 6;
  options.soft_tp.eval_passes = 16;
  return options;
}

infer::PerceiverAndGuide networks_of(const nn::ModelOptions& options, const task::Task& task,
                                     torch::Device device = torch::kCPU) {
  torch::manual_seed(3);
  return infer::perceiver_and_guide(std::make_shared<nn::Model>(options, task.program()),
                                    task.shared_program(), task.pictures(), device);
}

TEST(Measure, RightAnswersScoreOneInEveryColumn) {
  const Tiny tiny;
  const auto row = measure(tiny.task, tiny.answers(), tiny.instances.labels, true);
  EXPECT_EQ(row["cell"], 1.0);
  EXPECT_EQ(row["board"], 1.0);
  EXPECT_EQ(row["csr"], 1.0);
  if (!row["vcsr"].is_null()) {
    EXPECT_EQ(row["vcsr"], 1.0);
  }
}

// One board with a wrong cell, one that is valid but not the right one, and one without an answer.
TEST(Measure, MistakesCountWhereTheyShould) {
  const Tiny tiny;
  Answers answers = tiny.answers();
  answers.assignments[0][5] = (answers.assignments[0][5] + 1) % 4;
  for (int& symbol : answers.assignments[1]) symbol = (symbol + 1) % 4;
  answers.assignments[2].clear();
  const auto row = measure(tiny.task, answers, tiny.instances.labels, true);
  EXPECT_NEAR(row["cell"].get<double>(), (9 + 15.0 / 16) / 12, 1e-12);
  EXPECT_NEAR(row["board"].get<double>(), 9.0 / 12, 1e-12);
  EXPECT_NEAR(row["csr"].get<double>(), 10.0 / 12, 1e-12);
  if (!row["vcsr"].is_null()) {
    EXPECT_NEAR(row["vcsr"].get<double>(), 10.0 / 12, 1e-12);
  }
}

// Of 12 boards one has no label at all and one a single label; a third, labelled in full, has a wrong cell,
// and the last no answer.
TEST(Measure, WhatHasNoLabelIsNeitherRightNorWrong) {
  Tiny tiny;
  Answers answers = tiny.answers();
  task::Table<std::int16_t> labels = tiny.instances.labels;
  for (std::int64_t i = 0; i < 16; ++i) labels[0][i] = -1;
  for (std::int64_t i = 1; i < 16; ++i) labels[1][i] = -1;
  answers.assignments[2][5] = (answers.assignments[2][5] + 1) % 4;
  answers.assignments[11].clear();
  const auto row = measure(tiny.task, answers, labels, false);
  EXPECT_NEAR(row["cell"].get<double>(), (1 + 15 + 8 * 16.0) / (1 + 10 * 16), 1e-12);
  EXPECT_NEAR(row["board"].get<double>(), 9.0 / 11, 1e-12);
  EXPECT_NEAR(row["csr"].get<double>(), 10.0 / 12, 1e-12);
  std::fill(labels.cells.begin(), labels.cells.end(), std::int16_t{-1});
  const auto nothing = measure(tiny.task, answers, labels, false);
  EXPECT_TRUE(nothing["cell"].is_null());
  EXPECT_TRUE(nothing["board"].is_null());
  EXPECT_NEAR(nothing["csr"].get<double>(), 10.0 / 12, 1e-12);
}

// Even an untrained network's boards come out right when they are decoded exactly with the clues given.
TEST(EvaluateBoards, KeepsTheMethodsApart) {
  Tiny tiny;
  infer::PerceiverAndGuide networks = networks_of(tiny_network(), tiny.task);
  const auto result = evaluate_boards(networks, tiny.task, tiny.instances, {});
  EXPECT_EQ(result["boards"], 12);
  EXPECT_TRUE(result["clue_accuracy"].is_null());
  EXPECT_FALSE(result.contains("perceived_clues"));
  for (const char* method : {"raw", "refined", "greedy", "map"}) {
    for (const char* column : {"cell", "board", "csr", "vcsr"}) {
      EXPECT_TRUE(result["given_clues"][method].contains(column)) << method << ' ' << column;
    }
  }
  EXPECT_EQ(result["given_clues"]["map"]["board"], 1.0);
  EXPECT_LT(result["given_clues"]["raw"]["board"].get<double>(), 1.0);
}

TEST(Matching, IsTheBestOfAllPermutations) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<std::int64_t>> table(1 + static_cast<std::size_t>(round % 5));
    for (auto& row : table) {
      for (std::size_t k = 0; k < table.size(); ++k)
        row.push_back(static_cast<std::int64_t>(random.below(round % 2 == 0 ? 4 : 1000)));
    }
    std::vector<std::size_t> order(table.size());
    std::iota(order.begin(), order.end(), 0);
    std::int64_t best = 0;
    do {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < order.size(); ++k) sum += table[k][order[k]];
      best = std::max(best, sum);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(best_matching(table), best) << round;
  }
  EXPECT_EQ(best_matching({}), 0);
}

// Tells every digit from the others and calls each by the next one's name.
class OneTooMany : public infer::Perceiver {
 public:
  std::vector<std::vector<double>> perceive(const std::vector<const infer::Picture*>& pictures) override {
    std::vector<std::vector<double>> beliefs;
    for (const infer::Picture* picture : pictures) {
      const auto row = picture->pixels.begin() + 10 * 28;
      beliefs.emplace_back(4, 0.0);
      beliefs.back()[static_cast<std::size_t>(std::count(row, row + 28, 255) % 4)] = 1;
    }
    return beliefs;
  }
};

TEST(EvaluateBoards, ClassesAreMatchedWhereNothingSaysWhatTheyAreCalled) {
  test::TemporaryFolder folder;
  as2::testing::write_bars(folder / "bars");
  const auto figures = [&](const std::string& labelled) {
    const Tiny tiny({"images.positions=[\"cell(*\"]", "images.source=" + (folder / "bars"),
                     "labels.positions=" + labelled});
    infer::PerceiverAndGuide networks;
    networks.perceiver = std::make_unique<OneTooMany>();
    return evaluate_boards(networks, tiny.task, tiny.instances, {});
  };
  const auto unlabelled = figures("[]");
  EXPECT_EQ(unlabelled["clue_accuracy"], 0.0);
  EXPECT_EQ(unlabelled["clue_accuracy_matched"], 1.0);
  EXPECT_FALSE(figures("[\"*\"]").contains("clue_accuracy_matched"));
}

// Pairs of pictures; their sum is a position, or whether the first is greater is derived.
TEST(EvaluateTuples, NameASumOnlyWhereThereIsOne) {
  test::TemporaryFolder folder;
  as2::testing::write_bars(folder / "bars");
  const std::string pair = "{ d(I,V) : V=1..4 } = 1 :- I=1..2.\n";
  const auto figures = [&](const std::string& text, const std::string& observed) {
    task::TaskConfig config;
    config.program.file = folder.put("mine.lp", pair + text);
    config.images.positions = {"d(*"};
    config.images.source = folder / "bars";
    config.observed = {observed};
    config.data.source = "tuples";
    const task::Task task(config, {});
    const task::Instances instances = task.instances(task::Part::kTest, 40);
    // The labels agree with what is observed; other answers do not.
    Answers answers;
    for (std::int64_t n = 0; n < 40; ++n) {
      answers.assignments.emplace_back();
      for (std::int64_t i = 0; i < instances.positions(); ++i)
        answers.assignments.back().push_back(instances.labels[n][i]);
    }
    EXPECT_EQ(observed_accuracy(task, instances, answers), 1.0);
    for (std::size_t n = 0; n < 10; ++n) answers.assignments[n].clear();
    EXPECT_EQ(observed_accuracy(task, instances, answers), 0.75);
    nn::ModelOptions options;
    options.perception = infer::PerceptionOptions::paper(4);
    options.perception->width = 0.125;
    infer::PerceiverAndGuide networks = networks_of(options, task);
    return evaluate_tuples(networks, task, instances, {});
  };
  const auto sum =
      figures("{ total(S) : S=2..8 } = 1.\n:- total(S), #sum{ V,I : d(I,V) } != S.\n", "total(_)");
  EXPECT_TRUE(sum.contains("sum_accuracy"));
  EXPECT_EQ(sum["supervision"], "sum");
  const auto greater = figures("greater :- d(1,X), d(2,Y), X > Y.\n", "greater");
  EXPECT_FALSE(greater.contains("sum_accuracy"));
  EXPECT_TRUE(greater["observed_accuracy"].is_number());
  EXPECT_EQ(greater["supervision"], "observed");
}

// Two blanks, and a network that knows nothing: each trajectory fills them differently, and the rules tell
// which is right.
TEST(EvaluateBoards, RestartsStandInARowOfTheirOwn) {
  Tiny tiny({"data.min_clues=14", "data.max_clues=14"});
  nn::ModelOptions network = tiny_network();
  network.soft_tp.state_noise = 30;  // drowns the evidence, of which one pass then reads little
  network.soft_tp.eval_passes = 1;
  infer::PerceiverAndGuide networks = networks_of(network, tiny.task);
  EvaluateOptions options;
  options.batch = 5;
  options.certify = false;
  const auto rows = [&](int restarts) {
    options.restarts = restarts;
    return evaluate_boards(networks, tiny.task, tiny.instances, options)["given_clues"];
  };
  const auto once = rows(1), often = rows(200);
  EXPECT_FALSE(once.contains("restarts"));
  EXPECT_EQ(once["raw"], often["raw"]);
  EXPECT_LT(once["raw"]["board"].get<double>(), 0.5);
  const auto& restarts = often["restarts"];
  EXPECT_GT(restarts["board"].get<double>(), 0.9);
  EXPECT_EQ(restarts["board"], restarts["valid"]);  // one solution each: what is valid is right
  EXPECT_EQ(restarts["csr"], restarts["valid"]);
  EXPECT_EQ(restarts["most"], 200);
  EXPECT_GT(restarts["trajectories"].get<double>(), 1);
  EXPECT_LT(restarts["trajectories"].get<double>(), 200);

  const infer::PerceiverAndGuide plain = networks_of(tiny_network(), tiny.task);
  EXPECT_NO_THROW(infer::check_restarts({}, networks.guide.get(), 2));
  EXPECT_THROW(infer::check_restarts({}, plain.guide.get(), 2), InputError);
}

TEST(EvaluateBoards, OnCudaAsOnTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  Tiny tiny;
  const auto run = [&](torch::Device device) {
    infer::PerceiverAndGuide networks = networks_of(tiny_network(), tiny.task, device);
    return evaluate_boards(networks, tiny.task, tiny.instances, {})["given_clues"];
  };
  const auto cpu = run(torch::kCPU), cuda = run({torch::kCUDA, 0});
  for (const char* method : {"raw", "refined"}) {  // up to a tie or two
    EXPECT_NEAR(cpu[method]["cell"].get<double>(), cuda[method]["cell"].get<double>(), 0.02) << method;
  }
  EXPECT_EQ(cuda["map"]["board"], 1.0);
}

TEST(Complete, ClingoFillsInWhatTheCluesLeaveOpen) {
  const Tiny tiny;
  std::vector<std::vector<std::string>> clues;
  std::vector<std::string> atoms;
  const Answers right = tiny.answers();
  for (const auto& position : tiny.task.program().positions)
    atoms.insert(atoms.end(), position.atoms.begin(), position.atoms.end());
  for (std::int64_t n = 0; n < 2; ++n) {
    clues.emplace_back();
    for (std::int64_t i = 0; i < 16; ++i) {
      if (!tiny.instances.evidence[n][i]) continue;
      const auto symbol = static_cast<std::size_t>(
          right.assignments[static_cast<std::size_t>(n)][static_cast<std::size_t>(i)]);
      clues.back().push_back(tiny.task.program().positions[static_cast<std::size_t>(i)].atoms[symbol]);
    }
  }
  clues.push_back({"cell(1,1,1)", "cell(1,2,1)"});
  verify::VerifyOptions options;
  options.constants = tiny.config.program.constants;
  const auto completed = verify::complete({tiny.config.program.file}, clues, atoms, options);
  ASSERT_EQ(completed.size(), 3U);
  if (!completed[0]) GTEST_SKIP() << "no clingo here";
  const auto chosen = verify::chosen_atoms(tiny.task.program(), right.assignments[0]).chosen;
  for (const std::string& atom : chosen) {
    EXPECT_NE(std::find(completed[0]->begin(), completed[0]->end(), atom), completed[0]->end()) << atom;
  }
  EXPECT_FALSE(completed[2]);
}

}  // namespace
}  // namespace as2::eval
