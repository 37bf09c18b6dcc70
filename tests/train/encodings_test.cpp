// However a program is written, training on it is the same; and long numbers train as short ones do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "child_process.h"
#include "support/spots.h"
#include "support/temporary_folder.h"
#include "train/trainer.h"

namespace as2::train {
namespace {

// The loss of every step of a shipped task, on spots and a small network.
std::vector<double> losses_of(const std::string& task, const std::string& preset,
                              const std::vector<std::string>& more) {
  const test::TemporaryFolder folder;
  testing::write_spots(folder / "pictures");
  std::vector<std::string> overrides = {"images.source=" + (folder / "pictures"),
                                        "images.augment=false",
                                        "model.perception.preset=paper",
                                        "model.perception.width=0.125",
                                        "model.perception.d_model=16",
                                        "train.rate=5e-3",
                                        "train.warmup=0",
                                        "train.stop_at=2"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  Settings settings = layered_settings(task, preset, overrides);
  const Config config = read_config(settings);
  const Task prepared(config, TaskOptions{});
  const nn::ModelOptions model = read_model(settings, static_cast<std::int64_t>(prepared.classes().size()));
  settings.refuse_unused();
  std::vector<double> losses;
  TrainHooks hooks;
  hooks.on_progress = [&](const Progress& progress) { losses.push_back(progress.loss); };
  Workers alone;
  Trainer(config, model, prepared, folder / "run", torch::kCPU, alone, hooks).run();
  return losses;
}

TEST(Encodings, TrainAlike) {
  const auto losses = [](const std::string& task, const std::string& preset) {
    return losses_of(task, preset,
                     {"data.train=128", "data.validation=16", "train.batch=16", "train.epochs=1",
                      "train.weight_decay=0.01", "train.ema_decay=0.9"});
  };
  const auto expect_alike = [](const std::vector<double>& expected, const std::vector<double>& found) {
    ASSERT_EQ(expected.size(), 8U);
    ASSERT_EQ(found.size(), 8U);
    for (std::size_t n = 0; n < expected.size(); ++n) EXPECT_NEAR(found[n], expected[n], 1e-6) << n;
    EXPECT_NE(expected.front(), expected.back()) << "or nothing was trained";
  };
  const std::vector<double> greater = losses("greater", "best");
  expect_alike(greater, losses("greater", "sum"));
  expect_alike(greater, losses("greater", "nogoods"));
  expect_alike(losses("addition", "neurasp"), losses("addition", "rule"));
}

// Two numbers of a hundred digits each; every digit of the sum is hardly better than guessed at first.
TEST(LongNumbers, AHundredDigitsTrain) {
  if (std::getenv("AS2_GRINGO") == nullptr && find_program("gringo").empty())
    GTEST_SKIP() << "there is no gringo to ground the program of 100 digits";
  const std::vector<double> losses =
      losses_of("multi_digit_addition", "best",
                {"program.constants=[\"n=100\"]", "program.compiled=", "data.train=32", "data.validation=8",
                 "train.batch=8", "train.epochs=2"});
  ASSERT_EQ(losses.size(), 8U);
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
  EXPECT_NEAR(losses[0], 100 * std::log(10.0), 40);
  const auto mean_from = [&](std::size_t first) {
    return std::accumulate(&losses[first], &losses[first] + 4, 0.0) / 4;
  };
  EXPECT_LT(mean_from(4), mean_from(0));
}

}  // namespace
}  // namespace as2::train
