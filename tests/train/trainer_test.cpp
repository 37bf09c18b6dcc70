// Whole runs on 4 × 4 Sudoku: small enough for every test run, and every part of the loop takes part.
#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>

#include "files.h"
#include "support/bars.h"
#include "train/tiny_run.h"

namespace as2::train {
namespace {

std::map<std::string, torch::Tensor> weights_of(nn::Model& model) {
  std::map<std::string, torch::Tensor> weights;
  for (const auto& parameter : model.named_parameters())
    weights[parameter.key()] = parameter.value().detach().clone();
  return weights;
}

bool identical(const std::map<std::string, torch::Tensor>& a, const std::map<std::string, torch::Tensor>& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& entry) {
           return entry.second.equal(b.at(entry.first));
         });
}

TEST(Trainer, SolvesSmallSudokuFromScratch) {
  test::TemporaryFolder folder;
  TinyRun run({}, folder.path());
  const TrainResult result = run.trainer->run();
  EXPECT_GE(result.score, 0.99);
  std::cout << "score " << result.score << " after " << result.seconds << " s, " << result.steps
            << " steps\n";
  for (const char* file : {"config.toml", "metrics.jsonl", "curves.svg", "state.safetensors",
                           "model.safetensors", "model.json"}) {
    EXPECT_TRUE(fs::exists(folder.path() / file)) << file;
  }
}

// Stopped within an epoch, and after the last step of one, when its validation is still due.
class StoppedAfter : public ::testing::TestWithParam<int> {};

