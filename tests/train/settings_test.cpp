#include "train/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "train/config.h"

namespace as2::train {
namespace {

using ::testing::HasSubstr;

TEST(Settings, LaterLayersReplaceEarlierOnes) {
  Settings settings;
  settings.add_text("[train]\nrate = 0.5\nbatch = 8\n", "task.toml");
  settings.add_text("[train]\nrate = 0.25\n", "preset.toml");
  settings.add_override("train.batch=64");
  settings.add_override("data.source=boards");
  EXPECT_DOUBLE_EQ(settings.number("train.rate", 0, 0, 1), 0.25);
  EXPECT_EQ(settings.integer("train.batch", 0, 1, 100), 64);
  EXPECT_EQ(settings.text("data.source", ""), "boards");
  EXPECT_TRUE(settings.boolean("train.graph", true));
}

TEST(Settings, ResolvedHoldsDefaultsToo) {
  Settings settings;
  settings.add_text("[losses.latent]\nweight = 0.3\n", "t.toml");
  settings.number("losses.latent.weight", 0, 0, 1);
  settings.texts("images.positions", {"cell(*)"});
  settings.integer("train.epochs", 7, 1, 10);
  Settings again;
  again.add_text(settings.resolved(), "resolved.toml");
  EXPECT_DOUBLE_EQ(again.number("losses.latent.weight", 0, 0, 1), 0.3);
  EXPECT_EQ(again.texts("images.positions", {}), std::vector<std::string>{"cell(*)"});
  EXPECT_EQ(again.integer("train.epochs", 0, 1, 10), 7);
}

// The message of what `read` throws.
template <typename Read>
std::string refusal(const std::string& text, Read read) {
  try {
    Settings settings;
    settings.add_text(text, "task.toml");
    read(settings);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Settings, ErrorsSayWhereAndWhat) {
  const auto epochs = [](Settings& s) { s.integer("train.epochs", 1, 1, 10); };
  EXPECT_THAT(refusal("[train]\n\nepochs = \"many\"\n", epochs), HasSubstr("task.toml:3:"));
  EXPECT_THAT(refusal("[train]\nepochs = 11\n", epochs),
              HasSubstr("is 11, expected a whole number from 1 to 10"));
  EXPECT_THAT(refusal("[train\nepochs = 1\n", epochs), HasSubstr("task.toml:1:"));
  EXPECT_THAT(refusal("a = 1\na = 2\n", epochs), HasSubstr("task.toml:2:"));
  EXPECT_THAT(refusal("[train]\nepoch = 3\n",
                      [&](Settings& s) {
                        epochs(s);
                        s.refuse_unused();
                      }),
              testing::AllOf(HasSubstr("task.toml:2:"), HasSubstr("did you mean 'train.epochs'")));
  EXPECT_THAT(refusal("w = \"x\"",
                      [](Settings& s) {
                        s.choice("w", "a", {"a", "b"});
                      }),
              HasSubstr("one of a, b"));
  EXPECT_THROW(Settings().add_override("train.rate"), UsageError);
}

TEST(Config, EveryShippedPresetIsRead) {
  int presets = 0;
  for (const char* task : {"sudoku", "addition", "digits"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(AS2_SOURCE_DIR "/tasks/") + task)) {
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

TEST(Config, ThePaperPresetIsThePapers) {
  Settings settings = layered_settings("sudoku", "paper", {"train.rate=0.125"});
  const Config config = read_config(settings);
  EXPECT_EQ(config.preset, "paper");
  EXPECT_DOUBLE_EQ(config.train.rate, 0.125);
  EXPECT_DOUBLE_EQ(config.losses.latent.weight, 0.3);
  EXPECT_DOUBLE_EQ(config.losses.latent.decay_epochs, 100);
  EXPECT_DOUBLE_EQ(config.losses.constraint.weight, 5);
  EXPECT_DOUBLE_EQ(config.losses.constraint.ramp_epochs, 20);
  EXPECT_EQ(config.train.freeze_epochs, 20);
  Settings ablation = layered_settings("sudoku", "no-tp-loss", {});
  const Config without = read_config(ablation);
  EXPECT_DOUBLE_EQ(without.losses.constraint.weight, 0);
  EXPECT_DOUBLE_EQ(without.losses.latent.weight, 0.3);
}

TEST(Config, UnknownNamesListWhatThereIs) {
  try {
    layered_settings("sudoku", "papier", {});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("best"));
  }
  EXPECT_THROW(layered_settings("chess", "", {}), InputError);
}

TEST(Config, PatternsMatchPositionNames) {
  EXPECT_TRUE(matches("*", "cell(1,1,_)"));
  EXPECT_TRUE(matches("digit(*,_)", "digit(2,_)"));
  EXPECT_TRUE(matches("*,_)", "digit(2,_)"));
  EXPECT_FALSE(matches("digit(*,_)", "total(_)"));
  EXPECT_FALSE(matches("digit", "digit(2,_)"));
  EXPECT_TRUE(matches("total(_)", "total(_)"));
}

}  // namespace
}  // namespace as2::train
