// A folder of one's own pictures, a file of lines that name them and observe what a program derives: trained,
// evaluated, and asked about new pictures, as a user does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "files.h"
#include "formats/image.h"
#include "support/run_as2.h"
#include "support/spots.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr int kClasses = 3;

class OwnPictures : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int symbol = 1; symbol <= kClasses; ++symbol) {
      for (int place = 0; place < 5; ++place) draw(symbol, place);
    }
    write_file(path("pair.lp"),
               "{ bars(I,N) : N=1..3 } = 1 :- I=1..2.\n"
               "sum(S) :- bars(1,A), bars(2,B), S = A+B.\n"
               "odd :- sum(S), S \\ 2 = 1.\n");
    write_file(path("own.toml"), R"t(name = "own"
preset = "tiny"
[program]
file = "pair.lp"
[images]
positions = ["bars(*"]
source = "files"
[labels]
positions = []
observed = ["sum(_)"]
[data]
source = "instances"
path = "lists/train.jsonl"
train = 1000
validation = 40
)t");
    fs::create_directories(path("own"));
    write_file(path("own/tiny.toml"), R"t([model.reasoner]
kind = "none"
[model.perception]
preset = "paper"
d_model = 32
channels = [8, 16, 16]
[losses]
query = { weight = 1 }
[train]
epochs = 25
batch = 20
rate = 3e-3
ema_decay = 0.9
stop_at = 0.98
)t");
  }

  // As many bars as its number says, dark on light, larger than perception reads it.
  void draw(int symbol, int place) {
    formats::Image image(56, 56, 255);
    for (int bar = 0; bar < symbol; ++bar)
      formats::fill_rectangle(image, 6 + 2 * place + 14 * bar, 8, 4, 40, 0);
    fs::create_directories(path("pictures"));
    formats::write_png(path("pictures") / picture(symbol, place), image);
  }
  static std::string picture(int symbol, int place) {
    return std::string(1, static_cast<char>('a' + symbol)) + std::to_string(place) + ".png";
  }
  // One line for each pair of symbols at these places: its pictures and what is observed of them.
  template <class Observed>
  std::string lines(const std::vector<int>& places, const Observed& observed, int repeat = 1) const {
    std::string text;
    for (int n = 0; n < repeat; ++n) {
      for (int a = 1; a <= kClasses; ++a) {
        for (int b = 1; b <= kClasses; ++b) {
          const int left = places[static_cast<std::size_t>(n) % places.size()];
          const int right = places[static_cast<std::size_t>(n / 2 + a) % places.size()];
          Json line = {{"images",
                        {{"bars(1,_)", "../pictures/" + picture(a, left)},
                         {"bars(2,_)", "../pictures/" + picture(b, right)}}}};
          observed(line, a, b);
          text += line.dump() + "\n";
        }
      }
    }
    return text;
  }
  // Ten pictures of a class in a folder of its own.
  void fill(const std::string& folder, const std::string& symbol, std::uint8_t ink) const {
    formats::Image image(28, 28, 255);
    formats::fill_rectangle(image, 8, 8, 4 + 3 * std::atoi(symbol.c_str()), 12, ink);
    fs::create_directories(path(folder) / symbol);
    for (int n = 0; n < 10; ++n)
      formats::write_png(path(folder) / symbol / (std::to_string(n) + ".png"), image);
  }
  // Fewer lines than there are, and fewer pictures than positions, of the model in `run`.
  void ask_less() const {
    const auto evaluated = [&](const std::string& more) {
      const Finished finished = run("eval own --model run --json --quiet " + more);
      EXPECT_EQ(finished.exit_code, 0) << finished.err;
      EXPECT_EQ(finished.err, "");
      return Json::parse(finished.out);
    };
    const Json kept = evaluated("--count 7"), listed = evaluated("--list lists/new.jsonl --count 4");
    EXPECT_EQ(kept["boards"], 7);
    EXPECT_EQ(kept["pictures"], "validation") << "lines that picked the checkpoint are no test";
    EXPECT_EQ(listed["boards"], 4);
    EXPECT_EQ(listed["pictures"], "listed");
    EXPECT_EQ(evaluated("")["boards"], 40);
    const Finished clues = run("eval own --model run --clues 3");
    EXPECT_EQ(clues.exit_code, 2);
    EXPECT_THAT(clues.err, HasSubstr("--clues does not apply: examples of the task 'own' are instances"));

    const std::string one = "predict --model run --image 'bars(1,_)=pictures/" + picture(1, 2) + "'";
    EXPECT_EQ(Json::parse(run(one + " --json").out)["unseen"], Json::array({"bars(2,_)"}));
    EXPECT_THAT(run(one).out, HasSubstr("1 of 2 positions have no picture: what the answer holds there"));
    const Finished both = run(one + " --image 'bars(2,_)=pictures/" + picture(1, 2) + "'");
    EXPECT_THAT(both.out, Not(HasSubstr("no picture")));
    EXPECT_EQ(both.err, "");
  }

  // The model in `run` with its program edited, moved beside a copy of the weights, and gone.
  void ask_elsewhere() const {
    const std::string program = read_file(path("pair.lp"));
    const std::string picture = " --image 'bars(1,_)=pictures/b2.png' --image 'bars(2,_)=pictures/b2.png'";
    write_file(path("pair.lp"), program + ":- bars(1,3), bars(2,3).\n");
    const std::string changed = "pair.lp is not the program that run/model.safetensors was trained with";
    EXPECT_THAT(run("predict --model run" + picture).err, HasSubstr(changed));
    EXPECT_THAT(run("eval own --model run --count 4 --quiet").err, HasSubstr(changed));
    fs::remove(path("pair.lp"));
    fs::create_directories(path("moved"));
    for (const char* file : {"model.safetensors", "model.json", "model.toml"})
      fs::copy_file(path("run") / file, path("moved") / file);
    for (const std::string& verb :
         {"predict --model moved" + picture, std::string("eval own --model moved")}) {
      const Finished missing = run(verb);
      EXPECT_EQ(missing.exit_code, 1);
      EXPECT_THAT(missing.err, ::testing::AllOf(HasSubstr("pair.lp: error: the program that the model was"),
                                                HasSubstr("moved/pair.lp")));
      write_file(path("moved/pair.lp"), program);
      const Finished found = run(verb + (verb[0] == 'e' ? " --count 4 --quiet" : ""));
      EXPECT_EQ(found.exit_code, 0) << found.err;
      EXPECT_EQ(found.err, "");
      fs::remove(path("moved/pair.lp"));
    }
    write_file(path("pair.lp"), program);
  }

  fs::path path(const std::string& name) const { return folder_ / name; }
  Finished run(const std::string& arguments) const { return testing::run_as2(folder_.str(), arguments); }

  test::TemporaryFolder folder_;
};

