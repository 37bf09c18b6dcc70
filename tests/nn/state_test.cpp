// A reasoner's state: starting, going on from it, and the noise on it.
#include <gtest/gtest.h>

#include "nn/inputs.h"
#include "nn/soft_tp_reasoner.h"
#include "nn/transformer.h"

namespace as2::nn {
namespace {

using testing::difference;
using testing::random_input;
using testing::sudoku;

SoftTpReasonerOptions small_reasoner() {
  SoftTpReasonerOptions options;
  options.width = 16;
  options.heads = 2;
  options.d_ff = 32;
  options.passes = 3;
  options.eval_passes = 5;
  return options;
}

ReasonerInput from(const ReasonerInput& input, const ReasonerState& state) {
  return {input.beliefs, input.evidence, state};
}

TEST(ReasonerState, GoingOnIsOneLongRun) {
  const auto program = sudoku(2);
  torch::manual_seed(1);
  SoftTpReasoner reasoner(small_reasoner(), program);
  const auto input = random_input(program, 3, 2);
  const auto whole = reasoner.forward(input, 5), first = reasoner.forward(input, 2);
  const auto second = reasoner.forward(from(input, first.state), 3);
  EXPECT_EQ(difference(whole.logits[4], second.logits[2]), 0);
  EXPECT_EQ(difference(whole.state.x, second.state.x), 0);
  EXPECT_TRUE(whole.state.beliefs.equal(torch::softmax(whole.logits[4], -1)));
  EXPECT_GT(difference(whole.logits[4], reasoner.forward(input, 3).logits[2]), 1e-4);
  // Evaluation goes on as well.
  reasoner.eval();
  EXPECT_LT(difference(reasoner.forward(from(input, first.state), 3).logits[0], whole.logits[4]), 1e-5);
}

TEST(ReasonerState, GradientsStayWithinACall) {
  const auto program = sudoku(2);
  torch::manual_seed(3);
  SoftTpReasoner reasoner(small_reasoner(), program);
  auto earlier = random_input(program, 2, 4);
  earlier.beliefs.requires_grad_();
  const auto first = reasoner.forward(earlier);
  EXPECT_FALSE(first.state.x.requires_grad());
  EXPECT_FALSE(first.state.beliefs.requires_grad());
  auto later = from(earlier, first.state);
  later.beliefs = earlier.beliefs.detach().clone().requires_grad_();
  reasoner.forward(later).logits.back().square().sum().backward();
  EXPECT_FALSE(earlier.beliefs.grad().defined());
  EXPECT_GT(later.beliefs.grad().abs().sum().item<double>(), 0);
}

TEST(ReasonerState, AStartIsNothingOrNoise) {
  const auto program = sudoku(2);
  const auto input = random_input(program, 4, 5);
  auto options = small_reasoner();
  SoftTpReasoner plain(options, program);
  EXPECT_EQ(plain.start(input).x.abs().max().item<double>(), 0);
  EXPECT_TRUE(plain.start(input).beliefs.equal(input.beliefs));
  EXPECT_EQ(
      difference(plain.forward(from(input, plain.start(input))).logits[2], plain.forward(input).logits[2]),
      0);

  options.state_noise = 2;
  SoftTpReasoner noisy(options, program);
  torch::manual_seed(6);
  const auto drawn = noisy.start(input).x;
  EXPECT_NEAR(drawn.std().item<double>(), 2, 0.1);
  EXPECT_NEAR(drawn.mean().item<double>(), 0, 0.1);
  EXPECT_GT(difference(drawn[0], drawn[1]), 0.1);
  EXPECT_GT(difference(drawn, noisy.start(input).x), 0.1);
  torch::manual_seed(6);
  EXPECT_TRUE(drawn.equal(noisy.start(input).x));  // a seed repeats it
  torch::manual_seed(6);
  EXPECT_EQ(difference(noisy.forward(from(input, {drawn, input.beliefs})).logits[2],
                       noisy.forward(input).logits[2]),
            0);

  // Evaluation: the same for every instance, whatever the generator says; another for every trajectory.
  noisy.eval();
  const auto fixed = noisy.start(input).x;
  torch::manual_seed(7);
  EXPECT_TRUE(fixed.equal(noisy.start(input).x));
  EXPECT_TRUE(fixed[0].equal(fixed[3]));
  EXPECT_FLOAT_EQ(fixed[0][0][0].item<float>(), -1.1644033f);  // as every machine draws it
  EXPECT_NEAR(fixed.std().item<double>(), 2, 0.1);
  EXPECT_NEAR(fixed.mean().item<double>(), 0, 0.1);
  auto another = input;
  another.trajectory = 1;
  EXPECT_TRUE(noisy.has_trajectories());
  EXPECT_FALSE(plain.has_trajectories());
  EXPECT_GT(difference(fixed, noisy.start(another).x), 0.1);
  const auto alone = ReasonerInput{input.beliefs.narrow(0, 2, 1), input.evidence.narrow(0, 2, 1)};
  EXPECT_LT(difference(noisy.forward(alone).logits[0][0], noisy.forward(input).logits[0][2]), 1e-5);
  EXPECT_GT(difference(noisy.forward(another, 2).logits[0], noisy.forward(input, 2).logits[0]), 1e-4);
  noisy.bind(sudoku(3));
  EXPECT_EQ(noisy.start(random_input(sudoku(3), 1, 8)).x.size(1), 729);
}

TEST(ReasonerState, NoiseOnThePathIsForCarriedStatesInTraining) {
  const auto program = sudoku(2);
  const auto input = random_input(program, 2, 9);
  auto options = small_reasoner();
  options.path_noise = 0.5;
  torch::manual_seed(10);
  SoftTpReasoner reasoner(options, program);
  const auto state = reasoner.forward(input).state;
  EXPECT_TRUE(state.x.equal(reasoner.forward(input).state.x));  // nothing was carried in
  const auto first = reasoner.forward(from(input, state)).logits[0];
  EXPECT_GT(difference(first, reasoner.forward(from(input, state)).logits[0]), 1e-3);
  reasoner.eval();
  EXPECT_EQ(difference(reasoner.forward(from(input, state)).logits[0],
                       reasoner.forward(from(input, state)).logits[0]),
            0);
}

// A model with noise on the path alone: trajectories part where a segment of three passes ends.
TEST(ReasonerState, TrajectoriesAfterTheFirstAreDisturbed) {
  const auto program = sudoku(2);
  auto options = small_reasoner();
  options.path_noise = 0.5;
  torch::manual_seed(12);
  SoftTpReasoner reasoner(options, program);
  reasoner.eval();
  ReasonerInput first = random_input(program, 2, 13), second = first, third = first;
  second.trajectory = 1;
  third.trajectory = 2;
  const auto logits = [&](const ReasonerInput& input, int passes) {
    return reasoner.forward(input, passes).logits[0];
  };
  EXPECT_EQ(difference(logits(first, 3), logits(second, 3)), 0);
  EXPECT_GT(difference(logits(first, 4), logits(second, 4)), 1e-3);
  EXPECT_GT(difference(logits(third, 4), logits(second, 4)), 1e-3);
  EXPECT_EQ(difference(logits(second, 7), logits(second, 7)), 0);
  const auto halting = logits(second, 7);
  reasoner.set_fixed_passes(true);
  EXPECT_LT(difference(halting, logits(second, 7)), 1e-5);
}

TEST(ReasonerState, ATransformerHasNone) {
  const auto program = sudoku(2);
  TransformerOptions options;
  options.layers = 1;
  options.heads = 2;
  options.d_model = 16;
  options.d_ff = 32;
  TransformerReasoner reasoner(options, program);
  const auto input = random_input(program, 1, 11);
  EXPECT_FALSE(reasoner.carries_state());
  EXPECT_FALSE(reasoner.forward(input).state.defined());
  EXPECT_THROW(reasoner.start(input), ContractError);
  EXPECT_THROW(reasoner.forward(from(input, {torch::zeros({1}), input.beliefs})), ContractError);
}

}  // namespace
}  // namespace as2::nn
