#include "train/config.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace as2::train {
namespace {

TEST(Config, EveryShippedPresetIsRead) {
  int presets = 0;
  for (const char* task : {"sudoku", "addition", "digits"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(AS2_SOURCE_DIR "/tasks/") + task)) {
      if (entry.path().extension() != ".toml") continue;
      Settings settings = layered_settings(task, entry.path().stem().string(), {});
      const Config config = read_config(settings);
      read_model(settings, 10);
      EXPECT_NO_THROW(settings.refuse_unused()) << entry.path();
      EXPECT_TRUE(std::filesystem::exists(config.program.file)) << config.program.file;
      EXPECT_TRUE(std::filesystem::exists(config.program.compiled)) << config.program.compiled;
      ++presets;
    }
  }
  EXPECT_GE(presets, 15);
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