TEST_F(OwnPictures, TrainedFromSumsAloneEvaluatedAndAsked) {
  fs::create_directories(path("lists"));
  const auto sum = [](Json& line, int a, int b) { line["observed"] = {{"sum(_)", std::to_string(a + b)}}; };
  // Place 2 is kept for later. Every fourth pair says what is not the case as well, as a list.
  write_file(path("lists/train.jsonl"),
             lines({0, 1, 3, 4}, sum, 24) +
                 lines(
                     {0, 1, 3, 4},
                     [](Json& line, int a, int b) {
                       line["observed"] = {"sum(" + std::to_string(a + b) + ")",
                                           "not sum(" + std::to_string(a + b + 1 > 6 ? 2 : a + b + 1) + ")"};
                     },
                     8));
  const Finished trained = run("train own.toml --out run --json --quiet");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Json result = Json::parse(trained.out)["runs"][0];
  EXPECT_EQ(result["shortcuts"], 1) << "sums determine the numbers";
  EXPECT_GT(result["score"].get<double>(), 0.9) << "the likelihood of what is observed";

  const Finished evaluated = run("eval own.toml --model run/model.safetensors --json --quiet");
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_GT(Json::parse(evaluated.out)["observed_accuracy"].get<double>(), 0.9);

  // New pictures, with labels to compare with.
  write_file(path("lists/new.jsonl"), lines({2}, sum));
  const Finished asked = run("predict --model run --instances lists/new.jsonl --query odd --json");
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  std::istringstream documents(asked.out);
  int right = 0, n = 0;
  for (std::string text; std::getline(documents, text); ++n) {
    const Json line = Json::parse(text);
    const int a = n / kClasses + 1, b = n % kClasses + 1;
    right += line["assignment"]["bars(1,_)"] == std::to_string(a) &&
             line["assignment"]["bars(2,_)"] == std::to_string(b);
    const std::string observed = "sum(" + std::to_string(a + b) + ")";
    ASSERT_TRUE(line["observed"].contains(observed)) << line;
    ASSERT_TRUE(line["observed"].contains("odd"));
    double even = 0;
    for (int x = 1; x <= kClasses; ++x) {
      for (int y = 1; y <= kClasses; ++y) {
        if ((x + y) % 2 == 0)
          even += line["beliefs"]["bars(1,_)"][std::to_string(x)].get<double>() *
                  line["beliefs"]["bars(2,_)"][std::to_string(y)].get<double>();
      }
    }
    EXPECT_NEAR(line["observed"]["odd"].get<double>(), 1 - even, 1e-9);
  }
  EXPECT_EQ(n, 9);
  EXPECT_GE(right, 8) << asked.out;
  ask_less();
  ask_elsewhere();
}

