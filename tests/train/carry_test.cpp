// Examples that stay in the batch over several steps, and runs on a list of puzzles.
#include "train/carry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "files.h"
#include "sudoku/board_list.h"
#include "train/tiny_run.h"

namespace as2::train {
namespace {

using infer::label_beliefs;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<torch::Tensor> weights_of(TinyRun& run) {
  std::vector<torch::Tensor> weights;
  for (const auto& parameter : run.trainer->model().parameters())
    weights.push_back(parameter.detach().clone());
  return weights;
}

bool identical(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const torch::Tensor& x, const torch::Tensor& y) { return x.equal(y); });
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

const std::vector<std::string> kCarried = {
    "train.segments=4",        "train.corrupted_share=0.3",      "train.corruption=0.5",
    "model.reasoner.passes=2", "model.reasoner.state_noise=1.0", "model.reasoner.path_noise=0.05"};

std::string refusal(const std::vector<std::string>& overrides) {
  test::TemporaryFolder folder;
  try {
    TinyRun run(with(kShort, overrides), folder.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// The rows of a batch of 4 × 4 boards: example n has label (n + cell) mod 4, and every second cell is
// evidence.
struct Bench {
  TinyRun run;
  Batch current, fresh;
  nn::ReasonerState first;

  explicit Bench(const fs::path& folder, const std::vector<std::string>& settings = {})
      : run(with(kShort, settings), folder) {
    const torch::Tensor cells = torch::arange(16);
    const auto rows = [&](int begin) {
      Batch batch;
      batch.labels = (torch::arange(begin, begin + 3).unsqueeze(1) + cells).remainder(4);
      batch.known = torch::ones({3, 16}, torch::kBool);
      batch.evidence = (cells.remainder(2) == 0).expand({3, 16}).clone();
      return batch;
    };
    current = rows(0);
    fresh = rows(1);
    first = reasoner().start(input());
  }

  nn::Reasoner& reasoner() { return *run.trainer->model().reasoner; }
  torch::Tensor mask() const { return torch::ones({16, 4}, torch::kBool); }
  nn::ReasonerInput input() const {
    return {label_beliefs(current.labels, current.evidence, mask()), current.evidence};
  }
  // Two passes of logits: the labels, but wrong at cell 5 of row 1 in the first and of row 2 in both.
  Prediction prediction() const {
    const torch::Tensor right = torch::one_hot(current.labels, 4).to(torch::kFloat32);
    Prediction prediction;
    prediction.logits = {right.clone(), right.clone()};
    for (const auto& [pass, row] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}})
      prediction.logits[pass][row][5] = right[row][5].roll(1);
    prediction.state = {torch::full_like(first.x, 7), torch::full_like(first.beliefs, 0.25)};
    return prediction;
  }
};

TEST(Carry, SolvedAndOldExamplesLeaveAndTheOthersStay) {
  test::TemporaryFolder folder;
  Bench bench(folder.path());
  Carry carry(bench.reasoner(), {2, 0, 0}, bench.first, bench.mask());
  const Batch old = bench.current;
  bench.current = {};
  bench.current.copy_from(old);
  carry.refill(bench.current, bench.fresh);  // at first all rows are replaced
  EXPECT_TRUE(bench.current.labels.equal(bench.fresh.labels));

  carry.advance(bench.current, bench.prediction());
  EXPECT_TRUE(carry.counts().equal(torch::tensor({1.f, 1.f, 1.f})));
  const Batch before = bench.current;
  Batch other;
  other.copy_from(old);
  carry.refill(bench.current, other);
  EXPECT_TRUE(bench.current.labels[0].equal(old.labels[0]));          // solved in both passes: replaced
  EXPECT_TRUE(bench.current.labels[1].equal(bench.fresh.labels[1]));  // in the last pass alone: stays
  EXPECT_TRUE(bench.current.labels[2].equal(bench.fresh.labels[2]));  // not solved: stays
  const nn::ReasonerState state = carry.state(bench.current, bench.input());
  EXPECT_TRUE(state.x[0].equal(bench.first.x[0]));
  EXPECT_TRUE(state.beliefs[0].equal(bench.input().beliefs[0]));
  for (const int row : {1, 2}) {
    EXPECT_TRUE((state.x[row] == 7).all().item<bool>());
    EXPECT_TRUE((state.beliefs[row] == 0.25).all().item<bool>());
  }

  carry.advance(bench.current, bench.prediction());  // the limit: rows 1 and 2 leave, row 0 is solved at once
  EXPECT_TRUE(carry.counts().equal(torch::tensor({3.f, 1.f, 5.f})));
  carry.refill(bench.current, bench.fresh);
  EXPECT_TRUE(bench.current.labels.equal(bench.fresh.labels));
  carry.advance(bench.current, bench.prediction());  // ages count anew
  EXPECT_TRUE(carry.counts().equal(torch::tensor({1.f, 1.f, 1.f})));
}

TEST(Carry, CorruptedStartsAreAnswersWithMistakes) {
  test::TemporaryFolder folder;
  Bench bench(folder.path());
  Batch many;
  many.labels = bench.current.labels.repeat({100, 1});
  many.known = bench.current.known.repeat({100, 1});
  many.evidence = bench.current.evidence.repeat({100, 1});
  many.known.select(1, 3).fill_(false);
  const nn::ReasonerInput input{label_beliefs(many.labels, many.evidence, bench.mask()), many.evidence};
  torch::manual_seed(1);
  Carry carry(bench.reasoner(), {1, 0.5, 0.6}, bench.reasoner().start(input), bench.mask());
  const torch::Tensor beliefs = carry.state(many, input).beliefs;
  EXPECT_TRUE((beliefs.sum(-1) - 1).abs().lt(1e-5).all().item<bool>());
  const torch::Tensor changed = (beliefs != input.beliefs).any(-1), some = changed.any(1);
  EXPECT_NEAR(some.to(torch::kFloat64).mean().item<double>(), 0.5, 0.1);  // half of the boards,
  const torch::Tensor may = (many.known & ~many.evidence) & some.unsqueeze(1);
  EXPECT_TRUE(changed.equal(may));  // and of those what is neither evidence nor unknown
  const torch::Tensor wrong = (beliefs.argmax(-1) != many.labels) & may;
  const double share = wrong.sum().item<double>() / may.sum().item<double>();
  EXPECT_NEAR(share, 0.3, 0.05);  // between none and 0.6 of them, each as likely
  EXPECT_NEAR(beliefs.amax(-1).masked_select(may).mean().item<double>(), 0.925, 1e-4);
}

// Through the carry, but no example stays and none is corrupted: the run that today's steps make.
TEST(Carry, OneSegmentIsOrdinaryTraining) {
  test::TemporaryFolder folder;
  TinyRun plain(kShort, folder.path());
  plain.trainer->run_steps(12);
  TinyRun carried(with(kShort, {"train.corrupted_share=1e-12", "train.corruption=0.5"}), folder.path());
  carried.trainer->run_steps(12);
  EXPECT_TRUE(identical(weights_of(plain), weights_of(carried)));
  TinyRun longer(with(kShort, {"train.segments=2"}), folder.path());
  longer.trainer->run_steps(12);
  EXPECT_FALSE(identical(weights_of(plain), weights_of(longer)));
}

TEST(Carry, TrainingWithCarriedStatesLearns) {
  test::TemporaryFolder folder;
  TinyRun run(with(kCarried, {"data.train=1024", "data.validation=128", "train.epochs=12", "train.stop_at=2",
                              "model.reasoner.width=16"}),
              folder.path());
  const TrainResult result = run.trainer->run();
  const auto lines = records(folder.path());
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_LT(lines.back()["loss"].get<double>(), 0.5 * lines.front()["loss"].get<double>());
  EXPECT_GT(result.score, 0.5);
  EXPECT_GT(lines.back()["carried"]["solved"].get<double>(),
            lines.front()["carried"]["solved"].get<double>());
  EXPECT_LT(lines.back()["carried"]["segments"].get<double>(), 4);
  EXPECT_GT(lines.back()["carried"]["segments"].get<double>(), 1);
}

TEST(Carry, AStoppedAndResumedRunIsBitIdentical) {
  test::TemporaryFolder whole_folder, broken_folder;
  TinyRun whole(with(kShort, kCarried), whole_folder.path());
  whole.trainer->run();

  std::atomic<bool> stop{false};
  TrainHooks hooks;
  hooks.stop = &stop;
  hooks.on_progress = [&](const Progress& progress) { stop = progress.step >= 10; };
  TinyRun broken(with(kShort, kCarried), broken_folder.path(), hooks);
  EXPECT_TRUE(broken.trainer->run().interrupted());
  TinyRun resumed(with(kShort, kCarried), broken_folder.path());
  resumed.trainer->resume();
  EXPECT_EQ(resumed.trainer->run().steps, 24);
  EXPECT_TRUE(identical(weights_of(whole), weights_of(resumed)));
  EXPECT_EQ(whole.trainer->validate(), resumed.trainer->validate());
}

TEST(Carry, CapturedStepsAreTheStepsThemselves) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  test::TemporaryFolder folder;
  const auto after = [&](const char* graph) {
    TinyRun run(with(with(kShort, kCarried), {"train.precision=float32", graph}), folder.path(), {}, {},
                torch::kCUDA);
    run.trainer->run_steps(12);
    return weights_of(run);
  };
  const auto captured = after("train.graph=true"), plain = after("train.graph=false");
  for (std::size_t n = 0; n < plain.size(); ++n) EXPECT_TRUE(captured[n].allclose(plain[n], 1e-3, 1e-4)) << n;
}

// A list of 4 × 4 puzzles with four clues; every second line gives its solution.
std::string list_of(int count) {
  std::vector<sudoku::Board> boards = sudoku::generate({2, 4, 4, 5}, 0, static_cast<std::size_t>(count));
  for (std::size_t n = 0; n < boards.size(); n += 2) boards[n].solution.clear();
  return sudoku::format_boards(boards);
}

TEST(Carry, SettingsWithoutEffectAreRefused) {
  EXPECT_THAT(refusal({"model.reasoner.path_noise=0.1"}), HasSubstr("train.segments is 1"));
  EXPECT_THAT(refusal({"train.corrupted_share=0.1"}), HasSubstr("no effect without one another"));
  EXPECT_THAT(refusal({"train.corruption=0.1"}), HasSubstr("no effect without one another"));
  EXPECT_THAT(refusal({"model.reasoner.state_noise=-1"}), HasSubstr("at least 0"));
  EXPECT_THAT(refusal({"train.score=list"}), HasSubstr("does not validate"));
  EXPECT_THAT(refusal({"data.path_share=0.5"}), HasSubstr("no effect without a list"));
  EXPECT_THAT(refusal({"data.path_hints=0.5"}), HasSubstr("no effect without a list"));
  EXPECT_THAT(refusal({"data.path_validation=5"}), HasSubstr("no effect without a list"));
  test::TemporaryFolder folder;
  write_file(folder.path() / "list.txt", list_of(8));
  EXPECT_THAT(refusal({"data.path=\"" + (folder.path() / "list.txt").string() + "\""}),
              HasSubstr("data.path_share is 0"));
}

std::vector<std::string> listing(const fs::path& path, const std::vector<std::string>& more) {
  return with(with(kShort, {"data.path=\"" + path.string() + "\"", "data.path_share=0.75"}), more);
}

TEST(ListedBoards, AreTrainedOnAndValidatedApart) {
  test::TemporaryFolder folder;
  const fs::path list = folder.path() / "list.txt";
  write_file(list, list_of(30));
  TinyRun run(listing(list, {"data.path_validation=10", "train.score=list", "train.epochs=1"}),
              folder.path());
  const Instances held = run.task->listed(Part::kValidation), trained = run.task->listed(Part::kTrain);
  EXPECT_EQ(held.size(), 10);
  EXPECT_EQ(trained.size(), 20);
  for (int n = 0; n < 10; ++n) {
    const auto *labels = held.labels[n], *labels_end = held.labels[n + 1];
    const auto *clues = held.evidence[n], *clues_end = held.evidence[n + 1];
    EXPECT_TRUE(std::all_of(labels, labels_end, [](std::int16_t label) { return label >= 0; }));
    EXPECT_EQ(std::count(clues, clues_end, 1), 4);
    for (int other = 0; other < 20; ++other)
      EXPECT_FALSE(std::equal(labels, labels_end, trained.labels[other]) &&
                   std::equal(clues, clues_end, trained.evidence[other]));
  }
  const TrainResult result = run.trainer->run();
  EXPECT_EQ(result.validation["list"]["examples"], 10);
  EXPECT_EQ(result.validation["given"]["examples"], 64);
  EXPECT_EQ(result.score, result.validation["list"]["exact"].get<double>());
  run.config.train.score = "mean";
  TinyRun mean(listing(list, {"data.path_validation=10", "train.epochs=1"}), folder.path());
  const json both = mean.trainer->validate();
  EXPECT_DOUBLE_EQ(both["score"].get<double>(),
                   (both["list"]["exact"].get<double>() + both["given"]["exact"].get<double>()) / 2);
}

TEST(ListedBoards, ALineWithoutExactlyOneSolutionIsRefused) {
  test::TemporaryFolder folder;
  const fs::path list = folder.path() / "list.txt";
  write_file(list, "# boards\n" + list_of(2) + "1...............\n");
  EXPECT_THAT(refusal({"data.path=\"" + list.string() + "\"", "data.path_share=0.5"}),
              AllOf(HasSubstr("list.txt:4"), HasSubstr("several solutions")));
  write_file(list, list_of(2) + "12..34........5.\n");
  EXPECT_THAT(refusal({"data.path=\"" + list.string() + "\"", "data.path_share=0.5"}),
              HasSubstr("list.txt:3"));
  write_file(list, "123....4........\n");
  EXPECT_THAT(refusal({"data.path=\"" + list.string() + "\"", "data.path_share=0.5"}),
              AllOf(HasSubstr("list.txt:1"), HasSubstr("no solution")));
  write_file(list, list_of(2));
  EXPECT_THAT(
      refusal({"data.path=\"" + list.string() + "\"", "data.path_share=0.5", "data.path_validation=2"}),
      HasSubstr("leaves none to train on"));
}

}  // namespace
}  // namespace as2::train
