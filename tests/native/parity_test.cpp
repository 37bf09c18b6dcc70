// The networks without LibTorch give what LibTorch's give, from the same weights: what ships, pass by pass,
// and random weights on random small programs of every kind.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "as2/resources.h"
#include "as2/soft_tp.h"
#include "files.h"
#include "infer/program.h"
#include "native/networks.h"
#include "native/soft_tp.h"
#include "native/soft_tp_reasoner.h"
#include "native/transformer.h"
#include "nn/inputs.h"
#include "nn/model.h"
#include "nn/restarts.h"
#include "support/hand_programs.h"
#include "tp/beliefs.h"

namespace as2::native {
namespace {

constexpr double kTolerance = 1e-4;  // of 1, or of the number where it is larger
constexpr std::size_t kMemory = std::size_t{1} << 30;

void expect_same(const torch::Tensor& expected, const torch::Tensor& ours, const std::string& what) {
  ASSERT_EQ(expected.sizes(), ours.sizes()) << what;
  const auto finite = expected.isfinite();
  ASSERT_TRUE(finite.equal(ours.isfinite())) << what;
  const auto off = ((expected - ours) / expected.abs().clamp_min(1)).masked_select(finite).abs();
  if (off.numel() == 0) return;
  EXPECT_LT(off.max().item<double>(), kTolerance) << what;
}

torch::Tensor run(const PerceptionNet& perception, const torch::Tensor& pictures, int threads = 2,
                  std::size_t memory = kMemory) {
  Threads workers(threads);
  const auto given = pictures.contiguous();
  auto logits = torch::empty({given.size(0), perception.symbols()});
  perception.run(workers, memory, given.size(0), given.data_ptr<float>(), logits.data_ptr<float>());
  return logits;
}

struct Reasoned {
  torch::Tensor logits;
  std::vector<int> passes;
};

Reasoned run(const Reasoner& reasoner, const nn::ReasonerInput& input, int passes, int threads = 2,
             std::size_t memory = kMemory) {
  Threads workers(threads);
  const auto beliefs = input.beliefs.to(torch::kFloat32).contiguous();
  const auto given = input.evidence.to(torch::kInt8).contiguous();
  const auto output = reasoner.run(workers, memory,
                                   {beliefs.size(0), beliefs.data_ptr<float>(),
                                    reinterpret_cast<const char*>(given.data_ptr<std::int8_t>())},
                                   {passes, 1});
  return {torch::tensor(output.logits).view(beliefs.sizes()), output.passes};
}

void expect_same_passes(nn::Reasoner& theirs, const Reasoner& ours, const nn::ReasonerInput& input,
                        int most) {
  theirs.eval();
  for (int passes = 1; passes <= most; ++passes) {
    const auto expected = theirs.forward(input, passes);
    const Reasoned result = run(ours, input, passes);
    expect_same(expected.logits.back(), result.logits, "pass " + std::to_string(passes));
    for (std::size_t n = 0; n < result.passes.size(); ++n)
      EXPECT_EQ(result.passes[n], expected.passes[static_cast<std::int64_t>(n)].item<int>());
  }
}

// ---- What ships -------------------------------------------------------------------------------------------

class Shipped : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    torch::manual_seed(1);
    const auto card = infer::read_card(shipped_file("models/" + GetParam() + ".safetensors"));
    const auto program = infer::load_program(card.program);
    theirs_ = nn::load_model(card, *program);
    for (const kernels::Version* version : kernels::versions())
      ours_.push_back(std::make_unique<Networks>(card, program, EngineOptions{2, kMemory, version}));
  }

  torch::NoGradGuard no_grad_;
  std::shared_ptr<nn::Model> theirs_;
  std::vector<std::unique_ptr<Networks>> ours_;  // one per version of the kernels
};

// As tests/nn/shipped_test.cpp draws them.
torch::Tensor stored_pictures() {
  const auto across = torch::arange(28.).view({1, 1, 28}), down = torch::arange(28.).view({1, 28, 1}),
             which = torch::arange(2.).view({2, 1, 1});
  return (torch::sin(across * 0.3 + which) * torch::cos(down * 0.2 - which) + 1) / 2;
}

nn::ReasonerInput stored_board() {
  const std::string cells =
      "6.58..24.2.8..679....34...64.926.3.5....93.......85...8.4........1.348...5.9..46.";
  nn::ReasonerInput input{torch::full({1, 81, 9}, 1. / 9), torch::zeros({1, 81}, torch::kBool)};
  for (int i = 0; i < 81; ++i) {
    if (cells[i] == '.') continue;
    input.beliefs[0][i].zero_();
    input.beliefs[0][i][cells[i] - '1'] = 1;
    input.evidence[0][i] = true;
  }
  return input;
}

TEST_P(Shipped, PerceptionGivesWhatLibTorchsGives) {
  const auto pictures = torch::cat({stored_pictures(), torch::rand({5, 28, 28}), torch::zeros({1, 28, 28})});
  const auto expected = theirs_->perception->forward(pictures).logits;
  for (const auto& ours : ours_) expect_same(expected, run(*ours->perception(), pictures), "logits");
}