// One number of each pair is known and has no picture. The label of the other one is there for `eval` alone.
TEST_F(OwnPictures, AKnownValueNeedsNoPicture) {
  fs::create_directories(path("lists"));
  std::string text;
  for (int n = 0; n < 32 * kClasses * kClasses; ++n) {
    const int a = 1 + n % kClasses, b = 1 + n / kClasses % kClasses;
    const std::string seen = n % 2 == 0 ? "bars(1,_)" : "bars(2,_)";
    text += Json{{"images", {{seen, "../pictures/" + picture(n % 2 == 0 ? a : b, n % 5)}}},
                 {"labels", {{"bars(1,_)", a}, {"bars(2,_)", b}}},
                 {"evidence", {"bars(1,_)", "bars(2,_)"}},
                 {"observed", {{"sum(_)", a + b}}}}
                .dump() +
            "\n";
  }
  write_file(path("lists/train.jsonl"), text);
  const Finished trained = run("train own.toml --out run --json --quiet");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_GT(Json::parse(trained.out)["runs"][0]["score"].get<double>(), 0.9);

  // The first 18 lines as they are, and the same with the label of every picture exchanged: what is given is
  // no clue that is read.
  const auto evaluated = [&](int shift) {
    std::istringstream all(text);
    std::string listed, line;
    for (int n = 0; n < 18 && std::getline(all, line); ++n) {
      Json changed = Json::parse(line);
      changed.erase("observed");
      const std::string seen = n % 2 == 0 ? "bars(1,_)" : "bars(2,_)";
      changed["labels"][seen] = 1 + (changed["labels"][seen].get<int>() - 1 + shift) % kClasses;
      listed += changed.dump() + "\n";
    }
    write_file(path("lists/listed.jsonl"), listed);
    const Finished finished = run("eval own --model run --list lists/listed.jsonl --json --quiet");
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return Json::parse(finished.out);
  };
  EXPECT_GT(evaluated(0)["clue_accuracy"].get<double>(), 0.9);
  EXPECT_LT(evaluated(1)["clue_accuracy"].get<double>(), 0.1);

  const Finished asked = run("predict --model run --instances lists/listed.jsonl --json");
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  std::istringstream documents(asked.out);
  int n = 0;
  for (std::string line; std::getline(documents, line); ++n) {
    const std::string given = n % 2 == 0 ? "bars(2,_)" : "bars(1,_)";
    const int value = n % 2 == 0 ? 1 + n / kClasses % kClasses : 1 + n % kClasses;
    EXPECT_EQ(Json::parse(line)["beliefs"][given][std::to_string(value)], 1.0) << line;
  }
  EXPECT_EQ(n, 18);
}

