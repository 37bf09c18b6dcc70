// What a picture shows, what a label is and what training may use are three things, in every source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "datasets/mnist.h"
#include "files.h"
#include "infer/example_lines.h"
#include "random.h"
#include "support/bars.h"
#include "support/temporary_folder.h"
#include "task/contradictions.h"
#include "task/picture_folder.h"
#include "task/sources.h"
#include "task/task.h"
#include "task/tensor/batches.h"

namespace as2::task {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const kSum =
    "{ d(I,V) : V=1..4 } = 1 :- I=1..2.\n"
    "{ total(S) : S=2..8 } = 1.\n"
    ":- total(S), #sum{ V,I : d(I,V) } != S.\n"
    "alike :- d(1,V), d(2,V).\n";
const char* const kLatin =
    "{ cell(R,C,V) : V=1..4 } = 1 :- R=1..4, C=1..4.\n"
    ":- V=1..4, R=1..4, #count{ C : cell(R,C,V) } > 1.\n"
    ":- V=1..4, C=1..4, #count{ R : cell(R,C,V) } > 1.\n"
    "alike :- cell(1,1,V), cell(2,2,V).\n";

// A small task per source, all with the same pictures.
class EverySource : public ::testing::TestWithParam<std::string> {
 protected:
  EverySource() { as2::testing::write_bars(folder_ / "bars"); }

  TaskConfig config() const {
    const std::string& source = GetParam();
    TaskConfig config;
    config.images.source = folder_ / "bars";
    config.data.source = source;
    config.data.box = 2;
    config.data.min_clues = 4;
    config.data.max_clues = 8;
    config.data.train = 24;
    config.data.validation = 8;
    config.labelled = {"*"};
    if (source == "boards") {
      config.program.file = AS2_SOURCE_DIR "/programs/sudoku.lp";
      config.program.constants = {{"b", "2"}};
      config.images.positions = {"cell(*"};
    } else if (source == "images") {
      config.program.file = folder_.put("one.lp", "{ d(1..4) } = 1.\n");
      config.images.positions = {"*"};
    } else if (source == "answers") {
      config.program.file = folder_.put("latin.lp", kLatin);
      config.images.positions = {"cell(*"};
    } else {
      config.program.file = folder_.put("sum.lp", kSum);
      config.images.positions = {"d(*"};
    }
    if (source == "instances") {
      std::string lines;
      for (int n = 0; n < 32; ++n) {
        const int a = 1 + n % 4, b = 1 + n / 4 % 4;
        lines += "{\"labels\": {\"d(1,_)\": \"" + std::to_string(a) + "\", \"d(2,_)\": \"" +
                 std::to_string(b) + "\", \"total(_)\": \"" + std::to_string(a + b) + "\"}}\n";
      }
      config.data.path = folder_.put("list.jsonl", lines);
    }
    return config;
  }

  static Batches batches_of(const Task& task, const Instances& instances) {
    BatchOptions options;
    options.batch = options.picture_rows = 8;
    options.seed = 5;
    options.distortion = 1;
    options.symmetries = task.config().data.source == "boards";
    return {instances, task.pool(Part::kTrain), task.pictures(), options, torch::kCPU};
  }

