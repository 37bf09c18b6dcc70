// Whole runs over several processes, against the same run in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "files.h"
#include "support/bars.h"
#include "train/ranks.h"
#include "train/tiny_run.h"

namespace as2::train {
namespace {

using nlohmann::json;

struct Plan {
  int world = 1;
  bool resume = false;
  std::int64_t stop_at = 0;  // the last rank asks to stop after this step; 0: never
};

// Exit code of one rank: 0 done, 4 stopped.
int train_rank(const Launch& launch, const Plan& plan, const std::vector<std::string>& overrides,
               const fs::path& folder) {
  torch::set_num_threads(1);
  std::atomic<bool> stop{false};
  TrainHooks hooks;
  if (launch.rank == plan.world - 1) {
    hooks.stop = &stop;
    hooks.on_progress = [&](const Progress& p) { stop = plan.stop_at > 0 && p.step >= plan.stop_at; };
  }
  TinyRun run(overrides, folder, hooks, launch);
  if (plan.resume) run.trainer->resume();
  return run.trainer->run().interrupted() ? 4 : 0;
}

std::vector<int> train(const Plan& plan, const std::vector<std::string>& overrides, const fs::path& folder) {
  return run_ranks(plan.world,
                   [&](const Launch& launch) { return train_rank(launch, plan, overrides, folder); });
}

// The lines of validations.
std::vector<json> records(const fs::path& folder) {
  std::istringstream lines(read_file(folder / "metrics.jsonl"));
  std::vector<json> records;
  for (std::string line; std::getline(lines, line);) {
    if (json record = json::parse(line); record.contains("validation")) records.push_back(std::move(record));
  }
  return records;
}

// The losses agree up to the order of float32 sums.
void expect_same_losses(const fs::path& folder, const fs::path& reference) {
  const std::vector<json> ours = records(folder), theirs = records(reference);
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_GE(ours.size(), 3U);
  const auto expect_near = [](const json& a, const json& b, const std::string& what) {
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-8 + 1e-5 * std::abs(b.get<double>())) << what;
  };
  for (std::size_t n = 0; n < ours.size(); ++n) {
    EXPECT_EQ(ours[n]["step"], theirs[n]["step"]);
    EXPECT_EQ(ours[n]["learning_rate"], theirs[n]["learning_rate"]);
    expect_near(ours[n]["loss"], theirs[n]["loss"], "loss");
    for (const auto& [name, value] : theirs[n]["terms"].items())
      expect_near(ours[n]["terms"][name], value, name);
  }
}

// Boards differ in the number of clues, and 13 of 32 rows are read from pictures: neither labels nor pictures
// are spread evenly over the ranks. The backbone of perception is released after the first epoch.
std::vector<std::string> uneven(const fs::path& pictures) {
  return with(kShort, {"images.positions=[\"cell(*\"]", "images.source=\"" + pictures.string() + "\"",
                       "images.augment=true", "model.perception.preset=paper", "model.perception.width=0.125",
                       "model.perception.d_model=16", "losses.perception.weight=1",
                       "losses.evidence.weight=1", "losses.constraint.weight=1", "train.freeze_epochs=1",
                       "train.perceived_share=0.4", "train.evidence_gradient=true", "train.rate=1e-3"});
}

TEST(Workers, LossesAreThoseOfOneProcessOnTheJoinedBatch) {
  test::TemporaryFolder pictures, one;
  testing::write_bars(pictures.path());
  ASSERT_EQ(train({}, uneven(pictures.path()), one.path()), std::vector<int>{0});
  EXPECT_EQ(records(one.path())[0]["terms"].size(), 4U);
  for (const int world : {2, 4}) {
    test::TemporaryFolder several;
    ASSERT_EQ(train({world}, uneven(pictures.path()), several.path()), std::vector<int>(world, 0));
    expect_same_losses(several.path(), one.path());
  }
}

// Pictures for fewer rows than there are ranks: some ranks have none, and perception is frozen.
TEST(Workers, ARankMayHaveNoPictures) {
  test::TemporaryFolder pictures, one, four;
  testing::write_bars(pictures.path());
  const auto overrides =
      with(uneven(pictures.path()), {"train.freeze_epochs=-1", "train.perceived_share=0.0625"});
  ASSERT_EQ(train({}, overrides, one.path()), std::vector<int>{0});
  ASSERT_EQ(train({4}, overrides, four.path()), std::vector<int>(4, 0));
  expect_same_losses(four.path(), one.path());
}

TEST(Workers, ResumeWithAnotherNumberOfWorkers) {
  test::TemporaryFolder whole;
  ASSERT_EQ(train({}, kShort, whole.path()), std::vector<int>{0});
  for (const auto& [first, second] : {std::pair{2, 1}, std::pair{1, 2}}) {
    test::TemporaryFolder broken;
    Plan plan{first};
    plan.stop_at = 10;
    EXPECT_EQ(train(plan, kShort, broken.path()), std::vector<int>(first, 4));
    EXPECT_EQ(records(broken.path()).size(), 1U);
    plan = {second, true};
    EXPECT_EQ(train(plan, kShort, broken.path()), std::vector<int>(second, 0));
    expect_same_losses(broken.path(), whole.path());
  }
}

TEST(Workers, AKilledRankEndsTheOthersWithAMessage) {
  test::TemporaryFolder folder;
  const auto codes = run_ranks(3, [&](const Launch& launch) {
    torch::set_num_threads(1);
    TrainHooks hooks;
    hooks.on_progress = [&](const Progress& p) {
      if (launch.rank == 1 && p.step == 5) raise(SIGKILL);
    };
    try {
      TinyRun(with(kShort, {"train.epochs=1000", "train.batch=33"}), folder.path(), hooks, launch)
          .trainer->run();
    } catch (const LostWorker& error) {
      EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("lost its connection"),
                                                 ::testing::HasSubstr("--resume")));
      return ::testing::Test::HasFailure() ? 1 : 7;
    }
    return 2;
  });
  EXPECT_EQ(codes, (std::vector<int>{7, 128 + SIGKILL, 7}));
}

// The clock and the validation are rank 0's: all ranks end after the same step.
TEST(Workers, AgreeOnTheEnd) {
  for (const char* end : {"train.time_budget=0.5", "train.stop_at=0"}) {
    test::TemporaryFolder folder;
    const auto codes = run_ranks(2, [&](const Launch& launch) {
      torch::set_num_threads(1);
      if (launch.rank == 1) sleep(1);  // starts its clock late
      TinyRun run(with(kShort, {"train.epochs=1000", end}), folder.path(), {}, launch);
      const TrainResult result = run.trainer->run();
      write_file(folder.path() / std::to_string(launch.rank), std::to_string(result.steps));
      return 0;
    });
    EXPECT_EQ(codes, (std::vector<int>{0, 0}));
    EXPECT_EQ(read_file(folder.path() / "0"), read_file(folder.path() / "1"));
    EXPECT_LT(std::stoi(read_file(folder.path() / "0")), 8000);
  }
}

TEST(Workers, RefuseOtherSettingsThanRankZeros) {
  test::TemporaryFolder folder;
  const auto codes = run_ranks(2, [&](const Launch& launch) {
    const std::string expected = launch.rank == 0 ? "lost its connection" : "other settings than rank 0";
    try {
      TinyRun(with(kShort, {"seed=" + std::to_string(launch.rank)}), folder.path(), {}, launch)
          .trainer->run();
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).find(expected) != std::string::npos ? 7 : 1;
    }
    return 2;
  });
  EXPECT_EQ(codes, (std::vector<int>{7, 7}));
}

}  // namespace
}  // namespace as2::train
