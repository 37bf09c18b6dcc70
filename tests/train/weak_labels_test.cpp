// Training on what may be known: what is refused, what the score is, and that hidden labels change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files.h"
#include "support/bars.h"
#include "support/spots.h"
#include "support/temporary_folder.h"
#include "train/tiny_run.h"

namespace as2::train {
namespace {

using as2::testing::write_spots;
using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const kTask = R"(
name = "mine"
preset = "none.toml"

[program]
file = "mine.lp"

[images]
positions = ["d(*"]
source = "bars"

[labels]
positions = []

[data]
source = "tuples"
train = 256
validation = 64

[model.perception]
preset = "paper"
width = 0.125
d_model = 16

[model.reasoner]
kind = "none"

[train]
epochs = 12
batch = 32
rate = 1e-2
ema_decay = 0.9
validate_every = 12
)";
const std::string kPair = "{ d(I,V) : V=1..4 } = 1 :- I=1..2.\n";
const std::string kGreater = kPair + "greater :- d(1,X), d(2,Y), X > Y.\n";
const std::string kTotal = kPair + "{ total(S) : S=2..8 } = 1.\n:- total(S), #sum{ V,I : d(I,V) } != S.\n";

struct PreparedRun {
  Config config;
  std::unique_ptr<Task> task;
  Workers alone;
  std::unique_ptr<Trainer> trainer;

  PreparedRun(Settings settings, const std::filesystem::path& folder) : config(read_config(settings)) {
    task = std::make_unique<Task>(config, TaskOptions{});
    const nn::ModelOptions model = read_model(settings, static_cast<std::int64_t>(task->classes().size()));
    settings.refuse_unused();
    config.resolved = settings.resolved();
    trainer = std::make_unique<Trainer>(config, model, *task, folder, torch::kCPU, alone, TrainHooks{});
  }
};

class WeakLabels : public ::testing::Test {
 protected:
  WeakLabels() {
    testing::write_bars(folder_ / "bars");
    folder_.put("mine.toml", kTask);
    folder_.put("none.toml", "");
  }

  std::unique_ptr<PreparedRun> prepare(const std::string& program, const std::vector<std::string>& settings) {
    folder_.put("mine.lp", program);
    return std::make_unique<PreparedRun>(
        layered_settings(folder_ / "mine.toml", folder_ / "none.toml", settings), folder_ / "run");
  }