  test::TemporaryFolder folder_;
};

std::vector<std::string> names_of(const Task& task) {
  std::vector<std::string> names;
  for (const compile::Position& position : task.program().positions) names.push_back(position.name);
  return names;
}

TEST_P(EverySource, HidingLabelsChangesNothingElse) {
  TaskConfig whole = config();
  const std::string& source = GetParam();
  const bool derives = source != "boards" && source != "images";
  if (derives) whole.observed = {"alike"};
  const Task open(whole, {});
  const std::vector<std::string> names = names_of(open);
  const Instances all = open.instances(Part::kTrain, 24);
  ASSERT_EQ(open.supervision().atoms.size(), derives ? 1U : 0U);
  for (std::int64_t n = 0; derives && n < all.size(); ++n) {
    const int a = open.program().find_position(source == "answers" ? "cell(1,1,_)" : "d(1,_)");
    const int b = open.program().find_position(source == "answers" ? "cell(2,2,_)" : "d(2,_)");
    EXPECT_EQ(all.atoms[n][0], all.labels[n][a] == all.labels[n][b] ? 1 : 0) << n;
  }
  Random random(3);
  for (int trial = 0; trial < 12; ++trial) {
    TaskConfig hiding = whole;
    hiding.labelled.clear();
    for (const std::string& name : names) {
      if (random.below(2) == 0) hiding.labelled.push_back(name);
      if (random.below(4) == 0) hiding.observed.push_back(name);
    }
    const Task task(hiding, {});
    const Instances some = task.instances(Part::kTrain, 24);
    Batches a = batches_of(open, all), b = batches_of(task, some);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const Batch full = a.batch(epoch, 1), part = b.batch(epoch, 1);
      EXPECT_TRUE(part.evidence.equal(full.evidence));
      EXPECT_TRUE(part.shows.equal(full.shows));
      EXPECT_TRUE(part.slot_positions.equal(full.slot_positions));
      EXPECT_TRUE(part.slot_mask.equal(full.slot_mask));
      EXPECT_TRUE(part.pixels.equal(full.pixels));
      EXPECT_EQ(part.atoms.defined(), derives);
      if (derives) {
        EXPECT_TRUE(part.atoms.equal(full.atoms));
      }
      const torch::Tensor used = part.known | part.observed;
      EXPECT_TRUE(part.labels.equal(torch::where(used, full.labels, torch::zeros_like(full.labels))));
      if (GetParam() == "boards") continue;  // under a symmetry another cell comes here
      for (std::size_t i = 0; i < names.size(); ++i) {
        const auto column = static_cast<std::int64_t>(i);
        EXPECT_EQ(part.known.select(1, column).any().item<bool>(),
                  infer::matches_any(hiding.labelled, names[i]));
        EXPECT_EQ(part.observed.select(1, column).any().item<bool>(),
                  infer::matches_any(hiding.observed, names[i]));
      }
    }
  }
}

TEST_P(EverySource, APoisonedHiddenLabelReachesNoBatch) {
  TaskConfig hiding = config();
  const Task open(hiding, {});
  const std::vector<std::string> names = names_of(open);
  for (const std::int16_t poison : {-1, 0, 1, 3}) {
    hiding.labelled = {names.back()};
    hiding.observed = {names.front()};
    const Task task(hiding, {});
    const Instances clean = task.instances(Part::kTrain, 24);
    Instances poisoned = clean;
    for (std::size_t k = 0; k < poisoned.labels.cells.size(); ++k) {
      if (!clean.known.cells[k] && !clean.observed.cells[k]) poisoned.labels.cells[k] = poison;
    }
    Batches a = batches_of(task, clean), b = batches_of(task, poisoned);
    const auto left = a.batch(1, 0).tensors(), right = b.batch(1, 0).tensors();
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t t = 0; t < left.size(); ++t)
      EXPECT_TRUE(left[t].second.equal(right[t].second)) << left[t].first;
  }
}

// A picture that may not be labelled is not replaced by its value either.
TEST_P(EverySource, AHiddenLabelIsNotGivenInPlaceOfItsPicture) {
  TaskConfig hiding = config();
  hiding.labelled = {};
  const Task task(hiding, {});
  Batches batches = batches_of(task, task.instances(Part::kTrain, 24));
  EXPECT_FALSE(batches.batch(0, 0).given.any().item<bool>());
  const Task open(config(), {});
  Batches labelled = batches_of(open, open.instances(Part::kTrain, 24));
  const Batch batch = labelled.batch(0, 0);
  EXPECT_TRUE(batch.given.equal(batch.evidence));
}

