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

// Palm et al. 2018; Wang et al. 2019; Yang et al. 2023 (L1R32H4).
TEST(Config, OthersReasonersHaveTheSizesTheyPublished) {
  struct Read {
    Config config;
    infer::ModelOptions model;
  };
  const auto read = [](const std::string& preset) {
    Settings settings = layered_settings("sudoku", preset, {});
    const Config config = read_config(settings);
    return Read{config, read_model(settings, 9)};
  };
  const Read rrn = read("rrn");
  EXPECT_EQ(rrn.model.kind, infer::ReasonerKind::kRelational);
  EXPECT_EQ(rrn.model.relational.width, 96);
  EXPECT_EQ(rrn.model.relational.embedding, 16);
  EXPECT_EQ(rrn.model.relational.layers, 3);
  EXPECT_EQ(rrn.model.relational.passes, 32);
  EXPECT_DOUBLE_EQ(rrn.config.train.rate, 2e-4);
  const Read satnet = read("satnet");
  EXPECT_EQ(satnet.model.kind, infer::ReasonerKind::kSatNet);
  EXPECT_EQ(satnet.model.satnet.clauses, 600);
  EXPECT_EQ(satnet.model.satnet.auxiliary, 300);
  EXPECT_EQ(satnet.config.train.batch, 40);
  EXPECT_DOUBLE_EQ(satnet.config.train.rate, 2e-3);
  const Read transformer = read("recurrent-transformer");
  EXPECT_EQ(transformer.model.kind, infer::ReasonerKind::kTransformer);
  EXPECT_EQ(transformer.model.transformer.layers, 1);
  EXPECT_EQ(transformer.model.transformer.heads, 4);
  EXPECT_EQ(transformer.model.transformer.d_model, 128);
  EXPECT_EQ(transformer.model.transformer.passes, 32);
  EXPECT_EQ(transformer.config.train.batch, 16);
  EXPECT_DOUBLE_EQ(transformer.config.train.rate, 6e-4);
}

}  // namespace
}  // namespace as2::train