TEST_F(OwnPictures, WhatCannotBeToldApartIsSaidBeforehand) {
  fs::create_directories(path("lists"));
  write_file(path("lists/train.jsonl"), lines(
                                            {0, 1},
                                            [](Json& line, int a, int b) {
                                              line["observed"] = {{"odd", (a + b) % 2 == 1}};
                                            },
                                            12));
  const std::string parity = " --set 'labels.observed=[\"odd\"]'";
  const Finished checked = run("check own.toml --shortcuts --json" + parity);
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const Json found = Json::parse(checked.out);
  EXPECT_EQ(found["shortcuts"], 2) << "1 and 3 are alike, 2 is told from both";
  EXPECT_EQ(found["some"], Json::array({"1→3, 3→1"}));
  EXPECT_EQ(found["exact"], true);
  EXPECT_EQ(found["examples"], 9);
  const Finished unnamed = run("check own.toml --shortcuts");
  EXPECT_EQ(unnamed.exit_code, 1);
  EXPECT_THAT(unnamed.err, HasSubstr("train.jsonl:1: error: 'not odd' is observed, but labels.observed"));
  const Finished trained = run("train own.toml --out run --device cpu --epochs 1 --json --quiet" + parity);
  EXPECT_THAT(trained.err, HasSubstr("warning: what is observed does not determine the classes: 2 ways"));
  EXPECT_EQ(Json::parse(trained.out)["runs"][0]["shortcuts"], 2);

  EXPECT_THAT(run("check own.toml").err, HasSubstr("give --shortcuts"));
  const Finished misspelt = run("check own.toml --shortcuts --set 'labels.observd=[\"odd\"]'");
  EXPECT_EQ(misspelt.exit_code, 1);
  EXPECT_THAT(misspelt.err, HasSubstr("did you mean 'labels.observed'"));
  EXPECT_EQ(run("check own.toml --preset tiny").exit_code, 2);
}