TEST_P(EverySource, PatternsThatMatchNothingAreRefused) {
  for (const bool observed : {false, true}) {
    TaskConfig wrong = config();
    (observed ? wrong.observed : wrong.labelled) = {"nothing(*"};
    const std::string setting = observed ? "labels.observed" : "labels.positions";
    try {
      const Task task(wrong, {});
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(setting), HasSubstr("'nothing(*'"), HasSubstr("note: ")));
    }
  }
}

// Two pictures of bars and their total; a task whose lines are `lines`.
class Lines : public ::testing::Test {
 protected:
  Lines() { as2::testing::write_bars(folder_ / "bars"); }

  TaskConfig config(const std::string& lines) const {
    TaskConfig config;
    config.images.source = folder_ / "bars";
    config.images.positions = {"d(*"};
    config.data.source = "instances";
    config.data.train = 100;
    config.data.validation = 1;
    config.data.path = folder_.put("list.jsonl", lines);
    config.program.file = folder_.put("sum.lp",
                                      "{ d(I,V) : V=1..4 } = 1 :- I=1..3.\n"
                                      "sum(S) :- d(1,X), d(2,Y), d(3,Z), S = X+Y+Z.\n");
    return config;
  }

  test::TemporaryFolder folder_;
};

template <class Row>
std::vector<int> row_of(const Row* row, std::int64_t columns) {
  return {row, row + columns};
}

// The lines of one file need not agree in what is given, labelled and observed.
TEST_F(Lines, EachSaysForItselfWhatIsGivenKnownAndObserved) {
  TaskConfig some = config(
      // The clues are given and hidden, the blank is observed.
      R"j({"labels": {"d(1,_)": 1, "d(2,_)": 2, "d(3,_)": 3}, "evidence": ["d(1,_)", "d(2,_)"],)j"
      R"j( "observed": {"d(3,_)": 3}})j"
      "\n"
      // All is labelled, and what is observed follows from that.
      R"j({"labels": {"d(1,_)": 4, "d(2,_)": 4, "d(3,_)": 1}})j"
      "\n"
      // Nothing but a derived atom, and one that does not hold.
      R"j({"observed": ["sum(5)", "not sum(6)"]})j"
      "\n"
      R"j({"labels": {"d(1,_)": 1}})j"
      "\n");
  some.labelled = {"d(3,_)"};
  some.observed = {"d(3,_)", "sum(5)", "sum(6)", "sum(9)"};
  const Task task(some, {});
  const Instances rows = task.instances(Part::kTrain, 100);
  ASSERT_EQ(rows.size(), 3) << "the last line is for validation";
  std::vector<std::string> atoms;
  for (const ObservedAtom& atom : task.supervision().atoms) atoms.push_back(atom.name);
  ASSERT_EQ(atoms, (std::vector<std::string>{"sum(5)", "sum(6)", "sum(9)"}));
  using Row = std::vector<int>;
  const auto expect = [&](std::int64_t n, const Row& evidence, const Row& known, const Row& observed,
                          const Row& truth) {
    SCOPED_TRACE(n);
    EXPECT_EQ(row_of(rows.evidence[n], 3), evidence);
    EXPECT_EQ(row_of(rows.known[n], 3), known);
    EXPECT_EQ(row_of(rows.observed[n], 3), observed);
    EXPECT_EQ(row_of(rows.atoms[n], 3), truth);
  };
  expect(0, {1, 1, 0}, {0, 0, 1}, {0, 0, 1}, {-1, -1, -1});
  expect(1, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1});
  expect(2, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 0, -1});
  EXPECT_EQ(row_of(rows.shows[0], 3), (Row{0, 1, 2})) << "a hidden clue has its picture";
}