  std::string refusal(const std::string& program, const std::vector<std::string>& settings) {
    try {
      prepare(program, settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  test::TemporaryFolder folder_;
};

TEST_F(WeakLabels, WhatHasNoEffectIsRefusedByName) {
  const std::string query = "losses.query.weight=1";
  EXPECT_EQ(refusal(kGreater, {query, "labels.observed=[\"greater\"]"}), "accepted");
  EXPECT_THAT(refusal(kGreater, {query}), HasSubstr("256 of 256 examples observe nothing"));
  EXPECT_THAT(refusal(kGreater, {"losses.satisfaction.weight=1", "labels.observed=[\"d(1,_)\"]"}),
              AllOf(HasSubstr("losses.satisfaction covers no family"), HasSubstr("note: losses.query")));
  EXPECT_THAT(refusal(kGreater, {"losses.constraint.weight=1", "labels.observed=[\"d(1,_)\"]"}),
              HasSubstr("losses.constraint covers no family"));
  EXPECT_THAT(refusal(kTotal, {"losses.satisfaction.weight=1", "labels.observed=[\"*\"]"}),
              HasSubstr("losses.satisfaction would be given the label of every position"));
  EXPECT_THAT(refusal(kGreater, {"losses.perception.weight=1", "labels.observed=[\"greater\"]"}),
              HasSubstr("losses.perception has a weight, but labels.positions"));
  EXPECT_THAT(refusal(kGreater, {"losses.perception.weight=1", "labels.positions=[\"*\"]",
                                 "labels.observed=[\"greater\"]"}),
              HasSubstr("names the derived atom greater, which only losses.query can be given"));
  EXPECT_THAT(refusal(kGreater, {query, "labels.positions=[\"greater\"]"}),
              AllOf(HasSubstr("labels.positions: 'greater' names the atom greater, not a position"),
                    HasSubstr("note: atoms are named in labels.observed")));
  EXPECT_THAT(refusal(kGreater, {query, "labels.observed=[\"greater\"]", "train.freeze_epochs=-1"}),
              HasSubstr("train.freeze_epochs = -1 freezes perception for good"));
  EXPECT_THAT(refusal(kGreater, {query, "labels.observed=[\"lesser(_)\"]"}), HasSubstr("'lesser(_)'"));
  EXPECT_THAT(refusal(kGreater + "always.\n", {query, "labels.observed=[\"always\"]"}),
              HasSubstr("what 'always' names holds always or never"));
  EXPECT_THAT(refusal(kTotal, {"losses.satisfaction.weight=1"}),
              HasSubstr("nothing may be known of the validation"));
  EXPECT_THAT(refusal(kGreater, {query, "labels.observed=[\"greater\"]", "losses.query.k=3"}),
              HasSubstr("'losses.query.k' has no effect here: losses.query.approx is \"exact\""));
  EXPECT_THAT(refusal(kTotal, {"losses.satisfaction.weight=1", "labels.observed=[\"total(_)\"]",
                               "losses.query.approx=same"}),
              HasSubstr("'losses.query.approx' has no effect here: losses.query.weight is 0"));
  EXPECT_THAT(refusal(kTotal, {"losses.satisfaction.weight=1", "labels.observed=[\"total(_)\"]",
                               "losses.circuit.seconds=5"}),
              HasSubstr("'losses.circuit.seconds' has no effect here: losses.query, semantic"));
  const std::string search = "losses.query.approx=search", total = "labels.observed=[\"total(_)\"]";
  EXPECT_EQ(refusal(kTotal, {query, search, total, "losses.query.k=3", "losses.query.nodes=50"}), "accepted");
  EXPECT_THAT(refusal(kGreater, {query, search, "labels.observed=[\"greater\"]"}),
              AllOf(HasSubstr("losses.query.approx is \"search\", which fixes observed positions"),
                    HasSubstr("derived atom greater"), HasSubstr("note: observe positions alone")));
  EXPECT_THAT(refusal(kTotal, {query, search, total, "losses.query.share=0.1"}),
              HasSubstr("'losses.query.share' has no effect here: losses.query.approx is \"search\""));
  EXPECT_THAT(refusal(kTotal, {query, search, total, "losses.circuit.seconds=5"}),
              HasSubstr("'losses.circuit.seconds' has no effect here: losses.query.approx is \"search\""));
  EXPECT_EQ(refusal(kTotal, {query, search, total, "losses.semantic.weight=1", "losses.circuit.seconds=5"}),
            "accepted");
  EXPECT_THAT(refusal(kTotal, {query, total, "losses.query.nodes=50"}),
              HasSubstr("'losses.query.nodes' has no effect here: losses.query.approx is \"exact\""));
  EXPECT_THAT(refusal(kGreater, {query, "labels.observed=[\"greater\"]", "images.positions=[]",
                                 "data.source=answers", "data.min_clues=1", "data.max_clues=2"}),
              HasSubstr("losses.query has a weight, but there is no perception"));
}

// A line's observations and given values that contradict the program, in words, before any step.
TEST_F(WeakLabels, ALineThatCannotHoldIsRefusedByItsNumber) {
  const std::string both = "{\"labels\": {\"d(1,_)\": \"1\", \"d(2,_)\": \"2\"";
  const auto refused = [&](const std::string& program, const std::string& observed,
                           const std::string& third) {
    std::string lines;
    for (int n = 0; n < 80; ++n) {
      lines += n == 2 ? third : both + "}, \"observed\": [\"total(3)\"]}";
      lines += "\n";
    }
    folder_.put("lines.jsonl", lines);
    return refusal(program, {"losses.query.weight=1", observed, "data.source=instances",
                             "data.path=\"" + (folder_ / "lines.jsonl") + "\"", "data.validation=8"});
  };
  const std::string pair = kPair + "total(S) :- d(1,X), d(2,Y), S = X+Y.\n:- d(1,X), d(2,X).\n";
  const std::string total = "labels.observed=[\"total(_)\"]";
  EXPECT_EQ(refused(pair, total, both + "}, \"observed\": [\"total(3)\", \"not total(4)\"]}"), "accepted");
  EXPECT_THAT(
      refused(pair, total, both + "}, \"observed\": [\"total(5)\", \"not total(6)\", \"total(4)\"]}"),
      AllOf(HasSubstr("lines.jsonl:3: error: "), HasSubstr("says d(2,_)=2 (label), total(4), which hold")));
  EXPECT_THAT(refused(pair, total, both + "}, \"observed\": [\"total(2)\"]}"),
              AllOf(HasSubstr("lines.jsonl:3: error: "), HasSubstr("total(2), which holds in no answer set")))
      << "both digits would be 1, which the program forbids";
  // A value that is given counts as well.
  const std::string given =
      "{ bonus(0..1) } = 1.\n" + kPair + "total(S) :- d(1,X), d(2,Y), bonus(B), S = X+Y+B.\n";
  EXPECT_THAT(refused(given, total,
                      both + ", \"bonus(_)\": \"0\"}, \"evidence\": [\"d(1,_)\", \"d(2,_)\", \"bonus(_)\"], "
                             "\"observed\": [\"total(9)\"]}"),
              HasSubstr("lines.jsonl:3: error: the line says bonus(_)=0, total(9), which hold together"));
}

TEST_F(WeakLabels, ADerivedAtomTeachesThePictures) {
  for (const char* approx : {"exact", "top-k", "same"}) {
    SCOPED_TRACE(approx);
    const auto run = prepare(kGreater, {"losses.query.weight=1", "labels.observed=[\"greater\"]",
                                        std::string("losses.query.approx=") + approx});
    const TrainResult result = run->trainer->run();
    EXPECT_GT(result.score, 0.9);
    EXPECT_EQ(result.validation["scored"], "likelihood");
    EXPECT_EQ(result.validation["score"], result.validation["perceived"]["likelihood"]);
    EXPECT_GT(result.validation["perceived"]["exact"].get<double>(), 0.9);
    EXPECT_FALSE(result.validation["perceived"].contains("cell"));
    remove_tree(folder_ / "run");
  }
}

// An untrained network agrees with hardly anything; with everything hidden but one sum this once scored 1.
TEST_F(WeakLabels, AScoreIsMadeOfWhatMayBeKnown) {
  const auto scores = [&](const std::string& program, const std::vector<std::string>& settings) {
    return prepare(program, settings)->trainer->validate();
  };
  const auto sum = scores(kTotal, {"losses.satisfaction.weight=1", "labels.observed=[\"total(_)\"]"});
  EXPECT_EQ(sum["scored"], "agreement");
  EXPECT_LT(sum["score"].get<double>(), 0.6);
  // `spare` is neither read nor known: the program must have an answer all the same.
  const auto open = scores(kTotal + "{ spare(1..2) } = 1.\n",
                           {"losses.satisfaction.weight=1", "labels.observed=[\"total(_)\"]"});
  EXPECT_EQ(open["scored"], "agreement");
  EXPECT_EQ(open["score"], sum["score"]);
  const auto labels = scores(kTotal, {"losses.perception.weight=1", "labels.positions=[\"*\"]"});
  EXPECT_EQ(labels["scored"], "labels");
  const auto one = scores(kPair, {"losses.perception.weight=1", "labels.positions=[\"d(1,_)\"]"});
  EXPECT_EQ(one["scored"], "known labels");
  EXPECT_LT(one["score"].get<double>(), 0.6);
}

// On CUDA a step is captured once and replayed: the circuit, too, runs without the host. No grounder is
// needed.
TEST(WeakLabelsOnCuda, CapturedStepsAreTheStepsThemselves) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  test::TemporaryFolder folder;
  write_spots(folder / "pictures");
  const auto after = [&](const std::string& preset, const std::string& approx, const char* graph) {
    Settings settings = layered_settings(
        "multi_digit_addition", preset,
        {"images.source=" + (folder / "pictures"), "images.augment=false", "data.train=256",
         "data.validation=16", "model.perception.preset=paper", "model.perception.width=0.125",
         "model.perception.d_model=16", "model.perception.dropout=0", "train.batch=16",
         "train.precision=float32", "losses.query.approx=" + approx, graph});
    const Config config = read_config(settings);
    const Task task(config, TaskOptions{});
    const nn::ModelOptions model = read_model(settings, static_cast<std::int64_t>(task.classes().size()));
    settings.refuse_unused();
    Workers alone(Launch{}, torch::kCUDA);
    Trainer trainer(config, model, task, folder / "run", torch::kCUDA, alone, TrainHooks{});
    trainer.run_steps(12);  // the first three run as they are
    std::vector<torch::Tensor> weights;
    for (const torch::Tensor& parameter : trainer.model().parameters())
      weights.push_back(parameter.detach().cpu());
    return weights;
  };
  for (const auto& [preset, approx] :
       {std::pair<std::string, std::string>{"n1", "exact"}, {"n1", "same"}, {"n15", "exact"}}) {
    SCOPED_TRACE(preset + " " + approx);
    const auto captured = after(preset, approx, "train.graph=true"),
               plain = after(preset, approx, "train.graph=false");
    for (std::size_t n = 0; n < plain.size(); ++n)
      EXPECT_TRUE(captured[n].allclose(plain[n], 1e-3, 1e-4)) << n;
  }
}

struct ShippedTask {
  const char *task, *preset;
  double score;  // that a short run passes; an untrained network is far below
  std::vector<std::string> more;
};

// Small pictures, networks and runs.
Settings small_settings(const std::string& task, const std::string& preset,
                        const std::filesystem::path& pictures, const std::vector<std::string>& more) {
  if (task == "sudoku") {
    testing::write_bars(pictures);
  } else {
    write_spots(pictures, task == "formula");
  }
  const std::vector<std::string> small = {"images.source=" + pictures.string(),
                                          "images.augment=false",
                                          "data.train=512",
                                          "data.validation=64",
                                          "model.perception.preset=paper",
                                          "model.perception.width=0.125",
                                          "model.perception.d_model=16",
                                          "train.epochs=8",
                                          "train.batch=16",
                                          "train.rate=5e-3",
                                          "train.ema_decay=0.9",
                                          "train.validate_every=8"};
  return layered_settings(task, preset, with(small, more));
}

// Beliefs of a carry come from nowhere, and fuzzy truth does not sum over it.
TEST(WeakLabelsOfShippedTasks, LtnIsRefusedWhereAConstraintDependsOnWhatIsNeitherReadNorObserved) {
  const auto refusal = [](const std::string& task, const std::vector<std::string>& more) -> std::string {
    test::TemporaryFolder folder;
    try {
      PreparedRun(small_settings(task, "ltn", folder / "pictures", more), folder / "run");
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("multi_digit_addition", {}),
              AllOf(HasSubstr("multi_digit_addition.lp:10:"),
                    HasSubstr("losses.ltn cannot learn from `columns`, which depends on carry(1,_)")));
  EXPECT_EQ(refusal("addition", {}), "accepted");
  EXPECT_THAT(refusal("addition", {"labels.observed=[\"digit(1,_)\"]"}), HasSubstr("total(_)"));
  EXPECT_EQ(refusal("greater", {}), "accepted");
  EXPECT_EQ(refusal("grid_path", {}), "accepted");
}

// Not one label: the program has an answer with what is read, whatever the digits are called.
TEST(WeakLabelsOfShippedTasks, TheRulesOfSudokuAloneTellDigitsApart) {
  test::TemporaryFolder folder;
  const PreparedRun run(small_settings("sudoku", "unlabelled", folder / "pictures", {"train.stop_at=2"}),
                        folder / "run");
  EXPECT_LT(run.trainer->validate()["score"].get<double>(), 0.5);
  const TrainResult result = run.trainer->run();
  EXPECT_EQ(result.validation["scored"], "agreement");
  EXPECT_GT(result.score, 0.8);
}

// The presets for 9 × 9 boards, on 32 boards of 4 × 4: the decoder finds what the pictures may show, whether
// the blanks are known or only the rules are.
TEST(WeakLabelsOfShippedTasks, FewBoardsTeachDigitsBySearch) {
  for (const char* preset : {"blanks-9x9", "unlabelled-9x9"}) {
    SCOPED_TRACE(preset);
    test::TemporaryFolder folder;
    const PreparedRun run(
        small_settings("sudoku", preset, folder / "pictures",
                       {"program.compiled=programs/sudoku-b2.as2c", "program.constants=[\"b=2\"]",
                        "data.box=2", "data.min_clues=6", "data.max_clues=8", "data.train=32",
                        "train.epochs=100", "train.validate_every=100", "losses.query.k=3"}),
        folder / "run");
    EXPECT_LT(run.trainer->validate()["score"].get<double>(), 0.5);
    const TrainResult result = run.trainer->run();
    EXPECT_EQ(result.validation["scored"], "agreement");
    EXPECT_GT(result.score, 0.9);
  }
}

class ShippedTasks : public ::testing::TestWithParam<ShippedTask> {};

TEST_P(ShippedTasks, LearnFromWhatIsObserved) {
  test::TemporaryFolder folder;
  const PreparedRun run(
      small_settings(GetParam().task, GetParam().preset, folder / "pictures", GetParam().more),
      folder / "run");
  const double before = run.trainer->validate()["score"];
  const TrainResult result = run.trainer->run();
  EXPECT_EQ(result.validation["scored"], "likelihood");
  EXPECT_GT(result.score, GetParam().score);
  EXPECT_GT(result.score, before + 0.1);
  EXPECT_GT(result.validation["perceived"].value("exact", -1.0), GetParam().score);
}

INSTANTIATE_TEST_SUITE_P(
    WeakLabels, ShippedTasks,
    ::testing::Values(
        ShippedTask{"greater", "best", 0.9, {}}, ShippedTask{"greater", "sum", 0.9, {}},
        ShippedTask{"greater", "nogoods", 0.9, {}}, ShippedTask{"parity", "best", 0.7, {}},
        ShippedTask{"grid_path", "best", 0.95, {}}, ShippedTask{"formula", "best", 0.8, {}},
        ShippedTask{"multi_digit_addition", "n1", 0.5, {}}, ShippedTask{"shortest_path", "best", 0.95, {}},
        // The blanks are known, the clues are not.
        ShippedTask{"sudoku", "blanks", 0.8, {"train.stop_at=2"}},
        // Others' ways to learn from the sum alone; none of them needs a label.
        ShippedTask{"addition", "rule", 0.95, {}}, ShippedTask{"addition", "neurasp", 0.5, {}},
        ShippedTask{"addition", "scallop", 0.5, {}}, ShippedTask{"addition", "slash", 0.5, {}},
        ShippedTask{"addition", "semantic-loss", 0.5, {}}, ShippedTask{"addition", "ltn", 0.5, {}},
        ShippedTask{"addition", "ltn-goedel", 0.2, {}},
        ShippedTask{"addition",
                    "a-nesi",
                    0.5,
                    {"train.epochs=12", "losses.a-nesi.width=200", "losses.a-nesi.draws=200"}},
        ShippedTask{"greater", "ltn", 0.6, {}},
        ShippedTask{"greater", "a-nesi", 0.6, {"losses.a-nesi.width=200", "losses.a-nesi.draws=200"}},
        ShippedTask{"greater", "semantic-loss", 0.6, {}}, ShippedTask{"grid_path", "scallop", 0.6, {}},
        ShippedTask{"grid_path", "slash", 0.6, {}}, ShippedTask{"grid_path", "ltn", 0.6, {}},
        ShippedTask{"multi_digit_addition", "slash", 0.3, {}}),
    [](const auto& test) {
      std::string name = std::string(test.param.task) + "_" + test.param.preset;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace as2::train