// What the settings would let lines observe is one thing, what the lines do observe another.
TEST_F(OwnPictures, TheLinesThemselvesSayWhatCanBeToldApart) {
  fs::create_directories(path("lists"));
  const auto found = [&](const std::string& lines, const std::string& more = "") {
    write_file(path("lists/train.jsonl"), lines);
    const Finished checked = run("check own.toml --shortcuts --json --set 'labels.observed=[\"*\"]'" + more);
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    return Json::parse(checked.out);
  };
  const auto parity = [](Json& line, int a, int b) { line["observed"] = {{"odd", (a + b) % 2 == 1}}; };
  const auto total = [](Json& line, int a, int b) { line["observed"] = {{"sum(_)", a + b}}; };
  EXPECT_EQ(found(lines({0, 1}, parity, 8))["shortcuts"], 2) << "sum(_) may be observed, and no line does";
  EXPECT_EQ(found(lines({0, 1}, total, 8))["shortcuts"], 1);
  // Nobody has labelled a picture, whatever may be used; one label is enough to tell 1 from 3.
  const std::string labels = " --set 'labels.positions=[\"*\"]' --set losses.perception.weight=1";
  EXPECT_EQ(found(lines({0, 1}, parity, 8), labels)["shortcuts"], 2);
  const Finished trained = run("train own.toml --out run --quiet --set 'labels.observed=[\"*\"]'" + labels);
  EXPECT_EQ(trained.exit_code, 1);
  EXPECT_THAT(trained.err, HasSubstr("losses.perception has a weight, but no example labels a position"));
  const Json labelled = {{"images", {{"bars(1,_)", "../pictures/" + picture(1, 0)}}},
                         {"labels", {{"bars(1,_)", "1"}}},
                         {"observed", {"bars(1,_)=1"}}};
  EXPECT_EQ(found(lines({0, 1}, parity, 8) + labelled.dump() + "\n" + lines({0, 1}, parity, 8))["shortcuts"],
            1);
  // What pictures leave open may still rule a relabelling out: a hidden coin makes 1 and 3 heavy or not, and
  // only 3 is heavy by itself.
  write_file(path("pair.lp"),
             "{ bars(I,N) : N=1..3 } = 1 :- I=1..2.\n{ coin(0..1) } = 1.\n"
             "odd :- bars(1,A), bars(2,B), (A+B) \\ 2 = 1.\n"
             "heavy :- bars(1,3).\nheavy :- bars(1,1), coin(1).\n");
  const auto heavy = [&](bool light) {
    const auto observed = [light](Json& line, int a, int b) {
      line["observed"] = {{"odd", (a + b) % 2 == 1}};
      if (a == 3 || (a == 1 && light)) line["observed"]["heavy"] = a == 3;
    };
    return lines({0, 1}, observed, 8);
  };
  EXPECT_EQ(found(heavy(false))["shortcuts"], 2);
  EXPECT_EQ(found(heavy(true))["shortcuts"], 1);
  const Finished nowhere =
      run("check own.toml --shortcuts --set data.path=none.jsonl --set 'labels.observed=[\"*\"]'");
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("data.path is 'none.jsonl', and there is no such file: looked for"));
}

// Of MNIST's ten classes a 4 × 4 Sudoku shows four, which its blanks determine; digits of which only the
// parity of the sum is known can be told apart in two kinds only.
TEST_F(OwnPictures, ShortcutsOfTasksThatShip) {
  const auto found = [&](const std::string& task) {
    const Finished checked = run("check " + task + " --shortcuts --seconds 600 --json");
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    return Json::parse(checked.out)["shortcuts"].get<std::int64_t>();
  };
  EXPECT_EQ(found("sudoku --preset blanks"), 1);
  EXPECT_EQ(found("greater"), 1);
  EXPECT_GE(found("parity"), 10);
}

// What training cannot learn is said before it, and that it is not known whether there is such a thing.
TEST_F(OwnPictures, TrainingSaysWhatItCannotTellApart) {
  testing::write_spots(path("spots"));
  const std::string small =
      " --epochs 1 --device cpu --json --set images.source=spots --set images.augment=false"
      " --set model.perception.preset=paper --set model.perception.width=0.125"
      " --set model.perception.d_model=16 --set data.train=64 --set data.validation=16 --batch 16";
  const Finished parity = run("train parity --out parity --quiet" + small);
  ASSERT_EQ(parity.exit_code, 0) << parity.err;
  EXPECT_GE(Json::parse(parity.out)["runs"][0]["shortcuts"].get<std::int64_t>(), 10);
  EXPECT_THAT(parity.err,
              ::testing::ContainsRegex(
                  "warning: what is observed does not determine the classes: .*[0-9][0-9]+ ways "
                  "to name them explain every observation equally well, for example [0-9]→[0-9]"));

  // The circuit of a 9 × 9 Sudoku fits no budget; this training needs none, but its clues have no labels.
  const std::string sudoku =
      "train sudoku --preset tiny --out sudoku" + small +
      " --set program.compiled=programs/sudoku.as2c --set 'program.constants=[\"b=3\"]' --set data.box=3"
      " --set data.min_clues=36 --set data.max_clues=45 --set images.positions='[\"cell(*\"]'"
      " --set labels.at=latent --set losses.perception.weight=0 --set losses.evidence.weight=0"
      " --set train.perceived_share=1 --set model.reasoner.width=16 --set model.reasoner.passes=2";
  const Finished open = run(sudoku);
  ASSERT_EQ(open.exit_code, 0) << open.err;
  EXPECT_TRUE(Json::parse(open.out)["runs"][0]["shortcuts"].is_null());
  EXPECT_THAT(open.err,
              ::testing::AllOf(HasSubstr("note: 2 seconds were too few to tell whether what is observed"),
                               HasSubstr("`as2 check sudoku --preset tiny --shortcuts --set images.source")));

  // A run goes on without the task's own file; what is advised then needs none either.
  const Finished resumed = run("train --resume sudoku --epochs 2 --device cpu");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const std::string start = "`as2 ", err = resumed.err;
  const std::size_t from = err.find(start + "check "), to = err.find("` looks for longer");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << err;
  const std::string advised = err.substr(from + start.size(), to - from - start.size());
  EXPECT_THAT(run(advised + " --seconds 0.5").err, HasSubstr("error: the program is too large to count"));
}

