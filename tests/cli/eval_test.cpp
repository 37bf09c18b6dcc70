// `as2 eval` as a user runs it; its figures are computed again here, from the networks' raw output.
#include <torch/torch.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "datasets/real_mnist.h"
#include "eval/trained.h"
#include "files.h"
#include "formats/image.h"
#include "nn/model.h"
#include "sudoku/board.h"
#include "sudoku/board_list.h"
#include "support/bars.h"
#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using sudoku::Board;
using sudoku::Grid;
using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;
using Json = nlohmann::json;

const std::string kModels = AS2_SOURCE_DIR "/models/";

// A 4 × 4 model that reads pictures of bars; its training is stopped early, so it makes mistakes.
class EvalVerb : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    testing::write_bars(*folder_ / "bars");
    const Finished trained = testing::run_as2(
        folder_->str(),
        "train sudoku --preset tiny --batch 32 --epochs 2 --set data.train=256 --set data.validation=32 "
        "--set train.stop_at=2 --set model.reasoner.width=16 --set model.reasoner.passes=3 "
        "--set model.reasoner.eval_passes=4 --set 'images.positions=[\"cell(*\"]' --set images.source=bars "
        "--set model.perception.preset=paper --set model.perception.width=0.125 "
        "--set model.perception.d_model=16 --set losses.perception.weight=1 --set train.freeze_epochs=0 "
        "--set train.perceived_share=0.5 --out run --quiet");
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    sudoku::GenerateOptions options;
    options.box = 2;
    options.min_clues = 4;
    options.max_clues = 6;
    options.seed = 99;
    boards_ = sudoku::generate(options, 0, 40);
    folder_->put("boards.txt", "# forty\n" + sudoku::format_boards(boards_));
  }
  static void TearDownTestSuite() { delete folder_; }

  static Finished run(const std::string& arguments) {
    return testing::run_as2(folder_->str(), "eval " + arguments);
  }
  static std::string model() { return *folder_ / "run/model.safetensors"; }

  static inline test::TemporaryFolder* folder_ = nullptr;
  static inline std::vector<Board> boards_;
};

struct Shares {
  double cell = 0, board = 0, satisfied = 0;
};

// `symbols` [boards, 16]: 0 … 3.
Shares shares(const torch::Tensor& symbols, const std::vector<Board>& boards) {
  Shares result;
  for (std::size_t b = 0; b < boards.size(); ++b) {
    Grid grid;
    int right = 0;
    for (std::int64_t cell = 0; cell < 16; ++cell) {
      grid.push_back(
          static_cast<std::uint8_t>(symbols[static_cast<std::int64_t>(b)][cell].item<std::int64_t>() + 1));
      right += grid.back() == boards[b].solution[static_cast<std::size_t>(cell)];
    }
    result.cell += right / 16.0;
    result.board += right == 16;
    result.satisfied += sudoku::is_solved(grid);
  }
  const auto count = static_cast<double>(boards.size());
  return {result.cell / count, result.board / count, result.satisfied / count};
}

void expect_row(const Json& row, const Shares& expected, const std::string& name) {
  EXPECT_NEAR(row["cell"].get<double>(), expected.cell, 1e-9) << name;
  EXPECT_NEAR(row["board"].get<double>(), expected.board, 1e-9) << name;
  EXPECT_NEAR(row["csr"].get<double>(), expected.satisfied, 1e-9) << name;
  if (!row["vcsr"].is_null()) {  // there is a clingo
    EXPECT_NEAR(row["vcsr"].get<double>(), expected.satisfied, 1e-9) << name;
  }
}

// All 288 solved 4 × 4 boards.
std::vector<Grid> all_small_boards() {
  std::vector<Grid> found;
  Grid grid(16, 0);
  const std::function<void(std::size_t)> fill = [&](std::size_t cell) {
    if (cell == 16) {
      found.push_back(grid);
      return;
    }
    for (std::uint8_t digit = 1; digit <= 4; ++digit) {
      grid[cell] = digit;
      if (sudoku::is_consistent(grid)) fill(cell + 1);
    }
    grid[cell] = 0;
  };
  fill(0);
  return found;
}

