// Both reasoners train on every program that ships, from a task file and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/temporary_folder.h"
#include "train/trainer.h"

namespace as2::train {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(AS2_SOURCE_DIR "/programs")) {
    if (entry.path().extension() == ".lp") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A task as a user writes it: answers of the program, some of their positions given.
const char* const kTask = R"(
name = "any"
preset = "soft-tp.toml"

[data]
source = "answers"
train = 16
validation = 8

[losses]
evidence = { weight = 1 }
latent = { weight = 1 }
constraint = { weight = 0.1 }

[train]
epochs = 6
batch = 8
rate = 5e-3
validate_every = 6
)";
const char* const kSoftTp = R"(
[model.reasoner]
kind = "soft-tp"
width = 8
heads = 2
d_ff = 16
passes = 2
eval_passes = 2
)";
const char* const kTransformer = R"(
[model.reasoner]
kind = "transformer"
layers = 1
heads = 2
d_model = 16
d_ff = 32
dropout = 0.0
)";

// How much of an answer is given; for sources that have such a range.
const std::vector<std::string> kGiven = {"data.min_clues=0", "data.max_clues=6"};

struct Outcome {
  std::vector<double> losses;
  TrainResult result;
};

class OneProgram : public ::testing::Test {
 protected:
  Outcome train(const std::string& program, const std::string& preset,
                const std::vector<std::string>& more = kGiven) const {
    folder_.put("task.toml", kTask);
    folder_.put("soft-tp.toml", kSoftTp);
    folder_.put("transformer.toml", kTransformer);
    std::vector<std::string> overrides = {"program.file=" + program};
    overrides.insert(overrides.end(), more.begin(), more.end());
    Settings settings = layered_settings(folder_ / "task.toml", folder_ / (preset + ".toml"), overrides);
    Config config = read_config(settings);
    const Task task(config, {});
    if (task.program().groups.empty()) config.losses.terms["constraint"].weight = 0;  // it would be refused
    const nn::ModelOptions model = read_model(settings, 0);
    settings.refuse_unused();
    config.resolved = settings.resolved();
    Outcome outcome;
    TrainHooks hooks;
    hooks.on_progress = [&](const Progress& progress) { outcome.losses.push_back(progress.loss); };
    Workers alone;
    Trainer trainer(config, model, task, folder_ / "run", torch::kCPU, alone, hooks);
    outcome.result = trainer.run();
    return outcome;
  }

  test::TemporaryFolder folder_;
};

class AnyProgram : public OneProgram, public ::testing::WithParamInterface<std::string> {};

TEST_P(AnyProgram, Trains) {
  const std::string program = std::string(AS2_SOURCE_DIR "/programs/") + GetParam() + ".lp";
  for (const char* preset : {"soft-tp", "transformer"}) {
    const Outcome outcome = train(program, preset);
    ASSERT_EQ(outcome.losses.size(), 12u) << preset;
    for (const double loss : outcome.losses) EXPECT_TRUE(std::isfinite(loss)) << preset;
    const auto mean = [&](std::size_t from, std::size_t count) {
      const auto begin = outcome.losses.begin() + static_cast<std::ptrdiff_t>(from);
      return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0.0) /
             static_cast<double>(count);
    };
    EXPECT_LT(mean(8, 4), mean(0, 4)) << preset;
    EXPECT_GE(outcome.result.score, 0) << preset;
    EXPECT_TRUE(fs::exists(outcome.result.model)) << preset;
  }
}

TEST_F(OneProgram, WhatCannotBeTrainedSaysWhy) {
  const auto refusal = [&](const std::string& text, const std::vector<std::string>& more = kGiven) {
    try {
      train(folder_.put("mine.lp", text), "soft-tp", more);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal("node(1..3). edge(X,Y) :- node(X), node(Y).\n"),
              AllOf(HasSubstr("mine.lp:1: error: the program has no position"), HasSubstr("note: say what")));
  EXPECT_THAT(refusal("{ a(1..2) } = 1.\n:- a(1). % one\n:- a(2). % two\n"), HasSubstr("no answer set"));
  const std::string pair = "{ at(X,V) : V=1..3 } = 1 :- X=1..2.\n:- at(1,V), at(2,V).\n";
  EXPECT_THAT(
      refusal(pair, {"data.min_clues=3"}),
      AllOf(HasSubstr("data.min_clues is 3, and only 2 positions"), HasSubstr("note: set data.min_clues")));
  EXPECT_THAT(refusal(pair, {"data.source=instances"}), HasSubstr("there is no data.path"));
  EXPECT_THAT(refusal(pair, {"data.source=boards", "data.box=2", "data.min_clues=4", "data.max_clues=6"}),
              HasSubstr("the boards have 16 cells, the program has 2"));
  EXPECT_EQ(refusal(pair, {"data.min_clues=0", "data.max_clues=1"}), "accepted");
  EXPECT_THAT(
      refusal(pair, {"data.source=instances", "data.path=" + (folder_ / "mine.lp"), "data.min_clues=0"}),
      HasSubstr("'data.min_clues' has no effect here: data.source is \"instances\""));
  const auto of_list = [&](const std::string& lines) {
    return refusal(pair, {"data.source=instances", "data.path=" + folder_.put("list.jsonl", lines)});
  };
  using Json = nlohmann::json;
  const auto line = [](const Json& labels, const Json& evidence) {
    return Json{{"labels", labels}, {"evidence", evidence}}.dump() + "\n";
  };
  const Json given = Json::array({"at(1,_)"}), none = Json::array();
  const std::string good = line({{"at(1,_)", "1"}, {"at(2,_)", 2}}, given);
  std::string enough;  // for a batch of 8, with a tenth kept for validation
  for (int k = 0; k < 32; ++k) enough += good;
  EXPECT_EQ(of_list(enough), "accepted");
  EXPECT_THAT(of_list(""), HasSubstr("list.jsonl: error: has no example"));
  EXPECT_THAT(of_list(good + "\n[]\n"),
              HasSubstr("list.jsonl:3: error: found [], expected an object\nnote: a line is {"));
  EXPECT_THAT(of_list(good + line({{"at(3,_)", "1"}}, none)),
              HasSubstr("list.jsonl:2: error: the program has no"));
  EXPECT_THAT(of_list(line({{"at(1,_)", "7"}}, none)),
              HasSubstr("list.jsonl:1: error: at(1,_) has no symbol '7'"));
  EXPECT_THAT(of_list(line({{"at(2,_)", "1"}}, given)),
              HasSubstr("is evidence but has neither a picture nor a label"));
  EXPECT_THAT(of_list(line({{"at(1,_)", "1"}}, Json::array({1}))),
              HasSubstr("\"evidence\" lists 1, expected a position"));
}

INSTANTIATE_TEST_SUITE_P(Programs, AnyProgram, ::testing::ValuesIn(programs()),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace as2::train
