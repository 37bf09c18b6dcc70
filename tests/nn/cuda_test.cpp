// What runs on CUDA gives what the CPU gives: kernels against the reference, forward and gradient, and whole
// networks. Skipped where LibTorch sees no device.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "as2/soft_tp.h"
#include "nn/group_pooling.h"
#include "nn/soft_tp_reasoner.h"
#include "programs.h"

namespace as2 {
namespace {

class Cuda : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
    torch::manual_seed(GetParam());
  }
  const compile::ConstraintProgram program_ = testing::sudoku(GetParam());
  torch::Tensor random_beliefs(std::int64_t batch) const {
    const auto n = static_cast<std::int64_t>(program_.positions.size());
    return torch::softmax(3 * torch::randn({batch, n, program_.max_symbols()}), -1);
  }
};

// The value and the gradient of f at x, on both devices.
template <class F>
void expect_same(const torch::Tensor& x, double tolerance, F f) {
  torch::Tensor values[2], gradients[2];
  for (const bool cuda : {false, true}) {
    const auto leaf = x.to(cuda ? torch::kCUDA : torch::kCPU).detach().clone().requires_grad_();
    const torch::Tensor y = f(leaf);
    const auto weights = torch::arange(y.numel(), y.options().requires_grad(false)).view_as(y).sin();
    (y * weights).sum().backward();
    values[cuda] = y.detach().cpu();
    gradients[cuda] = leaf.grad().cpu();
  }
  EXPECT_TRUE(torch::allclose(values[0], values[1], tolerance, tolerance));
  EXPECT_TRUE(torch::allclose(gradients[0], gradients[1], 10 * tolerance, 10 * tolerance));
}

TEST_P(Cuda, SoftTp) {
  const tp::SoftTp soft_tp(program_);
  for (const std::int64_t batch : {1, 3, 8}) {
    auto beliefs = random_beliefs(batch);
    beliefs.index_put_({0}, torch::one_hot(beliefs[0].argmax(-1), beliefs.size(2)).to(torch::kFloat32));
    expect_same(beliefs, 1e-5, [&](const torch::Tensor& p) { return soft_tp.leave_one_out(p); });
    expect_same(beliefs, 1e-5, [&](const torch::Tensor& p) { return soft_tp.loss(p, tp::Reduction::kSum); });
  }
}

TEST_P(Cuda, GroupMax) {
  const auto structure = nn::Structure::of(program_);
  const auto on_device = structure.to(torch::kCUDA);
  // Few distinct values: ties share the gradient.
  const auto x = torch::randint(0, 4, {5, structure.positions, 40}).to(torch::kFloat32);
  expect_same(x, 1e-6,
              [&](const torch::Tensor& t) { return nn::group_max(t, t.is_cuda() ? on_device : structure); });
}

TEST_P(Cuda, Reasoner) {
  nn::SoftTpReasonerOptions options;
  options.width = 32;
  options.d_ff = 64;
  nn::SoftTpReasoner reasoner(options, program_);
  reasoner.eval();
  const auto beliefs = random_beliefs(4);
  const auto evidence = torch::rand({4, beliefs.size(1)}) < 0.4;
  torch::NoGradGuard no_grad;
  const auto on_cpu = torch::softmax(reasoner.forward({beliefs, evidence}, 6).logits.back(), -1);
  reasoner.to(torch::kCUDA);
  const auto on_cuda = torch::softmax(
      reasoner.forward({beliefs.to(torch::kCUDA), evidence.to(torch::kCUDA)}, 6).logits.back(), -1);
  EXPECT_TRUE(torch::allclose(on_cpu, on_cuda.cpu(), 1e-3, 1e-3));
}

INSTANTIATE_TEST_SUITE_P(Boxes, Cuda, ::testing::Values(2, 3, 4));

}  // namespace
}  // namespace as2
