#include "train/config.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace as2::train {
namespace {

// Every task with every preset of its own, and addition with those of tasks/peers, which fit any task.
TEST(Config, EveryShippedPresetIsRead) {
  namespace fs = std::filesystem;
  const fs::path tasks = AS2_SOURCE_DIR "/tasks";
  int presets = 0;
  const auto read = [&](const std::string& task, const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".toml" || entry.path().stem() == "weak") continue;  // the others' base
      SCOPED_TRACE(entry.path());
      std::vector<std::string> overrides;
      if (task == "cells" || task == "formula") overrides = {"images.source=mnist"};  // theirs has to be made
      Settings settings = layered_settings(task, entry.path().stem().string(), overrides);
      const Config config = read_config(settings);
      read_model(settings, 10);
      EXPECT_NO_THROW(settings.refuse_unused());
      EXPECT_TRUE(fs::exists(config.program.file)) << config.program.file;
      EXPECT_TRUE(fs::exists(config.program.compiled)) << config.program.compiled;
      ++presets;
    }
  };
  for (const auto& entry : fs::directory_iterator(tasks)) {
    if (entry.path().extension() == ".toml") read(entry.path().stem(), tasks / entry.path().stem());
  }
  read("addition", tasks / "peers");
  EXPECT_GE(presets, 47);
}

TEST(Config, TheCircuitHasTheBudgetOfItsSettings) {
  Settings settings = layered_settings("greater", "", {"losses.circuit.seconds=5", "losses.circuit.mib=7"});
  const Config config = read_config(settings);
  EXPECT_DOUBLE_EQ(config.losses.query.circuit.seconds, 5);
  EXPECT_EQ(config.losses.query.circuit.bytes, std::int64_t{7} << 20);
}

TEST(Config, ThePaperPresetIsThePapers) {
  Settings settings = layered_settings("sudoku", "paper", {"train.rate=0.125"});
  const Config config = read_config(settings);
  EXPECT_EQ(config.preset, "paper");
  EXPECT_DOUBLE_EQ(config.train.rate, 0.125);
  EXPECT_DOUBLE_EQ(config.losses.weight("latent"), 0.3);
  EXPECT_DOUBLE_EQ(config.losses.terms.at("latent").decay_epochs, 100);
  EXPECT_DOUBLE_EQ(config.losses.weight("constraint"), 5);
  EXPECT_DOUBLE_EQ(config.losses.terms.at("constraint").ramp_epochs, 20);
  EXPECT_EQ(config.train.freeze_epochs, 20);
  Settings ablation = layered_settings("sudoku", "no-tp-loss", {});
  const Config without = read_config(ablation);
  EXPECT_DOUBLE_EQ(without.losses.weight("constraint"), 0);
  EXPECT_DOUBLE_EQ(without.losses.weight("latent"), 0.3);
}

}  // namespace
}  // namespace as2::train