TEST_F(EvalVerb, FiguresOfAListAreWhatTheNetworksSay) {
  const Finished finished = run("sudoku --model run/model.safetensors --boards boards.txt --json --quiet");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const Json result = Json::parse(finished.out);
  EXPECT_EQ(result["boards"], 40);
  EXPECT_EQ(result["task"], "sudoku");
  for (const char* method : {"raw", "refined", "greedy", "map"}) {
    for (const char* part : {"given_clues", "perceived_clues"}) {
      for (const char* measure : {"cell", "board", "csr", "vcsr"})
        EXPECT_TRUE(result[part][method].contains(measure)) << part << ' ' << method << ' ' << measure;
    }
  }
  EXPECT_FALSE(result["given_clues"].contains("perception_map"));

  // The folder's tenth picture of a symbol is the only one for tests: what perception sees is known.
  const torch::NoGradGuard no_grad;
  const eval::Trained trained = eval::load_trained(model(), "sudoku", {}, {});
  const auto network = nn::load_model(trained.card, trained.task->program());
  torch::Tensor pictures = torch::empty({4, 28, 28});
  for (int symbol = 1; symbol <= 4; ++symbol) {
    const formats::Image image =
        formats::read_image(*folder_ / ("bars/" + std::to_string(symbol) + "/9.png"));
    for (int n = 0; n < 28 * 28; ++n)
      pictures.view({4, -1})[symbol - 1][n] = image.pixels[static_cast<std::size_t>(n)] / 255.0F;
  }
  const torch::Tensor seen = network->perception->beliefs(network->perception->forward(pictures).logits);
  torch::Tensor given = torch::full({40, 16, 4}, 0.25), perceived = given.clone();
  torch::Tensor evidence = torch::zeros({40, 16}, torch::kBool);
  double clues = 0, read = 0;
  for (std::int64_t b = 0; b < 40; ++b) {
    for (std::int64_t cell = 0; cell < 16; ++cell) {
      const int digit = boards_[static_cast<std::size_t>(b)].puzzle[static_cast<std::size_t>(cell)];
      if (digit == 0) continue;
      evidence[b][cell] = true;
      given[b][cell] = torch::eye(4)[digit - 1];
      perceived[b][cell] = seen[digit - 1];
      ++clues;
      read += seen[digit - 1].argmax().item<std::int64_t>() == digit - 1;
    }
  }
  EXPECT_NEAR(result["clue_accuracy"].get<double>(), read / clues, 1e-9);
  const auto raw = [&](const torch::Tensor& beliefs) {
    return network->reasoner->forward({beliefs, evidence}).logits.back().argmax(-1);
  };
  const Shares given_raw = shares(raw(given), boards_);
  expect_row(result["given_clues"]["raw"], given_raw, "given raw");
  expect_row(result["perceived_clues"]["raw"], shares(raw(perceived), boards_), "perceived raw");
  EXPECT_LT(given_raw.board, 1) << "train less: a figure of 1 tells nothing apart";

  // Decoded exactly with its clues given, a board with one solution has that solution.
  expect_row(result["given_clues"]["map"], {1, 1, 1}, "given map");
  // The best of all valid boards by perception's beliefs; among equally good ones any may be given.
  const std::vector<Grid> valid = all_small_boards();
  ASSERT_EQ(valid.size(), 288u);
  double surely = 0, perhaps = 0, unique_surely = 0, unique_perhaps = 0, unique_found = 0;
  for (std::int64_t b = 0; b < 40; ++b) {
    double best = -1e300, right = 0, ties = 0;
    double best_unique = -1e300, unique_right = 0, unique_ties = 0;
    std::map<Grid, int> completions;  // of every reading of the clues
    const Grid& puzzle = boards_[static_cast<std::size_t>(b)].puzzle;
    const auto reading = [&](Grid grid) {
      for (std::size_t cell = 0; cell < 16; ++cell) grid[cell] = puzzle[cell] != 0 ? grid[cell] : 0;
      return grid;
    };
    for (const Grid& grid : valid) ++completions[reading(grid)];
    for (const Grid& grid : valid) {
      double score = 0;
      for (std::int64_t cell = 0; cell < 16; ++cell) {
        if (boards_[static_cast<std::size_t>(b)].puzzle[static_cast<std::size_t>(cell)] != 0)
          score += std::log(
              std::max(1e-30, perceived[b][cell][grid[static_cast<std::size_t>(cell)] - 1].item<double>()));
      }
      if (score > best + 1e-6) best = score, right = ties = 0;
      if (score > best - 1e-6) {
        ++ties;
        right += grid == boards_[static_cast<std::size_t>(b)].solution;
      }
      if (completions[reading(grid)] != 1) continue;
      if (score > best_unique + 1e-6) best_unique = score, unique_right = unique_ties = 0;
      if (score > best_unique - 1e-6) {
        ++unique_ties;
        unique_right += grid == boards_[static_cast<std::size_t>(b)].solution;
      }
    }
    surely += right == 1 && ties == 1;
    perhaps += right;
    unique_surely += unique_right == 1 && unique_ties == 1;
    unique_perhaps += unique_right;
    unique_found += unique_ties > 0;
  }
  for (const char* method : {"map", "perception_map"}) {
    EXPECT_GE(result["perceived_clues"][method]["board"].get<double>(), surely / 40 - 1e-9) << method;
    EXPECT_LE(result["perceived_clues"][method]["board"].get<double>(), perhaps / 40 + 1e-9) << method;
    EXPECT_EQ(result["perceived_clues"][method]["csr"], 1.0) << method;
  }
  // The best reading with one completion: every board has one, and it is not always the best of all.
  const Json& unique = result["perceived_clues"]["unique_map"];
  EXPECT_GE(unique["board"].get<double>(), unique_surely / 40 - 1e-9);
  EXPECT_LE(unique["board"].get<double>(), unique_perhaps / 40 + 1e-9);
  EXPECT_NEAR(unique["unique"].get<double>(), unique_found / 40, 1e-9);
  EXPECT_GT(unique_surely, perhaps) << "the two rows cannot be told apart on these boards";
}

