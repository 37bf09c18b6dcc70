// `as2 train` as a user runs it, on 4 × 4 Sudoku.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "files.h"
#include "support/bars.h"
#include "support/run_as2.h"
#include "support/running_as2.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::RunningAs2;
using Json = nlohmann::json;

// Eight batches per epoch, each of which takes a few hundredths of a second: by one thread, for several would
// wait for one another on a busy machine. No validation and no checkpoint comes by the clock.
const std::vector<std::string> kSmall = {"train",     "sudoku",
                                         "--preset",  "tiny",
                                         "--batch",   "32",
                                         "--set",     "data.train=256",
                                         "--set",     "data.validation=64",
                                         "--set",     "train.stop_at=2",
                                         "--threads", "1",
                                         "--set",     "train.validate_seconds=1e6",
                                         "--set",     "train.checkpoint_seconds=1e6",
                                         "--set",     "model.reasoner.width=16",
                                         "--set",     "model.reasoner.passes=3"};

std::vector<std::string> small(const std::vector<std::string>& more) {
  std::vector<std::string> words = kSmall;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class TrainVerb : public ::testing::Test {
 protected:
  Finished run(const std::string& arguments) const {
    return testing::run_as2(folder_.str(), "train " + arguments);
  }
  Finished run_small(const std::vector<std::string>& more) const {
    std::string words;
    for (const std::string& word : small(more)) words += "'" + word + "' ";
    return testing::run_as2(folder_.str(), words);
  }
  fs::path path(const std::string& name) const { return folder_ / name; }

  // Every line, or those of validations.
  std::vector<Json> all_metrics(const std::string& run) const {
    std::vector<Json> records;
    std::istringstream lines(read_file(path(run) / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
    return records;
  }
  std::vector<Json> metrics(const std::string& run) const {
    std::vector<Json> records;
    for (Json& record : all_metrics(run)) {
      if (record.contains("validation")) records.push_back(std::move(record));
    }
    return records;
  }
  // The metrics without those that depend on the machine's speed.
  std::vector<Json> timeless_metrics(const std::string& run) const {
    std::vector<Json> records = all_metrics(run);
    for (Json& record : records) {
      record.erase("seconds");
      record.erase("examples_per_second");
    }
    return records;
  }

  test::TemporaryFolder folder_;
};

TEST_F(TrainVerb, WritesARunFolderAndOneDocument) {
  const Finished finished = run_small({"--epochs", "2", "--seed", "5", "--out", "run", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json document = Json::parse(finished.out);  // throws on anything before or after it
  ASSERT_EQ(document["runs"].size(), 1u);
  const Json& result = document["runs"][0];
  EXPECT_EQ(result["steps"], 16);
  EXPECT_EQ(result["seed"], 5);
  EXPECT_EQ(result["interrupted"], false);
  EXPECT_EQ(result["folder"], "run");
  EXPECT_EQ(document["mean"], result["score"]);

  const std::string config = read_file(path("run/config.toml"));
  for (const char* setting : {"seed = 5\n", "preset = \"tiny\"\n", "batch = 32\n", "epochs = 2\n",
                              "width = 16\n", "rate = 0.005\n", "compiled = \"programs/sudoku-b2.as2c\"\n"})
    EXPECT_THAT(config, HasSubstr(setting));
  const auto records = metrics("run");
  ASSERT_EQ(records.size(), 2u);
  double best = 0;
  for (const Json& record : records) {
    EXPECT_GT(record["loss"].get<double>(), 0);
    EXPECT_GT(record["examples_per_second"].get<double>(), 0);
    EXPECT_TRUE(record["terms"].contains("latent"));
    best = std::max(best, record["validation"]["score"].get<double>());
  }
  EXPECT_LT(records[1]["loss"].get<double>(), records[0]["loss"].get<double>());
  EXPECT_EQ(result["score"], best) << "validation picks the checkpoint";
  const std::string curves = read_file(path("run/curves.svg"));
  EXPECT_THAT(curves, AllOf(HasSubstr("<svg"), HasSubstr("validation"), HasSubstr("</svg>")));
  const Json card = Json::parse(read_file(path("run/model.json")));
  EXPECT_EQ(card["preset"], "tiny");
  EXPECT_EQ(card["seed"], 5);
  EXPECT_EQ(card["data"]["train"], 256);
  EXPECT_EQ(card["data"]["validation"], 64);
  EXPECT_EQ(card["validation"]["score"], best);
  EXPECT_FALSE(card["program"]["hash"].get<std::string>().empty());
  EXPECT_GT(fs::file_size(path("run/model.safetensors")), 1000u);
  EXPECT_GT(fs::file_size(path("run/state.safetensors")), fs::file_size(path("run/model.safetensors")));
}

TEST_F(TrainVerb, LossesAreLoggedEveryFewSteps) {
  const Finished finished =
      run_small({"--epochs", "2", "--out", "run", "--quiet", "--tensorboard", "--set", "train.log_steps=3"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  std::vector<int> steps;
  double logged = 0, validated = 0;
  for (const Json& record : all_metrics("run")) {
    if (record.contains("validation")) {
      validated += 8 * record["loss"].get<double>();
      continue;
    }
    steps.push_back(record["step"]);
    logged += 3 * record["loss"].get<double>();
    EXPECT_GT(record["learning_rate"].get<double>(), 0);
    EXPECT_TRUE(record["terms"].contains("latent"));
  }
  EXPECT_EQ(steps, (std::vector<int>{3, 6, 9, 12, 15}));
  EXPECT_LT(logged, validated) << "sixteen steps, of which fifteen are logged";
  EXPECT_GT(logged, 0.8 * validated);
  std::string events;
  for (const auto& entry : fs::directory_iterator(path("run"))) {
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0)
      events += read_file(entry.path());
  }
  EXPECT_THAT(events,
              AllOf(HasSubstr("brain.Event:2"), HasSubstr("terms/latent"), HasSubstr("validation/score")));
}

TEST_F(TrainVerb, PlainLinesWhereStandardErrorIsNoTerminal) {
  const Finished finished = run_small({"--epochs", "2", "--out", "run"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err,
              MatchesRegex("epoch 1  step 8  [0-9:]+  loss [0-9.]+  rate [-0-9.e]+  [0-9]+/s  score "
                           "[0-9.]+  best\nepoch 2 .*\ndone, all epochs trained: run\n"));
  EXPECT_EQ(finished.err.find_first_of("\r\033"), std::string::npos);
  EXPECT_THAT(finished.out, MatchesRegex("run/model.safetensors  score [01]\\.[0-9]+\n"));
  const Finished quiet = run_small({"--epochs", "1", "--out", "another", "--quiet"});
  EXPECT_EQ(quiet.err, "");
}

TEST_F(TrainVerb, ABarOnATerminalAndControlC) {
  RunningAs2 training(folder_.str(), small({"--epochs", "2000", "--out", "run", "--json"}),
                      /*terminal=*/true);
  ASSERT_TRUE(training.wait_for("epoch 3  step")) << "so that bars follow a validation";
  training.press_control_c();
  const Finished finished = training.finish();
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_TRUE(::testing::Value(
      finished.err,
      ::testing::ContainsRegex("\r[█·]+ +[0-9]+%  epoch [0-9]+  loss [0-9.]+  score 0\\.[0-9]+  "
                               "[1-9][0-9]*/s  [0-9]+:[0-9][0-9] left ")))
      << finished.err.substr(0, 2000);
  EXPECT_THAT(finished.err, HasSubstr("\r\033[Kstopped; continue with: as2 train --resume run"));
  const Json result = Json::parse(finished.out)["runs"][0];
  EXPECT_EQ(result["interrupted"], true);
  EXPECT_TRUE(fs::exists(path("run/state.safetensors")));
}

TEST_F(TrainVerb, AnInterruptedRunGoesOnBitForBit) {
  // So many that the interrupt arrives long before the last, however busy the machine is.
  const std::string epochs = "60";
  const int steps = 480;
  ASSERT_EQ(run_small({"--epochs", epochs, "--out", "whole", "--quiet"}).exit_code, 0);

  RunningAs2 training(folder_.str(), small({"--epochs", epochs, "--out", "broken", "--json"}),
                      /*terminal=*/false);
  ASSERT_TRUE(training.wait_for("epoch 2 "));
  training.interrupt();
  const Finished stopped = training.finish();
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("stopped; continue with: as2 train --resume broken\n"));
  const Json first = Json::parse(stopped.out)["runs"][0];
  EXPECT_EQ(first["interrupted"], true);
  ASSERT_LT(first["steps"].get<int>(), steps);
  ASSERT_NE(read_file(path("broken/model.safetensors")), read_file(path("whole/model.safetensors")));

  const Finished resumed = run("sudoku --preset tiny --resume broken --threads 1 --json --quiet");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const Json second = Json::parse(resumed.out)["runs"][0];
  EXPECT_EQ(second["interrupted"], false);
  EXPECT_EQ(second["steps"], steps);
  EXPECT_EQ(read_file(path("broken/model.safetensors")), read_file(path("whole/model.safetensors")));
  EXPECT_EQ(read_file(path("broken/config.toml")), read_file(path("whole/config.toml")));
  EXPECT_EQ(timeless_metrics("broken"), timeless_metrics("whole"));

  const Finished more = run("--resume whole --epochs 61 --json --quiet");
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(Json::parse(more.out)["runs"][0]["steps"], steps + 8);
  EXPECT_THAT(read_file(path("whole/config.toml")), HasSubstr("epochs = 61\n"));
}

TEST_F(TrainVerb, SeveralSeedsGiveMeanAndDeviation) {
  const Finished finished =
      run_small({"--epochs", "1", "--seeds", "0..1", "--out", "runs", "--json", "--quiet"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const Json document = Json::parse(finished.out);
  ASSERT_EQ(document["runs"].size(), 2u);
  double scores[2];
  for (int seed = 0; seed < 2; ++seed) {
    EXPECT_EQ(document["runs"][seed]["seed"], seed);
    scores[seed] = metrics("runs/seed" + std::to_string(seed)).at(0)["validation"]["score"];
    EXPECT_EQ(document["runs"][seed]["score"], scores[seed]);
  }
  EXPECT_NE(read_file(path("runs/seed0/model.safetensors")), read_file(path("runs/seed1/model.safetensors")));
  EXPECT_NE(scores[0], scores[1]) << "choose a shorter run, whose seeds differ";
  EXPECT_NEAR(document["mean"].get<double>(), (scores[0] + scores[1]) / 2, 1e-12);
  EXPECT_NEAR(document["std"].get<double>(), std::abs(scores[0] - scores[1]) / std::sqrt(2.0), 1e-12);
  EXPECT_THAT(run_small({"--epochs", "1", "--seeds", "3,4", "--quiet"}).out,
              ::testing::ContainsRegex("runs/sudoku-tiny-4/model.safetensors  score .*\nmean 0\\.[0-9]+ ± "
                                       "0\\.[0-9]+ over 2 seeds\n"));
}

TEST_F(TrainVerb, ATimeBudgetEndsTheRun) {
  const Finished finished = run_small({"--time-budget", "2", "--out", "run", "--json", "--quiet"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json result = Json::parse(finished.out)["runs"][0];
  EXPECT_EQ(result["ended"], "time_budget");
  EXPECT_EQ(result["interrupted"], false);
  const auto records = metrics("run");
  EXPECT_NEAR(records.back()["learning_rate"].get<double>(), 0.005 * 0.01, 1e-9) << "annealed to its end";
  EXPECT_NE(result["score"], nullptr);
  // Of fewer examples than the first validation had.
  const Finished fewer = run("--resume run --set data.validation=32 --time-budget 3 --quiet");
  EXPECT_EQ(fewer.exit_code, 0) << fewer.err;
}

TEST_F(TrainVerb, FlagsThatDoNotApplyAreRefused) {
  const Finished finished = run_small({"--no-graph", "--device", "cpu", "--out", "run", "--quiet"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--no-graph does not apply"));
  const Finished set = run_small({"--set", "train.graph=true", "--device", "cpu", "--out", "run", "--quiet"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.err, HasSubstr("--set train.graph does not apply"));
  const Finished both = run_small({"--epochs", "2", "--time-budget", "9", "--out", "run", "--quiet"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--epochs does not apply: the time budget of 9 s ends the run"));
  EXPECT_EQ(run_small({"--set", "train.epochs=2", "--time-budget", "9", "--out", "run"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(path("run")));
}

// The settings are at fault, not AS2: with these every step makes the weights nine times as large.
TEST_F(TrainVerb, ALossThatIsNoNumberSaysWhatToChange) {
  const Finished finished =
      run_small({"--lr", "1", "--set", "train.weight_decay=10", "--set", "train.warmup=0", "--epochs", "20",
                 "--set", "train.validate_every=20", "--out", "run", "--quiet"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("error: the loss is not a number after step "),
                                  HasSubstr("note: lower train.rate")));
}

TEST_F(TrainVerb, SettingsThatAreWrong) {
  const auto refused = [&](const std::string& arguments, int code,
                           const ::testing::Matcher<const std::string&>& message) {
    const Finished finished = run(arguments + " --out run");
    EXPECT_EQ(finished.exit_code, code) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_THAT(finished.err, message) << arguments;
    EXPECT_FALSE(fs::exists(path("run"))) << arguments;
  };
  refused("chess", 1,
          AllOf(HasSubstr("no task 'chess'"), HasSubstr("note: there are: addition, "),
                HasSubstr(", sudoku; or the path")));
  refused("sudoku --preset papier", 1,
          AllOf(HasSubstr("no preset 'papier'"), HasSubstr("best"), HasSubstr("tiny")));
  refused("sudoku --preset tiny --set train.epoch=3", 1,
          AllOf(HasSubstr("--set train.epoch=3: error:"), HasSubstr("did you mean 'train.epochs'?")));
  refused("sudoku --preset tiny --set train.epochs=many", 1,
          HasSubstr("--set train.epochs=many: error: 'train.epochs' is \"many\", expected a whole number"));
  refused(R"(sudoku --preset tiny --set 'images.positions=["cell(*","cel(*"]')", 1,
          HasSubstr("images.positions: no position of the program matches 'cel(*'"));
  refused("sudoku --preset tiny --set model.reasoner.widht=8", 1,
          AllOf(HasSubstr("--set model.reasoner.widht=8: error: 'model.reasoner.widht' is no field"),
                HasSubstr("known fields: width")));
  for (const std::string part : {"reasoner", "perception"})
    refused("sudoku --preset tiny --set model." + part + "=3", 1,
            HasSubstr("error: 'model." + part + "' is a table of settings, not a value"));
  refused("sudoku --preset tiny --set model.reasoner.width=wide", 1,
          HasSubstr("'model.reasoner.width' is \"wide\""));
  refused("sudoku --preset tiny --set model.reasoner.width=17", 1, HasSubstr("a multiple of heads"));
  refused("sudoku --preset tiny --set model.reasoner.heads=0", 1,
          HasSubstr("expected a whole number from 1 to"));
  for (const char* seeds : {"2..0", "0..2x", "1,,2"})
    refused(std::string("sudoku --preset tiny --seeds ") + seeds, 2, HasSubstr("0..2"));
  refused("sudoku --preset tiny --seeds 0,3,0", 2, HasSubstr("--seeds 0,3,0: 0 is given twice"));
  refused("sudoku --preset tiny --seeds 0..1 --seed 2", 2, HasSubstr("excludes"));
  refused("sudoku --preset tiny --seeds 0..1 --set seed=9", 2,
          HasSubstr("'seed' is set twice, to 0 and to 9"));
  refused("sudoku --preset tiny --epochs 2 --set train.epochs=3", 2,
          HasSubstr("'train.epochs' is set twice"));
  refused("sudoku --set preset=tiny", 2, HasSubstr("a preset is chosen by --preset"));
  refused("sudoku --preset tiny --device cuda:77", 2, HasSubstr("no such device"));
  refused("", 2, HasSubstr("name a task"));
  refused("digits --data-dir nowhere", 1, HasSubstr("no MNIST files in nowhere"));
  refused("sudoku --preset tiny --data-dir nowhere", 2, HasSubstr("--data-dir does not apply"));

  folder_.put("mine.toml",
              "name = \"mine\"\npreset = \"mine.toml\"\n[program]\nfile = \"mine.lp\"\n"
              "[train]\n  epochs = \"many\"\n");
  folder_.put("mine.lp", "{ a(1..2) } = 1.\n");
  refused("mine.toml --preset mine.toml", 1, HasSubstr("mine.toml:6:"));
  folder_.put("wide.toml", "[model.reasoner]\nkind = \"soft-tp\"\nwidth = 0\n");
  refused("sudoku --preset wide.toml", 1,
          HasSubstr("wide.toml:3:9-10: error: 'model.reasoner.width' is 0, expected"));
}

// A reasoner that goes on from weights for smaller boards takes means as these have learnt to: so do its
// card, who resumes the run, and who starts from it in turn.
TEST_F(TrainVerb, WeightsMoveToBoardsOfAnotherSize) {
  ASSERT_EQ(run_small({"--epochs", "1", "--out", "small", "--quiet"}).exit_code, 0);
  const std::vector<std::string> larger = {
      "--set",  "data.box=2x3",      "--set", "program.constants=[\"h=2\",\"w=3\"]",
      "--set",  "data.min_clues=14", "--set", "data.max_clues=20",
      "--quiet"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), larger.begin(), larger.end());
    return run_small(more);
  };
  const auto sizes = [&](const std::string& run) {
    return Json::parse(read_file(path(run) / "model.json"))["model"]["reasoner"].value("sizes", Json());
  };
  EXPECT_EQ(sizes("small"), Json());
  Finished finished = with({"--epochs", "1", "--reasoner", "small/model.safetensors", "--out", "large"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(sizes("large"), Json({4, 4, 4, 4}));
  ASSERT_EQ(run("--resume large --epochs 2 --quiet").exit_code, 0);
  EXPECT_EQ(sizes("large"), Json({4, 4, 4, 4}));
  finished = run_small({"--epochs", "1", "--start", "large/model.safetensors", "--out", "back", "--quiet"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(sizes("back"), Json()) << "they are those of the program again";
  finished = run_small({"--set", "data.box=2x3", "--out", "other"});
  EXPECT_EQ(finished.exit_code, 1) << "before boards are made, which can take minutes";
  EXPECT_THAT(finished.err, AllOf(HasSubstr("the boards have 36 cells, the program has 16"),
                                  HasSubstr("program.constants")));
  finished = with({"--epochs", "1", "--out", "other", "--set", "model.reasoner.sizes=[4,4]"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("'model.reasoner.sizes' is [4,4], expected"),
                                  HasSubstr("each of the program's 3 families")));
  // Nobody asked for sizes here: what does not fit is the weights.
  const std::string addition = std::string(AS2_SOURCE_DIR) + "/models/addition-n2-best.safetensors";
  finished = with({"--epochs", "1", "--out", "other", "--reasoner", addition});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("the tensor 'reasoner.pool'"), Not(HasSubstr("sizes"))));
  finished = with({"--out", "other", "--start", "small/model.safetensors", "--set", "model.reasoner.kind=3"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("'model.reasoner.kind' is 3"));
}

TEST_F(TrainVerb, FilesThatAreWrong) {
  ASSERT_EQ(run_small({"--epochs", "1", "--out", "run", "--quiet"}).exit_code, 0);
  const std::string metrics_before = read_file(path("run/metrics.jsonl"));
  testing::write_bars(path("bars"));
  const std::string pictured =
      "sudoku --preset tiny --set data.train=32 --set data.validation=16 --set "
      "'images.positions=[\"cell(*\"]' "
      "--set images.source=bars --set model.perception.preset=paper --set model.perception.width=0.125 "
      "--set model.perception.d_model=16 --set losses.perception.weight=1 --out another --perception ";
  const std::string whole = read_file(path("run/model.safetensors"));
  folder_.put("cut.safetensors", whole.substr(0, whole.size() / 2));
  folder_.put("text.safetensors", "these are no weights, only words\n");
  for (const char* card : {"cut.json", "text.json"}) folder_.put(card, read_file(path("run/model.json")));
  const auto refused = [&](const std::string& arguments,
                           const ::testing::Matcher<const std::string&>& message) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.exit_code, 1) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_THAT(finished.err, AllOf(message, HasSubstr("error: "))) << arguments;
    EXPECT_EQ(read_file(path("run/metrics.jsonl")), metrics_before) << "the run that was there is touched";
  };
  refused(pictured + "run/model.safetensors",
          AllOf(HasSubstr("run/model.safetensors: "), HasSubstr("is missing"), HasSubstr("note: ")));
  refused(pictured + AS2_SOURCE_DIR "/models/digits-best.safetensors",
          HasSubstr("digits-best.safetensors: "));
  refused(pictured + "cut.safetensors", AllOf(HasSubstr("cut.safetensors: "), HasSubstr("partly copied")));
  refused(pictured + "text.safetensors",
          AllOf(HasSubstr("text.safetensors: "), HasSubstr("safetensors file is")));
  refused("sudoku --preset tiny --out another --perception " AS2_SOURCE_DIR "/models/digits-best.safetensors",
          AllOf(HasSubstr("the network to train has none"), HasSubstr("note: ")));

  refused("sudoku --preset tiny --out cut.safetensors/run",
          AllOf(HasSubstr("cut.safetensors: error: "), HasSubstr("note: give --out a folder")));
  refused("sudoku --preset tiny --out /proc/run --set data.train=32 --set data.validation=16",
          HasSubstr("/proc"));

  refused("--resume nowhere",
          AllOf(HasSubstr("nowhere: error: there is no such folder"), HasSubstr("note: ")));
  refused("--resume run --seed 4", HasSubstr("run/config.toml: error: the run's seed is 0, not 4"));
  refused("addition --resume run", HasSubstr("the run's task is sudoku, not addition"));
  refused("--resume run --set seed=4", HasSubstr("the run's seed is 0, not 4"));
  refused("--resume run --set name=addition", HasSubstr("the run's task is sudoku, not addition"));
  refused("--resume run --set preset=best", HasSubstr("the run's preset is tiny, not best"));
  refused("--resume run --set model.reasoner.width=24",
          AllOf(HasSubstr("state.safetensors: error: does not fit the model"), HasSubstr("note: ")));
  refused("--resume run --set program.compiled=programs/latin_square.as2c", HasSubstr("another program"));
  write_file(path("run/state.safetensors"), read_file(path("run/state.safetensors")).substr(0, 999));
  refused("--resume run", HasSubstr("run/state.safetensors: error: "));
}

TEST_F(TrainVerb, ARunIsNotReplacedUnasked) {
  ASSERT_EQ(run_small({"--out", "run"}).exit_code, 0);
  const std::string model = read_file(path("run/model.safetensors"));
  const Finished again = run_small({"--out", "run", "--seed", "1"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, AllOf(HasSubstr("run: error: a run is here already"), HasSubstr("--resume run")));
  EXPECT_EQ(read_file(path("run/model.safetensors")), model);
}

// The test itself locks the folder: with a real training run it would have to hit the right moment.
TEST_F(TrainVerb, TwoTrainingsDoNotShareAFolder) {
  fs::create_directories(path("run"));
  const int held = open(path("run").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const Finished refused = run_small({"--out", "run"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("run: error: another process trains in this folder"));
  close(held);
  EXPECT_EQ(run_small({"--out", "run", "--epochs", "1"}).exit_code, 0);
}

TEST_F(TrainVerb, ARunCanBeResumedFromItsFirstMoment) {
  RunningAs2 training(folder_.str(), small({"--out", "run", "--epochs", "20000"}), /*terminal=*/false);
  ASSERT_TRUE(training.wait_for("epoch 1 "));
  kill(training.pid(), SIGKILL);
  training.finish();
  const Finished resumed = run("--resume run --epochs 1");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(metrics("run").size(), 1u);
}

TEST_F(TrainVerb, ADamagedLineIsNamed) {
  ASSERT_EQ(run_small({"--out", "run", "--epochs", "2"}).exit_code, 0);
  const std::string whole = read_file(path("run/metrics.jsonl"));
  for (const char* line : {"{\"step\": \"many\"}\n", "{\"ste\n", "[1]\n"}) {
    write_file(path("run/metrics.jsonl"), whole + line);
    const Finished refused = run("--resume run --epochs 3");
    EXPECT_EQ(refused.exit_code, 1) << line;
    EXPECT_THAT(refused.err, HasSubstr("run/metrics.jsonl:3: error: the line is damaged"));
  }
}

TEST_F(TrainVerb, ABatchHasNoMoreThanAnEpoch) {
  const Finished refused = run("sudoku --preset tiny --batch 100000000 --set data.train=256");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("an epoch has only 256 examples"));
  EXPECT_FALSE(fs::exists(path("runs")));
  EXPECT_EQ(run("sudoku --time-budget nan").exit_code, 2);
}

TEST_F(TrainVerb, LayersWithoutNumberAreRefused) {
  const Finished refused = run("sudoku --preset paper --set model.reasoner.layers=1000000000 --out run");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("model.reasoner.layers"));
}

TEST_F(TrainVerb, TooLittleMemoryIsSaidPlainly) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit little = before;
  little.rlim_cur = rlim_t{4} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  const Finished finished = run(
      "sudoku --preset tiny --set data.train=256 --set data.validation=64 --set model.reasoner.width=8192 "
      "--set model.reasoner.heads=1 --set model.reasoner.d_ff=8192 --batch 32 --device cpu");
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("error: not enough memory: "), HasSubstr("--batch 64"),
                                  Not(HasSubstr("internal error")), Not(HasSubstr("frame #"))));
}

TEST_F(TrainVerb, HelpNamesEveryFlag) {
  const std::string help = run("--help").out;
  for (const char* flag :
       {"--preset",      "--set",     "--seed ",    "--seeds", "--device", "--out",        "--resume",
        "--time-budget", "--epochs",  "--batch",    "--lr",    "--start",  "--perception", "--reasoner",
        "--data-dir",    "--workers", "--no-graph", "--quiet", "--json",   "--threads"})
    EXPECT_THAT(help, HasSubstr(std::string("  ") + flag));
  EXPECT_THAT(help, HasSubstr("Exit codes: 0 done"));
}

}  // namespace
}  // namespace as2::cli
