// What stands in hidden labels changes no loss and no weight, whatever the source of the examples.
#include <gtest/gtest.h>

#include <optional>

#include "support/bars.h"
#include "support/temporary_folder.h"
#include "train/trainer.h"

namespace as2::train {
namespace {

const char* const kHiding = R"(
name = "hiding"
preset = "none.toml"

[program]
file = "hiding.lp"

[images]
positions = ["d(*"]
source = "bars"

[data]
train = 256
validation = 64

[model.perception]
preset = "paper"
width = 0.125
d_model = 16
)";
const std::string kNoReasoner = "[model.reasoner]\nkind = \"none\"\n";
const std::string kSmallReasoner =
    "[model.reasoner]\nkind = \"soft-tp\"\nwidth = 16\nheads = 2\nd_ff = 16\npasses = 3\n";

const std::string kSums =
    "{ d(I,V) : V=1..4 } = 1 :- I=1..2.\n{ total(S) : S=2..8 } = 1.\n"
    ":- total(S), #sum{ V,I : d(I,V) } != S.\nbig :- d(1,3..4), d(2,3..4).\n";
const std::string kLatinSquare =
    "{ d(R,C,V) : V=1..4 } = 1 :- R=1..4, C=1..4.\n"
    ":- V=1..4, R=1..4, #count{ C : d(R,C,V) } > 1.\n:- V=1..4, C=1..4, #count{ R : d(R,C,V) } > 1.\n";
const std::string kOne = "{ d(V) : V=1..4 } = 1.\nlow :- d(1..2).\n";

struct Hiding {
  std::string name, program, reasoner;
  std::vector<std::string> settings;
  std::vector<std::string> losses;
};

std::vector<Hiding> cases() {
  const std::vector<std::string> sums = {"labels.observed=[\"total(_)\",\"big\"]",
                                         "labels.positions=[\"d(1,_)\"]"};
  const std::vector<std::string> all = {"perception", "evidence", "constraint", "satisfaction",
                                        "query",      "semantic", "ltn"};
  const auto square = [](const std::string& source, const std::string& cell) {
    return std::vector<std::string>{"data.source=" + source, "data.min_clues=6", "data.max_clues=9",
                                    "labels.positions=[\"" + cell + "(1,*\",\"" + cell + "(2,*\"]",
                                    "labels.observed=[\"" + cell + "(3,*\"]"};
  };
  const auto with = [](std::vector<std::string> settings, const std::vector<std::string>& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  };
  const std::vector<std::string> cells = {"perception", "evidence", "constraint"};
  return {
      {"tuples", kSums, kNoReasoner, with(sums, {"data.source=tuples"}), all},
      {"instances", kSums, kNoReasoner, with(sums, {"data.source=instances", "data.path=lines.jsonl"}), all},
      {"images",
       kOne,
       kNoReasoner,
       {"data.source=images", "labels.positions=[]", "labels.observed=[\"low\"]"},
       {"query"}},
      {"answers", kLatinSquare, kNoReasoner, square("answers", "d"), cells},
      {"boards", "", kNoReasoner,
       with(square("boards", "cell"),
            {"program.file=" AS2_SOURCE_DIR "/programs/sudoku.lp", "program.constants=[\"b=2\"]",
             "images.positions=[\"cell(*\"]", "data.box=2"}),
       cells},
      {"reasoner", kLatinSquare, kSmallReasoner, square("answers", "d"), with(cells, {"latent"})}};
}

class HiddenLabels : public ::testing::TestWithParam<Hiding> {
 protected:
  HiddenLabels() {
    testing::write_bars(folder_ / "bars");
    folder_.put("hiding.toml", kHiding);
    folder_.put("none.toml", GetParam().reasoner);
    folder_.put("hiding.lp", GetParam().program);
    std::string lines;
    for (int n = 0; n < 320; ++n) {
      const int a = 1 + n % 4, b = 1 + n / 4 % 4;
      lines += "{\"labels\": {\"d(1,_)\": " + std::to_string(a) + ", \"d(2,_)\": " + std::to_string(b) +
               ", \"total(_)\": " + std::to_string(a + b) + "}}\n";
    }
    std::vector<std::string> settings = GetParam().settings;
    const std::string path = folder_.put("lines.jsonl", lines);
    if (GetParam().name == "instances") settings.back() = "data.path=\"" + path + "\"";
    for (const std::string& loss : GetParam().losses) settings.push_back("losses." + loss + ".weight=1");
    Settings read = layered_settings(folder_ / "hiding.toml", folder_ / "none.toml", settings);
    config_ = read_config(read);
    task_ = std::make_unique<Task>(config_, TaskOptions{});
    model_ = read_model(read, static_cast<std::int64_t>(task_->classes().size()));
    read.refuse_unused();
  }