// Every number of two documents, at the same place and within 1e-4.
void expect_same_figures(const Json& a, const Json& b, const std::string& place) {
  ASSERT_EQ(a.type(), b.type()) << place;
  if (a.is_object()) {
    ASSERT_EQ(a.size(), b.size()) << place;
    for (const auto& [key, value] : a.items()) {
      ASSERT_TRUE(b.contains(key)) << place << '/' << key;
      expect_same_figures(value, b[key], place + "/" + key);
    }
  } else if (a.is_number_float()) {
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-4) << place;
  } else {
    EXPECT_EQ(a, b) << place;
  }
}

// Figures of a network by our engine and by LibTorch's, on the same examples.
TEST_F(EvalVerb, BothEnginesGiveTheSameFigures) {
  const auto compare = [&](const std::string& arguments) {
    const Finished ours = run(arguments + " --json --quiet"),
                   theirs = run(arguments + " --json --quiet --engine torch");
    ASSERT_EQ(ours.exit_code, 0) << ours.err;
    ASSERT_EQ(theirs.exit_code, 0) << theirs.err;
    expect_same_figures(Json::parse(ours.out), Json::parse(theirs.out), arguments);
  };
  compare("sudoku --model run/model.safetensors --count 40 --clues 5 --pipeline --seed 3");
  compare("sudoku --model run/model.safetensors --boards boards.txt --validation --threads 1");
  AS2_NEED_MNIST();
  const auto shipped = [&](const std::string& name, const std::string& more) {
    compare(name.substr(0, name.find('-')) + " --model " + kModels + name + ".safetensors " + more);
  };
  shipped("sudoku-best", "--count 16 --clues 36 --no-clingo");
  shipped("sudoku-paper", "--count 8 --no-clingo");
  shipped("sudoku-hard", "--count 4 --clues 24 --restarts 3 --passes 3 --no-clingo");
  shipped("digits-best", "--count 300");
  for (const char* addition : {"addition-n2-best", "addition-n4-sum-only", "addition-n8-best"})
    shipped(addition, "--count 50");
}