// Labels that no loss may use still say which sums hold.
TEST_F(Lines, HiddenLabelsAloneSayWhichSumsHold) {
  std::string lines;
  for (int n = 0; n < 20; ++n) {
    lines += "{\"labels\": {\"d(1,_)\": " + std::to_string(1 + n % 4) +
             ", \"d(2,_)\": " + std::to_string(1 + n / 4 % 4) + ", \"d(3,_)\": 2}}\n";
  }
  TaskConfig hidden = config(lines);
  hidden.labelled = {};
  hidden.observed = {"sum(_)"};
  const Task task(hidden, {});
  const Instances rows = task.instances(Part::kTrain, 100);
  ASSERT_EQ(rows.size(), 19);
  for (std::int64_t n = 0; n < rows.size(); ++n) {
    SCOPED_TRACE(n);
    EXPECT_EQ(row_of(rows.known[n], 3), (std::vector<int>{0, 0, 0}));
    EXPECT_EQ(row_of(rows.observed[n], 3), (std::vector<int>{0, 0, 0}));
    for (std::size_t a = 0; a < task.supervision().atoms.size(); ++a) {
      const bool holds =
          task.supervision().atoms[a].name == "sum(" + std::to_string(1 + n % 4 + 1 + n / 4 % 4 + 2) + ")";
      EXPECT_EQ(rows.atoms[n][a], holds ? 1 : 0) << task.supervision().atoms[a].name;
    }
  }
}

// Where no circuit fits, what lines say of positions is checked all the same, and the rest is owned up to.
TEST_F(Lines, WithoutACircuitPositionsAreCheckedAndAtomsAreNot) {
  TaskConfig large = config(R"j({"labels": {"d(1,_)": 1, "d(2,_)": 2, "d(3,_)": 3}, "observed": ["sum(7)"]})j"
                            "\n"
                            R"j({"labels": {"d(1,_)": 1, "d(2,_)": 1, "d(3,_)": 3}, "observed": ["sum(5)"]})j"
                            "\n");
  large.labelled = {};
  large.observed = {"sum(_)"};
  // The lines contradict themselves (1 + 2 + 3 is not 7), so they are put together by hand.
  std::string said;
  TaskOptions options;
  options.report = [&](const std::string& text) { said += text; };
  const Task task(large, options);
  const auto lines = infer::ExampleReader(task.program(), task.pictures()).read(large.data.path);
  Instances rows = Instances::blank(2, 3);
  for (std::int64_t n = 0; n < 2; ++n) {
    for (const auto& [position, symbol] : lines[static_cast<std::size_t>(n)].labels)
      rows.labels[n][position] = static_cast<std::int16_t>(symbol);
  }
  rows = supervised(task.shared_program(), task.supervision(), rows, true);
  const auto column = [&](const std::string& name) {
    const auto& atoms = task.supervision().atoms;
    return std::find_if(atoms.begin(), atoms.end(), [&](const auto& atom) { return atom.name == name; }) -
           atoms.begin();
  };
  std::fill_n(rows.atoms[0], rows.atoms.columns, std::int8_t{-1});
  rows.atoms[0][column("sum(7)")] = 1;
  const auto refusal = [&](const Task& of, const prob::Budget& budget) -> std::string {
    try {
      refuse_contradictions(of, lines, rows, budget);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(task, {10}), AllOf(HasSubstr("list.jsonl:1: error: "), HasSubstr("sum(7)")));
  EXPECT_EQ(said, "");
  const prob::Budget none = {10, 16};
  EXPECT_EQ(refusal(task, none), "accepted");
  EXPECT_THAT(said, HasSubstr("list.jsonl: the program is too large to look for every contradiction: "
                              "positions were checked in 2 of 2 lines, derived atoms in none"));
  large.program.file = folder_.put("differ.lp", read_file(large.program.file) + ":- d(1,V), d(2,V).\n");
  EXPECT_THAT(refusal(Task(large, options), none),
              AllOf(HasSubstr("list.jsonl:2: error: the line says d(1,_)=1 (label), d(2,_)=1 (label), which"),
                    HasSubstr("differ.lp:3")));
}

// As many cells, but boxes of three rows and two columns: no such board obeys the program.
TEST(GeneratedBoards, WithOtherBoxesThanTheProgramsAreRefused) {
  TaskConfig config;
  config.program.file = AS2_SOURCE_DIR "/programs/sudoku.lp";
  config.program.constants = {{"h", "2"}, {"w", "3"}};
  config.data.source = "boards";
  config.data.box = {2, 3};
  config.data.min_clues = 12;
  config.data.max_clues = 30;
  EXPECT_EQ(Task(config, {}).instances(Part::kTrain, 8).size(), 8);
  config.program.constants = {{"h", "3"}, {"w", "2"}};
  try {
    Task(config, {}).instances(Part::kTrain, 8);
    FAIL() << "boards that the program forbids";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the boards do not obey the program: the first violates 'boxes'"));
  }
}

TEST(TaskFile, ItsNameIsTheTasks) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(name_of_task("sudoku"), "sudoku");
  EXPECT_EQ(name_of_task(folder.put("file.toml", "name = \"mine\"\n")), "mine");
  EXPECT_THROW(name_of_task(folder / "absent.toml"), InputError);
}