// Compiled programs ship, so that machines without gringo can train.
TEST_F(OwnPictures, NoGringoIsNeededForATaskThatShips) {
  testing::write_spots(path("spots"));
  const std::string before = std::getenv("PATH");
  setenv("PATH", folder_.str().c_str(), 1);
  unsetenv("AS2_GRINGO");
  const std::string training =
      "train greater --epochs 1 --device cpu --json --quiet --set images.source=spots"
      " --set images.augment=false --set model.perception.preset=paper --set model.perception.width=0.125"
      " --set model.perception.d_model=16 --set data.train=64 --set data.validation=16 --batch 16 --out ";
  const Finished compiled = run(training + "run"), ground = run(training + "ground --set program.compiled=");
  setenv("PATH", before.c_str(), 1);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_EQ(Json::parse(compiled.out)["runs"][0]["steps"], 4);
  EXPECT_EQ(ground.exit_code, 4) << "there was a gringo after all";
  EXPECT_THAT(ground.err, HasSubstr("gringo cannot be found"));
}

TEST_F(OwnPictures, ALineThatCannotBeUsedIsNamed) {
  fs::create_directories(path("lists"));
  const std::string good = lines({0}, [](Json& line, int a, int b) {
    line["observed"] = {{"sum(_)", a + b}};
  });
  const auto refused = [&](const Json& line, const std::string& message) {
    write_file(path("lists/train.jsonl"), good + line.dump() + "\n");
    const Finished finished = run("train own.toml --out run --device cpu --quiet");
    EXPECT_EQ(finished.exit_code, 1) << line;
    EXPECT_THAT(finished.err, ::testing::AllOf(HasSubstr("train.jsonl:10"), HasSubstr(message))) << line;
  };
  const std::string a = "bars(1,_)", b = "bars(2,_)", file = "../pictures/" + picture(1, 0);
  const Json both = {{a, file}, {b, file}};
  refused({{"images", {{a, "none.png"}}}}, "none.png");
  refused({{"images", {{"sum(_)", file}}}}, "no position 'sum(_)'");
  refused({{"labels", {{a, "1"}, {b, "1"}}}, {"observed", {"sum(2)"}}}, "the line names no picture");
  refused({{"images", {{a, file}}}, {"evidence", {a, b}}}, "has neither a picture nor a label");
  refused({{"images", both}, {"observed", {"sum(9)"}}}, "can never hold");
  refused({{"images", both}, {"observed", {"odd"}}}, "labels.observed does not name it");
  refused({{"images", both}, {"observed", {"sum(2), sum(3)"}}}, "one literal");
  refused({{"picture", both}}, "an example has no 'picture'");
  refused({{"images", both}, {"observed", {"sum(_)"}}}, "'sum(_)' is not one atom");
  // What cannot hold is not left for the training to stumble over.
  refused({{"images", both}, {"observed", {"sum(2)", "not sum(2)"}}}, "to hold and not to hold");
  refused({{"images", both}, {"observed", {"sum(2)", "sum(3)", "not sum(6)"}}},
          "sum(2), sum(3), which hold together in no answer set");
  refused({{"images", both}, {"labels", {{a, "1"}, {b, "1"}}}, {"observed", {"sum(4)", "not sum(5)"}}},
          "says bars(1,_)=1 (label), bars(2,_)=1 (label), sum(4), which hold together in no answer set");
  refused({{"images", both}, {"observed", {"not sum(77)"}}}, "but the program has no atom sum(77)");
  formats::write_png(path("pictures/blank.png"), formats::Image(56, 56, 255));
  refused({{"images", {{a, file}, {b, "../pictures/blank.png"}}}, {"observed", {"sum(2)"}}},
          "a picture without ink is no evidence");
  // One position, written in two ways.
  refused({{"images", {{a, file}, {"bars(1, _)", file}}}}, "is given twice");
  refused({{"images", both}, {"labels", {{a, "1"}, {"bars(1, _)", "2"}}}}, "is given twice");
  // A constraint that labels break is named.
  write_file(path("pair.lp"), read_file(path("pair.lp")) + ":- bars(1,2), bars(2,2).\n");
  refused({{"images", both}, {"labels", {{a, "2"}, {b, "2"}}}}, "pair.lp:4)");
}