TEST_F(EvalVerb, OptionsOfAnotherEngineAreRefused) {
  const Finished device = run("sudoku --model run/model.safetensors --device cuda");
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_THAT(device.err, HasSubstr("add --engine torch"));
  const Finished memory = run("sudoku --model run/model.safetensors --engine torch --memory 9");
  EXPECT_EQ(memory.exit_code, 2);
  EXPECT_THAT(memory.err, HasSubstr("--memory bounds the native engine"));
}

TEST_F(EvalVerb, GeneratedBoardsAndATableForPeople) {
  const Finished finished = run(
      "sudoku --model run/model.safetensors --count 10 --clues 5 --no-clingo --refine 3 --pipeline --quiet");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("given clues\n"), HasSubstr("perceived clues\n"),
                                  HasSubstr("  pipeline "), HasSubstr("boards: 10\n")));
  EXPECT_THAT(finished.out, ::testing::ContainsRegex("  raw +[0-9.]+ +[0-9.]+ +[0-9.]+ +–\n"));
  const Json once =
      Json::parse(run("sudoku --model run/model.safetensors --count 10 --json --no-clingo --quiet").out);
  const Json again =
      Json::parse(run("sudoku --model run/model.safetensors --count 10 --json --no-clingo --quiet").out);
  EXPECT_EQ(once, again);
  EXPECT_EQ(once["boards"], 10);
}

TEST_F(EvalVerb, ListsThatAreWrong) {
  const auto refused = [&](const std::string& arguments,
                           const ::testing::Matcher<const std::string&>& message) {
    const Finished finished = run("sudoku --model run/model.safetensors --quiet " + arguments);
    EXPECT_EQ(finished.exit_code, 1) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_THAT(finished.err, message) << arguments;
  };
  const std::string good = sudoku::format_boards({boards_[0]});
  folder_->put("bad.txt", good + "# next\n12..x...........\n");
  refused("--boards bad.txt",
          AllOf(HasSubstr("bad.txt:3:5: error: 'x'"), HasSubstr("note: a line is a puzzle")));
  folder_->put("large.txt", std::string(81, '.') + "\n");
  refused("--boards large.txt", HasSubstr("error: "));
  folder_->put("open.txt", good + "1...............\n");
  refused("--boards open.txt",
          AllOf(HasSubstr("open.txt: error: a board has several solutions"), HasSubstr("note: ")));
  refused("--boards none.txt", HasSubstr("none.txt: error: "));
  folder_->put("empty.txt", "# none\n");
  refused("--boards empty.txt", HasSubstr("empty.txt: error: has no board\n"));
  refused("--boards boards.txt --clues 9", HasSubstr("boards.txt: error: has no board with that many clues"));
  refused("--set data.bxo=3", AllOf(HasSubstr("--set data.bxo=3: error: "), HasSubstr("'data.box'")));
  refused("--set train.rate=1", HasSubstr("'train.rate' has no effect here: it is for training"));
  refused("--set model.reasoner.width=32", HasSubstr("'model.reasoner.width' cannot change after training"));
  refused("--set model.reasoner.decided=-1", HasSubstr("'model.reasoner.decided' has to be at least 0"));
}