// Other constants than those that a compiled program was made with.
TEST(TaskFile, ConstantsOnTheCommandLineCount) {
  const auto positions = [](const std::vector<std::string>& overrides) {
    Settings settings = layered_settings("multi_digit_addition", "best", overrides);
    return infer::load_program(read_task(settings, Purpose::kTraining).program)->positions.size();
  };
  EXPECT_EQ(positions({}), 9U);
  EXPECT_EQ(positions({"program.constants=[\"n=3\"]"}), 13U);
}

INSTANTIATE_TEST_SUITE_P(Sources, EverySource, ::testing::ValuesIn(source_names()),
                         [](const auto& source) { return source.param; });

// A folder comes class by class; the first so many of it would be pictures of the first classes alone.
TEST(SinglePictures, FewerThanThereAreShowEveryClass) {
  test::TemporaryFolder folder;
  as2::testing::write_bars(folder / "bars");
  TaskConfig config;
  config.images.source = folder / "bars";
  config.images.positions = {"*"};
  config.data.source = "images";
  config.labelled = {"*"};
  config.program.file = folder.put("one.lp", "{ d(1..4) } = 1.\n");
  const Task task(config, {});
  const auto [first, last] = task.picture_range(Part::kTrain);
  const std::int64_t half = (last - first) / 2;
  const Instances some = task.instances(Part::kTrain, half);
  EXPECT_EQ(some.size(), half);
  const auto different = [](const auto& cells) { return std::set<int>(cells.begin(), cells.end()).size(); };
  EXPECT_EQ(different(some.labels.cells), 4U);
  EXPECT_EQ(different(some.pictures.cells), static_cast<std::size_t>(half)) << "no picture twice";
  EXPECT_EQ(some.pictures.cells, task.instances(Part::kTrain, half).pictures.cells)
      << "the same in every run";
}

// An idx file in a symbol's folder is as many pictures as it holds, split by tens like single ones.
TEST(PictureFolder, ReadsIdxFiles) {
  const test::TemporaryFolder folder;
  std::vector<std::uint8_t> pixels(20 * datasets::kDigitPixels);
  for (std::size_t k = 0; k < pixels.size(); ++k)
    pixels[k] = static_cast<std::uint8_t>(100 + k / datasets::kDigitPixels);
  for (const char* name : {"blank", "printed(1)"})
    folder.put(std::string(name) + "/cells.idx3-ubyte", datasets::format_idx_images(pixels));
  const PictureFolder read = read_picture_folder(folder.str());
  EXPECT_EQ(read.names, (std::vector<std::string>{"blank", "printed(1)"}));
  ASSERT_EQ(read.pixels[0].rows, 2 * 16);
  ASSERT_EQ(read.pixels[1].rows, 2 * 2);
  EXPECT_EQ(read.pixels[1][1][0], 118) << "the ninth of the second ten, taken as it is";
  EXPECT_EQ(read.classes[2][3], 1);
}

}  // namespace
}  // namespace as2::task