  // The losses of a few steps, and the weights after them.
  std::vector<torch::Tensor> trained(const Instances& instances) const {
    const compile::ConstraintProgram& program = task_->program();
    const auto& atoms = task_->supervision().atoms;
    const tp::SoftTp soft_tp(program);
    const torch::Tensor mask = soft_tp.mask(torch::empty({0}));
    std::optional<QueryLoss> query;
    std::optional<FuzzyTruth> fuzzy;
    if (config_.losses.weight("query") > 0) query.emplace(program, atoms, QueryConfig{}, torch::kCPU);
    if (config_.losses.weight("ltn") > 0) fuzzy.emplace(program, atoms, FuzzyConfig{});
    const Objective objective(config_.losses,
                              {&soft_tp, query ? &*query : nullptr, fuzzy ? &*fuzzy : nullptr, nullptr},
                              task_->pictures(), mask);
    EXPECT_EQ(objective.names().size(), GetParam().losses.size());
    BatchOptions options;
    options.batch = options.picture_rows = 32;
    torch::manual_seed(3);
    nn::Model model(model_, program);
    infer::Network network(model, task_->pictures(), mask);
    task::Batches batches(instances, task_->pool(Part::kTrain), task_->pictures(), options, torch::kCPU);
    torch::optim::SGD optimizer(model.parameters(), 0.1);
    std::vector<torch::Tensor> seen;
    for (int step = 0; step < 4; ++step) {
      const infer::Batch batch = batches.batch(step, 0);
      ForwardOptions forward;
      forward.perceived_rows = 32;
      const torch::Tensor values =
          objective.values(batch, network.forward(batch, forward), objective.counts(batch));
      optimizer.zero_grad();
      values.sum().backward();
      optimizer.step();
      seen.push_back(values.detach());
    }
    for (const torch::Tensor& parameter : model.parameters()) seen.push_back(parameter.detach());
    return seen;
  }

  test::TemporaryFolder folder_;
  Config config_;
  std::unique_ptr<Task> task_;
  nn::ModelOptions model_;
};

TEST_P(HiddenLabels, ChangeNoLossAndNoWeight) {
  const Instances clean = task_->instances(Part::kTrain, 256);
  const auto expected = trained(clean);
  for (int step = 0; step < 4; ++step) {
    EXPECT_TRUE(expected[static_cast<std::size_t>(step)].isfinite().all().item<bool>());
    EXPECT_GT(expected[static_cast<std::size_t>(step)].min().item<double>(), 0)
        << "every loss reads something";
  }
  for (const int poison : {-1, 0, 3}) {
    Instances poisoned = clean;
    for (std::size_t k = 0; k < poisoned.labels.cells.size(); ++k) {
      if (!clean.known.cells[k] && !clean.observed.cells[k])
        poisoned.labels.cells[k] = static_cast<std::int16_t>(poison);
    }
    EXPECT_NE(poisoned.labels.cells, clean.labels.cells);
    const auto found = trained(poisoned);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t t = 0; t < expected.size(); ++t) EXPECT_TRUE(found[t].equal(expected[t])) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, HiddenLabels, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace as2::train