// Passes at evaluation are a setting that works.
TEST_F(EvalVerb, PassesOfTheReasonerCanBeSet) {
  const auto raw = [&](const std::string& more) {
    const Finished finished =
        run("sudoku --model run/model.safetensors --boards boards.txt --json --no-clingo --quiet " + more);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return Json::parse(finished.out)["given_clues"]["raw"];
  };
  EXPECT_EQ(raw("--passes 4"), raw(""));  // as it was trained
  EXPECT_NE(raw("--passes 1"), raw(""));
}

// Without pictures the reasoner is measured by itself, and its symbols may be such as no picture shows.
TEST_F(EvalVerb, AReasonerByItself) {
  const Finished finished =
      run("sudoku --model run/model.safetensors --set images.positions=[] --set data.box=4 --set "
          "program.compiled=programs/sudoku-b4.as2c --clues 180 --count 1 --json --no-clingo --quiet");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "") << "another program was asked for, none was exchanged";
  const Json figures = Json::parse(finished.out);
  EXPECT_TRUE(figures.contains("given_clues"));
  EXPECT_FALSE(figures.contains("perceived_clues"));
  EXPECT_EQ(figures["given_clues"]["map"]["board"], 1);
}

// Else every answer would be certified to be none, by the rules for boards of another size.
TEST_F(EvalVerb, ClingoCertifiesByTheProgramThatIsSolved) {
  const std::string small =
      "sudoku --model sudoku-best --set images.positions=[] --json --quiet --count 5 --set data.box=2 "
      "--clues 7 "
      "--set program.compiled=programs/sudoku-b2.as2c ";
  const Finished refused = run(small);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, AllOf(HasSubstr("sudoku-b2.as2c: error: is not what "),
                                 HasSubstr("sudoku.lp compiles to"), HasSubstr("--no-clingo")));
  const Finished certified = run(small + "--set 'program.constants=[\"b=2\"]'");
  ASSERT_EQ(certified.exit_code, 0) << certified.err;
  EXPECT_EQ(Json::parse(certified.out)["given_clues"]["map"]["vcsr"], 1);
  EXPECT_EQ(run(small + "--no-clingo").exit_code, 0);
}

// Means are taken as on boards of the size of training: without that it is 3 of 20.
TEST_F(EvalVerb, AReasonerSolvesBoardsOfASizeItNeverSaw) {
  const std::string larger =
      "sudoku --model sudoku-best --set images.positions=[] --json --no-clingo --quiet --count 20 ";
  const auto raw = [&](const std::string& options) {
    const Finished finished = run(larger + options);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return Json::parse(finished.out)["given_clues"]["raw"]["board"].get<double>();
  };
  EXPECT_GE(raw("--set data.box=4 --set program.compiled=programs/sudoku-b4.as2c --clues 115"), 0.4);
  EXPECT_EQ(raw("--set data.box=2 --set program.compiled=programs/sudoku-b2.as2c --clues 7"), 1);
}

TEST_F(EvalVerb, NumbersBelowNothingAreRefused) {
  for (const std::string option :
       {"--seed -1", "--count -1", "--count 0", "--refine -1", "--restarts 0", "--passes 0", "--clues -3",
        "--clues -3-5", "--set model.reasoner.eval_passes=4"}) {
    const Finished finished = run("sudoku --model run/model.safetensors --quiet " + option);
    EXPECT_EQ(finished.exit_code, 2) << option << ": " << finished.err;
  }
}

TEST_F(EvalVerb, GroundingHasLimits) {
  const Finished finished =
      run("sudoku --model run/model.safetensors --quiet --set 'program.constants=[\"b=2\"]' --grounding-size "
          "100");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("together more than 100"));
}