// A folder per class; the program says less of its pictures, or of what they may show together, than the
// source of the examples needs.
TEST_F(OwnPictures, AFolderOfPicturesThatDoNotFitTheExamplesIsRefused) {
  for (const char* symbol : {"1", "2", "3"}) {
    fill("drawn", symbol, 0);
    fill("empty", symbol, symbol[0] == '1' ? 0 : 255);
  }
  const auto refused = [&](const std::string& more, const ::testing::Matcher<const std::string&>& message) {
    write_file(path("folder.toml"),
               "name = \"folder\"\npreset = \"own/tiny.toml\"\n[program]\nfile = \"pair.lp\"\n"
               "[images]\npositions = [\"bars(*\"]\n[data]\ntrain = 40\nvalidation = 9\n");
    const Finished finished =
        run("train folder.toml --preset own/tiny.toml --set losses.query.weight=0 --set "
            "losses.perception.weight=1 --out run --device cpu --quiet " +
            more);
    EXPECT_EQ(finished.exit_code, 1) << finished.err;
    EXPECT_THAT(finished.err, message);
  };
  refused("--set images.source=empty --set data.source=tuples",
          HasSubstr("no picture of 2 has ink, nor of 3"));
  refused("--set images.source=drawn --set data.source=images",
          HasSubstr("an example is one picture, but 2 positions have pictures"));
  // Every position has a picture, and the pictures alone may break the program.
  write_file(path("pair.lp"), "{ bars(I,N) : N=1..3 } = 1 :- I=1..2.\n:- bars(1,N), bars(2,N).\n");
  refused("--set images.source=drawn --set data.source=tuples",
          HasSubstr("the program allows no answer for some of the tuples"));
}

TEST_F(OwnPictures, PicturesThatHaveChangedAndAProgramThatLooksWrongAreWarnedOf) {
  for (const char* symbol : {"1", "2", "3"}) fill("drawn", symbol, 0);
  write_file(path("pair.lp"), read_file(path("pair.lp")) + ":- bras(1,2). % misspelt\n");
  const std::string train =
      "train own.toml --set images.source=drawn --set data.source=tuples --set data.path= --set "
      "data.train=40 "
      "--set data.validation=9 --device cpu --quiet ";
  const Finished first = run(train + "--epochs 1 --out run --set 'program.constants=[\"zz=3\"]'");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("warning: constraint `misspelt` has no ground instances"));
  EXPECT_THAT(first.err, HasSubstr("warning: constant `zz` (-c) does not occur in the program"));
  EXPECT_THAT(run("train --resume run --epochs 2 --device cpu --quiet").err,
              Not(HasSubstr("the pictures in")));
  draw(1, 0);
  fs::copy_file(path("pictures") / picture(1, 0), path("drawn/1/00.png"));
  EXPECT_THAT(run("train --resume run --epochs 3 --device cpu --quiet").err,
              HasSubstr("drawn are not those that the run was started with"));
}

