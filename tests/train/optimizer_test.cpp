#include "train/optimizer.h"

#include <gtest/gtest.h>

namespace as2::train {
namespace {

struct Pair {
  torch::Tensor matrix = torch::ones({3, 2}).set_requires_grad(true);
  torch::Tensor bias = torch::zeros({2}).set_requires_grad(true);
};

torch::Tensor loss_of(const Pair& p, const torch::Tensor& x) {
  return (torch::mm(x, p.matrix) + p.bias - 3).pow(2).mean();
}

// LibTorch's AdamW is the reference: two parameters, decay on the matrix alone.
TEST(Optimizer, StepsAsAdamWDoes) {
  torch::manual_seed(1);
  Pair ours, theirs;
  OptimizerOptions options;
  options.clip_norm = 0;
  Optimizer optimizer({{"all", {{"matrix", ours.matrix}, {"bias", ours.bias}}, 1}}, options);
  const auto torch_options = [&](double decay) {
    return torch::optim::AdamWOptions(0.05)
        .betas({options.beta1, options.beta2})
        .eps(options.epsilon)
        .weight_decay(decay);
  };
  torch::optim::AdamW matrix_reference({theirs.matrix}, torch_options(options.weight_decay));
  torch::optim::AdamW bias_reference({theirs.bias}, torch_options(0));
  optimizer.set_learning_rate(0.05);
  for (int step = 0; step < 20; ++step) {
    const torch::Tensor x = torch::randn({5, 3});
    optimizer.zero_grad();
    loss_of(ours, x).backward();
    optimizer.step();
    matrix_reference.zero_grad();
    bias_reference.zero_grad();
    loss_of(theirs, x).backward();
    matrix_reference.step();
    bias_reference.step();
  }
  EXPECT_TRUE(torch::allclose(ours.matrix, theirs.matrix, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(ours.bias, theirs.bias, 1e-5, 1e-6));
}

TEST(Optimizer, ClipsTheNormOfAllGroupsTogether) {
  torch::Tensor a = torch::zeros({4}).set_requires_grad(true), b = torch::zeros({4}).set_requires_grad(true);
  OptimizerOptions options;
  options.clip_norm = 1;
  Optimizer optimizer({{"a", {{"a", a}}, 1}, {"b", {{"b", b}}, 1}}, options);
  optimizer.zero_grad();
  (3 * a.sum() + 4 * b.sum()).backward();
  optimizer.step();
  EXPECT_NEAR(optimizer.gradient_norm().item<double>(), 10, 1e-5);
}

TEST(Optimizer, AFrozenGroupStandsStill) {
  torch::Tensor still = torch::ones({2, 2}).set_requires_grad(true),
                moving = torch::ones({2, 2}).set_requires_grad(true);
  Optimizer optimizer({{"still", {{"s", still}}, 1}, {"moving", {{"m", moving}}, 1}}, {});
  optimizer.set_learning_rate(0.1);
  optimizer.freeze("still", true);
  EXPECT_FALSE(still.requires_grad());
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    (still * moving).sum().backward();
    optimizer.step();
  }
  EXPECT_TRUE(still.equal(torch::ones({2, 2})));
  EXPECT_FALSE(moving.equal(torch::ones({2, 2})));
  optimizer.freeze("still", false);
  optimizer.zero_grad();
  (still * moving).sum().backward();
  optimizer.step();
  EXPECT_FALSE(still.equal(torch::ones({2, 2})));
}

TEST(Optimizer, TheAverageSwapsInAndOut) {
  torch::Tensor w = torch::zeros({2}).set_requires_grad(true);
  OptimizerOptions options;
  options.ema_decay = 0.5;
  Optimizer optimizer({{"w", {{"w", w}}, 1}}, options);
  optimizer.set_learning_rate(1);
  optimizer.zero_grad();
  (-w.sum()).backward();
  optimizer.step();
  const torch::Tensor stepped = w.detach().clone();
  EXPECT_NEAR(stepped[0].item<double>(), 1, 1e-4);
  optimizer.swap_average();
  // After one step the average keeps 2/11 of the old weights, less than ema_decay.
  EXPECT_NEAR(w[0].item<double>(), 1 - 2.0 / 11, 1e-4);
  optimizer.swap_average();
  EXPECT_TRUE(w.equal(stepped));
}

}  // namespace
}  // namespace as2::train
