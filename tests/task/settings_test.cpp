#include "task/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "as2/resources.h"
#include "infer/pictures.h"
#include "support/temporary_folder.h"
#include "task/config.h"

namespace as2::task {
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

TEST(Settings, LettersBeyondAsciiStandWhereTomlHasThem) {
  Settings settings;
  settings.add_text(
      "\xEF\xBB\xBF"
      R"(name = """
über \
  uns"""  # ähnlich
note = 'é'
"ö" = '''
ñ'''
spelt = "\u00e9\U0001F600"
quoted = """é""""
list = ["日本", '😀']
count = 3
)",
      "t.toml");
  EXPECT_EQ(settings.text("name", ""), "über uns");
  EXPECT_EQ(settings.text("note", ""), "é");
  EXPECT_EQ(settings.text("ö", ""), "ñ");
  EXPECT_EQ(settings.text("spelt", ""), "é😀");
  EXPECT_EQ(settings.text("quoted", ""), "é\"");
  EXPECT_EQ(settings.texts("list", {}), (std::vector<std::string>{"日本", "😀"}));
  EXPECT_EQ(settings.integer("count", 0, 0, 9), 3);
  Settings typed;
  typed.add_override("name=größe");
  typed.add_override("list=['é']");
  EXPECT_EQ(typed.text("name", ""), "größe");
  EXPECT_EQ(typed.texts("list", {}), std::vector<std::string>{"é"});
}

TEST(Settings, LettersBeyondAsciiAreNamedWhereTheyCannotStand) {
  const auto refused = [](const std::string& text) {
    return refusal(text, [](Settings& s) { s.refuse_unused(); });
  };
  EXPECT_THAT(refused("a = \"\"\"\n\n\"\"\" # é\né = 1\n"), HasSubstr("no setting is called 'a'"));
  EXPECT_THAT(refused("\n[größe]\né.ü = 1\n"),
              HasSubstr("task.toml:3:7-8: error: no setting is called 'größe.é.ü'"));
  EXPECT_THAT(refused("a = é\n"), HasSubstr("task.toml:1:5"));
  EXPECT_THAT(refused("é = 'ü' x\n"), HasSubstr("task.toml:1:9"));
  EXPECT_THAT(refused("a = 0xé\n"), HasSubstr("task.toml:1:"));
  EXPECT_THAT(refused("a = \"\\é\"\n"), HasSubstr("task.toml:1:"));
  EXPECT_THAT(refused("é = 1\né = 2\n"), HasSubstr("'é'"));
  EXPECT_THAT(refused("a = 1\n# \xFF\n"), HasSubstr("task.toml:2: error: this line is not UTF-8"));
  EXPECT_THAT(refused("a = 1\n[.\n"), HasSubstr("task.toml"));
  EXPECT_THROW(Settings().add_override("a=1\n[b]"), UsageError);
  EXPECT_THROW(Settings().add_override("a=\xFF"), UsageError);
}

// Which of the two would count, nobody could tell.
TEST(Settings, NoKeyIsGivenTwice) {
  Settings settings;
  settings.add_text("[train]\nrate = 0.5\n", "task.toml");
  settings.add_override("train.rate=0.25");
  try {
    settings.add_override("train.rate=0.125");
    ADD_FAILURE() << "two values are accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'train.rate' is set twice, to 0.25 and to 0.125"));
  }
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
  using infer::matches;
  EXPECT_TRUE(matches("*", "cell(1,1,_)"));
  EXPECT_TRUE(matches("digit(*,_)", "digit(2,_)"));
  EXPECT_TRUE(matches("*,_)", "digit(2,_)"));
  EXPECT_FALSE(matches("digit(*,_)", "total(_)"));
  EXPECT_FALSE(matches("digit", "digit(2,_)"));
  EXPECT_TRUE(matches("total(_)", "total(_)"));
}

// What the source of the examples has no use for, and what is for training, is refused by name.
TEST(TaskConfig, SettingsWithoutEffectAreRefused) {
  const auto read = [](const std::string& setting, Purpose purpose) -> std::string {
    try {
      Settings settings = layered_settings("addition", "best", {setting});
      read_task(settings, purpose);
      settings.refuse_unused(/*overrides=*/true);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(read("data.validation=10", Purpose::kEvaluation), "accepted");
  EXPECT_EQ(read("data.train=10", Purpose::kTraining), "accepted");
  EXPECT_THAT(read("data.train=10", Purpose::kEvaluation),
              HasSubstr("--set data.train=10: error: 'data.train' has no effect here: it is for training"));
  EXPECT_THAT(read("images.augment=true", Purpose::kEvaluation), HasSubstr("'images.augment' has no effect"));
  EXPECT_THAT(read("data.box=2", Purpose::kTraining),
              HasSubstr("'data.box' has no effect here: data.source is \"tuples\""));
  EXPECT_THAT(read("data.bxo=2", Purpose::kTraining), HasSubstr("no setting is called 'data.bxo'"));
  // Both places that a relative path may mean are named.
  for (const char* key : {"images.source", "data.path", "program.file", "program.compiled"}) {
    for (const Purpose purpose : {Purpose::kTraining, Purpose::kEvaluation}) {
      const std::string nowhere = read(std::string(key) + "=nowhere", purpose);
      EXPECT_THAT(nowhere, HasSubstr(std::string(key) + " is 'nowhere', and there is no such ")) << key;
      EXPECT_THAT(nowhere, HasSubstr((std::filesystem::current_path() / "nowhere").string()));
      EXPECT_THAT(nowhere, HasSubstr((data_dir() / "nowhere").string()));
    }
  }
}

// The side of a square box is a number, another box a text, in a file as on the command line; both are
// written back so.
TEST(TaskConfig, BoxesAreASideOrRowsAndColumns) {
  const auto read = [](const std::string& setting) {
    Settings settings = layered_settings("sudoku", "", {setting});
    const DataConfig data = read_task(settings, Purpose::kTraining).data;
    return std::pair(data.box, settings.resolved());
  };
  const auto expect = [&](const std::string& setting, const sudoku::Box& expected,
                          const std::string& written) {
    const auto [box, resolved] = read(setting);
    EXPECT_TRUE(box == expected) << setting;
    EXPECT_THAT(resolved, HasSubstr("\nbox = " + written + "\n"));
  };
  expect("data.train=10", 3, "3");
  expect("data.box=4", 4, "4");
  expect("data.box=\"2\"", 2, "2");
  expect("data.box=3x4", {3, 4}, "\"3x4\"");
  expect("data.box=\"2x3\"", {2, 3}, "\"2x3\"");
  const test::TemporaryFolder folder;
  folder.put("mine/best.toml", "");
  for (const char* wrong : {"5", "0", "-3", "3.0", "true", "\"4x3\"", "[3, 4]", "\"\""}) {
    const std::string file =
        folder.put("mine.toml", std::string("[data]\nsource = \"boards\"\nbox = ") + wrong);
    try {
      Settings settings = layered_settings(file, "", {});
      read_task(settings, Purpose::kTraining);
      FAIL() << wrong;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("mine.toml:3:7")) << wrong;
      EXPECT_THAT(error.what(), HasSubstr("error: 'data.box' is ")) << wrong;
      EXPECT_THAT(error.what(), HasSubstr("one of 2, 3, 4, 2x3, 2x4, 2x5, 3x4, 3x5")) << wrong;
    }
  }
}

// The file that says a path is named with its line, not the installation alone. Where a model is only
// measured, the list it was trained with may be gone.
TEST(TaskConfig, AMistypedPathIsNamedWhereItIsWritten) {
  const test::TemporaryFolder folder;
  folder.put("mine/best.toml", "");
  folder.put("mine.lp", "{ a(1..2) } = 1.\n");
  const auto read = [&](const std::string& program, const std::string& data, Purpose purpose) -> std::string {
    const std::string file =
        folder.put("mine.toml", "[program]\nfile = \"" + program +
                                    "\"\n[data]\nsource = \"instances\"\npath = \"" + data + "\"\n");
    try {
      Settings settings = layered_settings(file, "", {});
      read_task(settings, purpose);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(
      read("nine.lp", "", Purpose::kTraining),
      testing::AllOf(HasSubstr("mine.toml:2"), HasSubstr("program.file is 'nine.lp'"),
                     HasSubstr(folder / "nine.lp and "), HasSubstr((data_dir() / "nine.lp").string())));
  EXPECT_THAT(read("mine.lp", "lines.jsonl", Purpose::kTraining),
              testing::AllOf(HasSubstr("mine.toml:5"), HasSubstr("data.path is 'lines.jsonl'"),
                             HasSubstr(folder / "lines.jsonl and ")));
  EXPECT_EQ(read("mine.lp", "lines.jsonl", Purpose::kEvaluation), "accepted");
  folder.put("lines.jsonl", "{}\n");
  EXPECT_EQ(read("mine.lp", "lines.jsonl", Purpose::kTraining), "accepted");
}

}  // namespace
}  // namespace as2::task