TEST_F(EvalVerb, FlagsThatDoNotApplyAreRefused) {
  const Finished trained = testing::run_as2(
      folder_->str(),
      "train sudoku --preset tiny --batch 16 --epochs 1 --set data.train=16 --set data.validation=8 "
      "--set model.reasoner.width=8 --set model.reasoner.passes=2 --out blind --quiet");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Finished finished = run("sudoku --model blind/model.safetensors --count 2 --pipeline --quiet");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--pipeline does not apply: the model has no perception"));
  const Finished blind = run("sudoku --model blind/model.safetensors --count 2 --seed 3 --quiet");
  EXPECT_EQ(blind.exit_code, 2);
  EXPECT_THAT(blind.err, HasSubstr("--seed does not apply: no picture is drawn"));
  const Finished elsewhere = run("sudoku --model blind/model.safetensors --data-dir nowhere --quiet");
  EXPECT_EQ(elsewhere.exit_code, 2);
  EXPECT_THAT(elsewhere.err, HasSubstr("--data-dir does not apply: the task 'sudoku' reads no picture"));
  AS2_NEED_MNIST();
  for (const char* task : {"addition", "digits"}) {
    const Finished certified = run(std::string(task) + " --count 2 --no-clingo --quiet");
    EXPECT_EQ(certified.exit_code, 2);
    EXPECT_THAT(certified.err, HasSubstr("--no-clingo does not apply: examples of the task"));
    const Finished seeded = run(std::string(task) + " --count 2 --seed 0 --quiet");
    EXPECT_EQ(seeded.exit_code, 2);
    EXPECT_THAT(seeded.err, HasSubstr("--seed does not apply: no picture is drawn"));
  }
}

// Weights that are not those of the card are noticed before they answer.
TEST_F(EvalVerb, ExchangedWeightsAreNoticed) {
  std::string bytes = read_file(model());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder_->put("changed.safetensors", bytes);
  fs::copy_file(*folder_ / "run/model.json", *folder_ / "changed.json");
  fs::copy_file(*folder_ / "run/model.toml", *folder_ / "changed.toml");
  const Finished finished = run("sudoku --model changed.safetensors --count 2 --quiet");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("changed.safetensors: error: damaged, or exchanged"),
                                  HasSubstr("its card changed.json says")));
}

TEST_F(EvalVerb, ModelsThatAreWrong) {
  const auto refused = [&](const std::string& arguments,
                           const ::testing::Matcher<const std::string&>& message) {
    const Finished finished = run(arguments + " --quiet");
    EXPECT_EQ(finished.exit_code, 1) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_THAT(finished.err, message) << arguments;
  };
  refused("sudoku --model " + kModels + "digits-best.safetensors",
          HasSubstr("digits-best.safetensors: error: is a model of the task 'digits', not of 'sudoku'"));
  refused("sudoku --model run/model.safetensors --set program.compiled=programs/latin_square.as2c",
          AllOf(HasSubstr("model.safetensors: error: a model for another program"), HasSubstr("boxes"),
                HasSubstr("note: ")));
  const std::string whole = read_file(model());
  folder_->put("cut.safetensors", whole.substr(0, whole.size() - 100));
  fs::copy_file(*folder_ / "run/model.json", *folder_ / "cut.json");
  fs::copy_file(*folder_ / "run/model.toml", *folder_ / "cut.toml");
  refused("sudoku --model cut.safetensors",
          AllOf(HasSubstr("cut.safetensors: error: "), HasSubstr("partly copied")));
  folder_->put("alone.safetensors", whole);
  refused("sudoku --model alone.safetensors",
          HasSubstr("alone.safetensors: error: the card of these weights is missing: alone.json"));
  folder_->put("torn.safetensors", whole);
  folder_->put("torn.json", "{\"model\": ");
  refused("sudoku --model torn.safetensors", HasSubstr("torn.json: error: not a model card"));
  refused("chess", HasSubstr("error: "));
}