TEST_P(Shipped, GivesTheStoredNumbers) {
  const auto golden = nlohmann::json::parse(
      read_file(std::filesystem::path(AS2_SOURCE_DIR) / "tests/nn/shipped.json"))[GetParam()];
  const auto logits = run(*ours_[0]->perception(), stored_pictures()).flatten();
  ASSERT_EQ(golden["image_logits"].size(), static_cast<std::size_t>(logits.numel()));
  for (std::int64_t k = 0; k < logits.numel(); ++k) {
    const double wanted = golden["image_logits"][static_cast<std::size_t>(k)];
    EXPECT_NEAR(logits[k].item<double>(), wanted, kTolerance * std::max(1., std::abs(wanted)));
  }
}

TEST_P(Shipped, EveryPassOfTheReasonerGivesWhatLibTorchsGives) {
  if (!theirs_->reasoner) GTEST_SKIP() << "no reasoner";
  for (const auto& ours : ours_) expect_same_passes(*theirs_->reasoner, *ours->reasoner(), stored_board(), 6);
}

INSTANTIATE_TEST_SUITE_P(Models, Shipped,
                         ::testing::Values("sudoku-best", "sudoku-hard", "sudoku-paper", "digits-best",
                                           "cells-best", "addition-n2-best", "addition-n2-sum-only",
                                           "addition-n4-best", "addition-n4-sum-only", "addition-n8-best",
                                           "addition-n8-sum-only", "multi_digit_addition-n1",
                                           "multi_digit_addition-n2", "multi_digit_addition-n4",
                                           "multi_digit_addition-n15", "formula-best", "grid_path-best",
                                           "sudoku-blanks"),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// ---- Random weights, random programs ----------------------------------------------------------------------

// Away from where training would start them, so that every one of them matters.
void randomise(torch::nn::Module& module) {
  for (auto& parameter : module.parameters()) parameter.normal_(0, 0.4);
}

std::vector<compile::ConstraintProgram> programs() {
  std::vector<compile::ConstraintProgram> programs{testing::sudoku(2), test::addition(2, 4),
                                                   test::reachability(3)};
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    programs.push_back(test::random_constraints(seed, {true, true, true, true, false}));
  return programs;
}

TEST(SoftTp, IsLibTorchs) {
  for (auto& program : programs()) {
    const tp::SoftTp theirs(program, tp::Kernel::kReference);
    const SoftTp ours(program);
    SoftTp::Scratch scratch = ours.scratch();
    test::Random random(1);
    for (const int zeros : {0, 3, 8}) {
      const auto beliefs = test::random_beliefs(program, 1, random, zeros).to(torch::kFloat32).contiguous();
      const auto expected = theirs.leave_one_out(beliefs);
      auto factors = torch::full_like(expected, -1);
      ours.leave_one_out(beliefs.data_ptr<float>(), factors.data_ptr<float>(), scratch);
      EXPECT_LT((factors - expected).abs().max().item<double>(), 1e-5);
      EXPECT_NEAR(ours.max_residual(beliefs.data_ptr<float>(), scratch),
                  theirs.max_residual(beliefs).item<double>(), 1e-5);
      for (const int steps : {0, 1, 10}) {
        auto refined = beliefs.clone();
        ours.refine(refined.data_ptr<float>(), steps, scratch);
        EXPECT_LT((refined - theirs.refine(beliefs, steps)).abs().max().item<double>(), 1e-4) << steps;
      }
    }
  }
}

class Tensors {
 public:
  explicit Tensors(const torch::nn::Module& module) : weights_(file_, "random.safetensors") {
    file_.tensors = nn::pack_module(module, "reasoner.");
  }
  Weights& weights() { return weights_; }

 private:
  formats::SafeTensorFile file_;
  Weights weights_;
};

TEST(SoftTpReasoner, IsLibTorchsOnProgramsOfEveryKind) {
  const torch::NoGradGuard no_grad;
  int seed = 0;
  for (auto& program : programs()) {
    for (const auto mixing : {infer::Mixing::kAttention, infer::Mixing::kPooling, infer::Mixing::kBoth}) {
      infer::SoftTpReasonerOptions options;
      options.width = 12;
      options.heads = 2;
      options.d_ff = 20;
      options.mixing = mixing;
      options.tp_feedback = ++seed % 4 != 0;
      options.residual_tolerance = 0.5;
      options.decided = 0.5;
      torch::manual_seed(seed);
      nn::SoftTpReasoner theirs(options, program);
      randomise(theirs);
      Tensors tensors(theirs);
      infer::Sizes trained;  // as if on programs of other sizes
      if (seed % 2 == 0) trained = {5, std::vector<int>(program.families.size(), 7)};
      theirs.set_trained_sizes(trained);
      for (const kernels::Version* version : kernels::versions()) {
        const SoftTpReasoner ours(*version, options, program, tensors.weights(), trained);
        tensors.weights().refuse_unused();
        expect_same_passes(theirs, ours, testing::random_input(program, 3, seed), 4);
      }
    }
  }
}

TEST(SoftTpReasoner, TrajectoriesAndRestartsAreLibTorchs) {
  const torch::NoGradGuard no_grad;
  const auto program = testing::sudoku(2);
  infer::SoftTpReasonerOptions options;
  options.width = 12;
  options.heads = 2;
  options.d_ff = 20;
  options.passes = 2;
  options.state_noise = 0.7;
  options.path_noise = 0.4;
  torch::manual_seed(9);
  nn::SoftTpReasoner theirs(options, program);
  randomise(theirs);
  theirs.eval();
  Tensors tensors(theirs);
  const SoftTpReasoner ours(*kernels::versions().front(), options, program, tensors.weights());
  const auto input = testing::random_input(program, 4, 11);
  const tp::SoftTp soft_tp(program);
  for (const int restarts : {1, 2, 5}) {
    const auto first = theirs.forward(input, 5).logits.back();
    const auto expected = nn::run_restarts(theirs, soft_tp, input, first, restarts, 5).logits;
    Threads workers(2);
    const auto given = input.evidence.to(torch::kInt8).contiguous();
    const auto output = ours.run(
        workers, kMemory,
        {4, input.beliefs.data_ptr<float>(), reinterpret_cast<const char*>(given.data_ptr<std::int8_t>())},
        {5, restarts});
    expect_same(expected, torch::tensor(output.logits).view(expected.sizes()),
                std::to_string(restarts) + " trajectories");
  }
}

TEST(TransformerReasoner, IsLibTorchsInEveryPlacement) {
  const torch::NoGradGuard no_grad;
  int seed = 100;
  for (auto& program : programs()) {
    for (const auto placement :
         {infer::Placement::kMembership, infer::Placement::kRelation, infer::Placement::kIndex}) {
      infer::TransformerOptions options;
      options.layers = 2;
      options.heads = 2;
      options.d_model = 12;
      options.d_ff = 20;
      options.passes = 1 + seed % 3;
      options.placement = placement;
      options.clamp = ++seed % 2 == 0;
      options.restore = seed % 3 == 0;
      options.pooled = program.positions.back().name == "total" && seed % 2 == 0;
      torch::manual_seed(seed);
      nn::TransformerReasoner theirs(options, program);
      randomise(theirs);
      Tensors tensors(theirs);
      const TransformerReasoner ours(*kernels::versions().front(), options, program, tensors.weights());
      tensors.weights().refuse_unused();
      expect_same_passes(theirs, ours, testing::random_input(program, 5, seed), 1);
    }
  }
}

TEST(TransformerReasoner, DecidesTheSumFromTheMeanToken) {
  const torch::NoGradGuard no_grad;
  const auto program = test::addition(3, 4);
  infer::TransformerOptions options;
  options.layers = 1;
  options.heads = 2;
  options.d_model = 8;
  options.d_ff = 8;
  options.placement = infer::Placement::kIndex;
  options.pooled = true;
  options.clamp = options.restore = false;
  torch::manual_seed(5);
  nn::TransformerReasoner theirs(options, program);
  randomise(theirs);
  Tensors tensors(theirs);
  const TransformerReasoner ours(*kernels::versions().front(), options, program, tensors.weights());
  expect_same_passes(theirs, ours, testing::random_input(program, 9, 6), 1);
}

// ---- Threads and memory -----------------------------------------------------------------------------------

TEST(Batches, GiveTheSameNumbersHoweverTheyAreCut) {
  const torch::NoGradGuard no_grad;
  const auto card = infer::read_card(shipped_file("models/sudoku-best.safetensors"));
  const auto program = infer::load_program(card.program);
  const Networks networks(card, program, {});
  const auto pictures = torch::rand({23, 28, 28});
  const auto input = testing::random_input(*program, 5, 7);
  const auto logits = run(*networks.perception(), pictures, 1);
  const auto reasoned = run(*networks.reasoner(), input, 2, 1);
  EXPECT_TRUE(logits.equal(run(*networks.perception(), pictures, 3)));
  EXPECT_TRUE(logits.equal(run(*networks.perception(), pictures, 3, 1500000)));
  EXPECT_TRUE(logits.equal(torch::cat({run(*networks.perception(), pictures.narrow(0, 0, 4)),
                                       run(*networks.perception(), pictures.narrow(0, 4, 19))})));
  EXPECT_TRUE(reasoned.logits.equal(run(*networks.reasoner(), input, 2, 3).logits));
  EXPECT_TRUE(reasoned.logits.equal(run(*networks.reasoner(), input, 2, 3, 3000000).logits));
  EXPECT_THROW(run(*networks.perception(), pictures, 1, 100000), InputError);
  EXPECT_THROW(run(*networks.reasoner(), input, 1, 1, 100000), InputError);
}

}  // namespace
}  // namespace as2::native