// Blanks count within strings, and nowhere else.
TEST_F(OwnPictures, WhatIsObservedMayHoldStringsWithBlanks) {
  write_file(path("pair.lp"),
             "{ bars(I,N) : N=1..3 } = 1 :- I=1..2.\n"
             "sum(\"of the two\",S) :- bars(1,A), bars(2,B), S = A+B.\n");
  fs::create_directories(path("lists"));
  write_file(path("lists/train.jsonl"), lines(
                                            {0, 1, 2, 3, 4},
                                            [](Json& line, int a, int b) {
                                              const std::string atom =
                                                  "sum(\"of the two\", " + std::to_string(a + b) + ")";
                                              line["observed"] = Json::array({atom});
                                            },
                                            8));
  const Finished finished =
      run("train own.toml --out run --device cpu --epochs 1 --quiet --set 'labels.observed=[\"sum(_,_)\"]'");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

// Lines that say too little, too few lines, and a file that changes while a run rests.
TEST_F(OwnPictures, WhatAFileOfLinesIsTooLittleForIsSaid) {
  fs::create_directories(path("lists"));
  const std::string good = lines(
      {0, 1},
      [](Json& line, int a, int b) {
        line["observed"] = {{"sum(_)", a + b}};
      },
      6);
  const auto trained = [&](const std::string& text, const std::string& more) {
    write_file(path("lists/train.jsonl"), text);
    const std::string some =
        more.find("data.validation") == std::string::npos ? "--set data.validation=10 " : "";
    return run("train own.toml --out run --device cpu --quiet --epochs 1 " + some + more);
  };
  const auto refused = [&](const std::string& text, const std::string& more, const std::string& message) {
    const Finished finished = trained(text, more);
    EXPECT_EQ(finished.exit_code, 1) << message;
    EXPECT_THAT(finished.err, HasSubstr(message));
  };
  const std::string file = "../pictures/" + picture(1, 0), first = good.substr(0, good.find('\n') + 1);
  refused(first + Json{{"images", {{"bars(1,_)", file}}}}.dump() + "\n" + good, "",
          "train.jsonl:2: error: 1 of 46 examples observe nothing");
  refused(first + "\n" + Json{{"observed", {"sum(2)"}}}.dump() + "\n" + good, "",
          "train.jsonl:3: error: 1 of 46 examples have no picture, and can teach nothing");
  refused(
      first +
          Json{{"labels", {{"bars(1,_)", 1}}}, {"evidence", {"bars(1,_)"}}, {"observed", {"sum(2)"}}}.dump() +
          "\n" + good,
      "", "train.jsonl:2: error: 1 of 46 examples have no picture, and can teach nothing");
  refused(first, "", "train.jsonl: error: has one example, which is too few");
  refused(good, "--set data.validation=54",
          "train.jsonl: error: has 54 examples, and data.validation = 54 leaves none to train on");
  refused(good, "--batch 50", "set at most as many; data.path has no more beside those for validation");
  refused(good, "--set train.lr=1", "no setting is called 'train.lr'\nnote: did you mean 'train.rate'?");

  ASSERT_EQ(trained(good, "--set data.validation=30").exit_code, 0) << "more than half is no mistake";
  write_file(path("lists/train.jsonl"), good + first);
  const Finished resumed = run("train --resume run --epochs 2 --device cpu --quiet");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("train.jsonl is not the file that the run was started with"));
  EXPECT_THAT(read_file(path("run/state.safetensors")),
              HasSubstr("as2 train own.toml --seed 0 --epochs 1 --set data.validation=30 && as2 train "
                        "--resume run --epochs 2"));
}

}  // namespace
}  // namespace as2::cli