TEST_P(StoppedAfter, AResumedRunIsBitIdentical) {
  test::TemporaryFolder whole_folder, broken_folder;
  TinyRun whole(kShort, whole_folder.path());
  whole.trainer->run();

  std::atomic<bool> stop{false};
  TrainHooks hooks;
  hooks.stop = &stop;
  // What is wished for after one step is noticed after the next.
  hooks.on_progress = [&](const auto& progress) { stop = progress.step >= GetParam() - 1; };
  TinyRun broken(kShort, broken_folder.path(), hooks);
  const TrainResult first = broken.trainer->run();
  EXPECT_EQ(first.ended, Ended::kInterrupted);
  EXPECT_EQ(first.steps, GetParam());
  if (GetParam() < 24) {
    EXPECT_FALSE(identical(weights_of(whole.trainer->model()), weights_of(broken.trainer->model())));
  }

  TinyRun resumed(kShort, broken_folder.path());
  resumed.trainer->resume();
  EXPECT_TRUE(identical(weights_of(resumed.trainer->model()), weights_of(broken.trainer->model())));
  const TrainResult second = resumed.trainer->run();
  EXPECT_EQ(second.steps, 24);
  EXPECT_TRUE(identical(weights_of(whole.trainer->model()), weights_of(resumed.trainer->model())));
  EXPECT_EQ(whole.trainer->validate(), resumed.trainer->validate());
  const auto records_in = [](const fs::path& path) {
    std::vector<nlohmann::json> records;
    std::istringstream lines(read_file(path / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      records.push_back(nlohmann::json::parse(line));
      for (const char* clock : {"seconds", "examples_per_second"}) records.back().erase(clock);
    }
    return records;
  };
  EXPECT_EQ(records_in(whole_folder.path()), records_in(broken_folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Trainer, StoppedAfter, ::testing::Values(11, 8, 24));

// LibTorch's default generator is the process's: whatever a run draws (weights, noise, dropout, corrupted
// boards), whoever draws next outside of it gets the number he would have got.
TEST(Trainer, TheDefaultGeneratorIsLeftAlone) {
  torch::manual_seed(5);
  const torch::Tensor next = torch::rand({3});
  torch::manual_seed(5);
  const test::TemporaryFolder folder;
  TinyRun run(with(kShort, {"model.reasoner.state_noise=1", "model.reasoner.path_noise=0.1",
                            "train.segments=2", "train.corrupted_share=0.5", "train.corruption=0.5"}),
              folder.path());
  run.trainer->run_steps(3);
  EXPECT_TRUE(torch::rand({3}).equal(next));
}

// Validation is part of the budget: it is sized to what fits, every one looks at as many, and says so.
TEST(Trainer, ATimeBudgetHasRoomForItsValidations) {
  test::TemporaryFolder folder;
  std::vector<std::int64_t> sizes;
  std::int64_t shown = 0;
  TrainHooks hooks;
  hooks.on_validation = [&](std::int64_t, std::int64_t) { ++shown; };
  hooks.on_record = [&](const nlohmann::json& line) {
    sizes.push_back(line["validation"]["given"]["examples"].get<std::int64_t>());
  };
  TinyRun run(with(kShort, {"train.time_budget=1e-3", "data.validation=4000"}), folder.path(), hooks);
  const TrainResult result = run.trainer->run();
  EXPECT_EQ(result.ended, Ended::kTimeBudget);
  ASSERT_FALSE(sizes.empty());
  for (const std::int64_t size : sizes) EXPECT_EQ(size, kLeastValidation);  // no machine is faster
  EXPECT_GT(shown, 0);
  EXPECT_TRUE(fs::exists(result.model));
}

TEST(Trainer, SaysWhyItEnded) {
  test::TemporaryFolder one, two;
  EXPECT_EQ(TinyRun(with(kShort, {"train.epochs=1"}), one.path()).trainer->run().ended, Ended::kEpochs);
  EXPECT_EQ(TinyRun(with(kShort, {"train.stop_at=0"}), two.path()).trainer->run().ended, Ended::kStopAt);
}

TEST(Trainer, CapturedStepsAreTheStepsThemselves) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  test::TemporaryFolder folder;
  const auto after = [&](const char* graph) {
    TinyRun run(with(kShort, {"train.precision=float32", graph}), folder.path(), {}, {}, torch::kCUDA);
    run.trainer->run_steps(12);  // the first three run as they are
    return weights_of(run.trainer->model());
  };
  const auto captured = after("train.graph=true"), plain = after("train.graph=false");
  for (const auto& [name, tensor] : captured)
    EXPECT_TRUE(tensor.allclose(plain.at(name), 1e-3, 1e-4)) << name;
}

TEST(Trainer, ResumeRefusesWhatDoesNotFit) {
  test::TemporaryFolder folder;
  TinyRun(kShort, folder.path()).trainer->run();
  TinyRun other(with(kShort, {"model.reasoner.width=24"}), folder.path());
  EXPECT_THROW(other.trainer->resume(), InputError);
  write_file(folder.path() / "state.safetensors", "not a state");
  TinyRun same(kShort, folder.path());
  EXPECT_THROW(same.trainer->resume(), InputError);
}

// A short run whose clues are pictures, in `folder`.
std::vector<std::string> with_pictures(const test::TemporaryFolder& folder,
                                       const std::vector<std::string>& more) {
  const auto pictures = with(
      kShort, {"images.positions=[\"cell(*\"]", "images.source=\"" + folder.path().string() + "\"",
               "model.perception.preset=paper", "model.perception.width=0.125", "model.perception.d_model=16",
               "losses.perception.weight=1", "train.perceived_share=0.5"});
  return with(pictures, more);
}

TEST(Trainer, AReasonerStartsWithAPerceptionFromElsewhere) {
  test::TemporaryFolder first, second, pictures;
  testing::write_bars(pictures.path());
  TinyRun one(with_pictures(pictures, {"train.epochs=1"}), first.path());
  one.trainer->run();
  TinyRun wider(with_pictures(pictures, {"train.epochs=1", "seed=1", "model.perception.width=0.25"}),
                second.path());
  wider.trainer->run();
  const auto file = [](const test::TemporaryFolder& folder) {
    return "\"" + (folder.path() / "model.safetensors").string() + "\"";
  };
  TinyRun joined(with_pictures(pictures, {"seed=2", "model.perception.width=0.25",
                                          "start_from=" + file(first), "perception_from=" + file(second)}),
                 second.path());
  const auto reasoner = formats::read_safetensors(first.path() / "model.safetensors");
  const auto perception = formats::read_safetensors(second.path() / "model.safetensors");
  for (const auto& [name, tensor] : weights_of(joined.trainer->model())) {
    const auto* source = (name.rfind("perception.", 0) == 0 ? perception : reasoner).find(name);
    ASSERT_NE(source, nullptr) << name;
    EXPECT_TRUE(nn::unpack(*source).equal(tensor)) << name;
  }
}

TEST(Trainer, ALossThatIsNoNumberNamesWhatMayBeAtFault) {
  test::TemporaryFolder folder;
  TinyRun run(kShort, folder.path());
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : run.trainer->model().parameters()) parameter.fill_(NAN);
  }
  try {
    run.trainer->run();
    ADD_FAILURE() << "trained";
  } catch (const NumericError& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("the loss is not a number after step 1"),
                                 ::testing::HasSubstr("lower train.rate"),
                                 ::testing::HasSubstr("what is observed contradicts the program")));
  }
}

TEST(Trainer, TheBackboneStandsStillWhileFrozen) {
  test::TemporaryFolder folder, pictures;
  testing::write_bars(pictures.path());
  const auto overrides = with_pictures(pictures, {"train.freeze_epochs=2"});
  const auto after = [&](int epochs) {
    TinyRun run(with(overrides, {"train.epochs=" + std::to_string(epochs)}), folder.path());
    const auto before = weights_of(run.trainer->model());
    run.trainer->run();
    const auto now = weights_of(run.trainer->model());
    std::map<std::string, bool> moved;
    for (const auto& [name, tensor] : now) {
      const std::string part =
          name.rfind("perception.head", 0) == 0 ? "head" : name.substr(0, name.find('.'));
      moved[part] = moved[part] || !tensor.equal(before.at(name));
    }
    return moved;
  };
  EXPECT_EQ(after(2),
            (std::map<std::string, bool>{{"perception", false}, {"head", true}, {"reasoner", true}}));
  EXPECT_EQ(after(3),
            (std::map<std::string, bool>{{"perception", true}, {"head", true}, {"reasoner", true}}));
}

}  // namespace
}  // namespace as2::train