TEST_F(EvalVerb, AdditionFromAListOfTestDigits) {
  AS2_NEED_MNIST();
  const datasets::Digits& digits = test::real_mnist().mnist->test;
  std::string list = "# pairs of MNIST's test digits\n";
  torch::Tensor pixels = torch::empty({400, 28, 28});
  std::vector<int> labels;
  for (int n = 0; n < 200; ++n) {
    int sum = 0;
    for (const int picture : {n * 37, 9999 - n * 11}) {
      const std::uint8_t* image = digits.image(static_cast<std::size_t>(picture));
      float* to = pixels.data_ptr<float>() + labels.size() * 784;
      for (int k = 0; k < 784; ++k) to[k] = image[k] / 255.0F;
      labels.push_back(digits.labels[static_cast<std::size_t>(picture)]);
      sum += labels.back();
    }
    list += std::to_string(n * 37) + " " + std::to_string(9999 - n * 11) + " " + std::to_string(sum) + "\n";
  }
  folder_->put("pairs.txt", list);
  const std::string weights = kModels + "addition-n2-sum-only.safetensors";
  const Finished finished = run("addition --model " + weights + " --list pairs.txt --json --quiet");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json result = Json::parse(finished.out);
  EXPECT_EQ(result["n"], 2);
  EXPECT_EQ(result["examples"], 200);
  EXPECT_EQ(result["supervision"], "sum");

  // No network decides the sum: it is that of the two most likely digits.
  const torch::NoGradGuard no_grad;
  const eval::Trained trained = eval::load_trained(weights, "addition", {}, {});
  const auto network = nn::load_model(trained.card, trained.task->program());
  const torch::Tensor read = network->perception->forward(pixels).logits.argmax(-1);
  double right = 0, sums = 0;
  for (int n = 0; n < 400; n += 2) {
    const auto first = read[n].item<std::int64_t>(), second = read[n + 1].item<std::int64_t>();
    right +=
        (first == labels[static_cast<std::size_t>(n)]) + (second == labels[static_cast<std::size_t>(n) + 1]);
    sums += first + second == labels[static_cast<std::size_t>(n)] + labels[static_cast<std::size_t>(n) + 1];
  }
  EXPECT_NEAR(result["digit_accuracy"].get<double>(), right / 400, 1e-9);
  EXPECT_NEAR(result["sum_accuracy"].get<double>(), sums / 200, 1e-9);

  folder_->put("pairs.txt", "# pairs\n\n0 1 8\n");
  const Finished wrong = run("addition --model " + weights + " --list pairs.txt --quiet");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("pairs.txt:3: error: the sum is " +
                                   std::to_string(digits.labels[0] + digits.labels[1]) + ", not 8"));
  folder_->put("pairs.txt", "0 1 9\n0 10000 7\n");
  EXPECT_THAT(run("addition --model " + weights + " --list pairs.txt --quiet").err,
              HasSubstr("pairs.txt:2: error: picture 10000 is not one of 0 to 9999"));
}

// On the digits kept out of training the shipped perception scores what its card says it scored there.
TEST_F(EvalVerb, ValidationPicturesAreThoseThatChoseTheCheckpoint) {
  AS2_NEED_MNIST();
  const Finished finished = run("digits --validation --count 5000 --json --quiet");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json result = Json::parse(finished.out), card = Json::parse(read_file(kModels + "digits-best.json"));
  EXPECT_EQ(result["pictures"], "validation");
  EXPECT_NEAR(result["digit_accuracy"].get<double>(), card["validation"]["score"].get<double>(), 2.5e-4);
  EXPECT_EQ(Json::parse(run("digits --count 100 --json --quiet").out)["pictures"], "test");
}

TEST_F(EvalVerb, HelpNamesEveryFlag) {
  const std::string help = run("--help").out;
  for (const char* flag :
       {"--model", "--boards,--list", "--clues", "--count", "--seed", "--refine", "--set", "--device",
        "--data-dir", "--validation", "--no-clingo", "--pipeline", "--quiet", "--json", "--threads"})
    EXPECT_THAT(help, HasSubstr(std::string("  ") + flag));
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_EQ(run("sudoku --clues many").exit_code, 2);
}

}  // namespace
}  // namespace as2::cli
