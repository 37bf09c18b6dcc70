// What runs on CUDA gives what the CPU gives: kernels against the reference, forward and gradient, and whole
// networks. Skipped where LibTorch sees no device.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "as2/soft_tp.h"
#include "nn/layers.h"
#include "nn/perception.h"
#include "nn/pools.h"
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
  for (const std::int64_t batch : {1, 3, 8, 2500}) {  // the last: more blocks than run at a time
    auto beliefs = random_beliefs(batch);
    beliefs.index_put_({0}, torch::one_hot(beliefs[0].argmax(-1), beliefs.size(2)).to(torch::kFloat32));
    // Nearly certain: what a member adds to its slot's sums is far larger than what the others do.
    if (batch > 1) beliefs.index_put_({1}, torch::softmax(12 * beliefs[1].log(), -1));
    expect_same(beliefs, 1e-5, [&](const torch::Tensor& p) { return soft_tp.leave_one_out(p); });
    expect_same(beliefs, 1e-5, [&](const torch::Tensor& p) { return soft_tp.loss(p, tp::Reduction::kSum); });
    EXPECT_TRUE(soft_tp.max_residual(beliefs).allclose(soft_tp.max_residual(beliefs.to(torch::kCUDA)).cpu(),
                                                       1e-5, 1e-6));
  }
}

// Rows and columns of n × n.
compile::ConstraintProgram latin_square(int n) {
  compile::ConstraintProgram program;
  for (int i = 0; i < n * n; ++i) program.positions.push_back(testing::position(std::to_string(i), n));
  testing::add_families(program, {"rows", "columns"});
  for (const bool column : {false, true}) {
    for (int g = 0; g < n; ++g) {
      std::vector<int> cells;
      for (int k = 0; k < n; ++k) cells.push_back(column ? k * n + g : g * n + k);
      program.groups.push_back(testing::all_different(column, cells, n));
    }
  }
  return program;
}

// Slots of three, four and seven members.
compile::ConstraintProgram uneven() {
  compile::ConstraintProgram program;
  for (int i = 0; i < 7; ++i) program.positions.push_back(testing::position(std::to_string(i), 5));
  testing::add_families(program, {"parts", "whole"});
  program.groups = {testing::all_different(0, {0, 1, 2}, 5), testing::all_different(0, {3, 4, 5, 6}, 5),
                    testing::all_different(1, {0, 1, 2, 3, 4, 5, 6}, 5)};
  return program;
}

// Slots that Sudoku does not have: padded, wide, over an odd number of cells, using all the shared memory
// that a kernel gets by default. Also an empty batch, and beliefs that are not contiguous.
TEST(CudaSoftTp, OtherShapes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  torch::manual_seed(5);
  for (const auto& program :
       {uneven(), latin_square(1), latin_square(6), latin_square(15), latin_square(16), latin_square(25)}) {
    SCOPED_TRACE(program.positions.size());
    const tp::SoftTp soft_tp(program);
    for (const std::int64_t batch : {0, 1, 5}) {
      const auto positions = static_cast<std::int64_t>(program.positions.size());
      const auto beliefs = torch::softmax(2 * torch::randn({positions, batch, program.max_symbols()}), -1);
      expect_same(beliefs, 1e-5,
                  [&](const torch::Tensor& p) { return soft_tp.leave_one_out(p.transpose(0, 1)); });
      expect_same(beliefs, 1e-5, [&](const torch::Tensor& p) { return soft_tp.loss(p.transpose(0, 1)); });
    }
  }
}

// Pools as a reasoner makes them: along groups per symbol, symbols before positions.
nn::Pools group_pools(const compile::ConstraintProgram& program) {
  const int positions = static_cast<int>(program.positions.size());
  std::vector<std::vector<std::int32_t>> lists;
  std::vector<std::int64_t> kinds;
  for (const auto& group : program.groups) {
    for (int s = 0; s < program.max_symbols(); ++s) {
      lists.emplace_back();
      kinds.push_back(group.family);
      for (const int i : group.positions) lists.back().push_back(s * positions + i);
    }
  }
  return nn::Pools::of(std::int64_t{positions} * program.max_symbols(), lists, kinds);
}

constexpr std::int64_t kWidths[] = {96, 20, 7,
                                    256};  // with and without 16-byte pieces; a whole warp per row and less

TEST_P(Cuda, PoolAndSpread) {
  const auto pools = group_pools(program_), on_device = pools.to(torch::kCUDA);
  for (const std::int64_t channels : kWidths) {
    // Few distinct values: ties share the gradient.
    const auto x = torch::randint(0, 4, {3, pools.atoms, channels}).to(torch::kFloat32);
    const auto mine = [&](const torch::Tensor& t) { return t.is_cuda() ? on_device : pools; };
    expect_same(x, 1e-5, [&](const torch::Tensor& t) { return nn::pool(t, mine(t)); });
    const auto messages = torch::randn({pools.pools, 3, channels});
    expect_same(messages, 1e-5,
                [&](const torch::Tensor& m) { return nn::spread(x.to(m.device()), m, mine(m)); });
    expect_same(x, 1e-5,
                [&](const torch::Tensor& t) { return nn::spread(t, messages.to(t.device()), mine(t)); });
    // A view that is not contiguous.
    expect_same(torch::randn({pools.atoms, 3, channels}), 1e-5,
                [&](const torch::Tensor& t) { return nn::pool(t.transpose(0, 1), mine(t)); });
    // In bfloat16 against the same numbers in float32.
    const auto low = x.to(torch::kCUDA, torch::kBFloat16);
    EXPECT_TRUE(nn::pool(low, on_device).to(torch::kFloat32).cpu().allclose(nn::pool(x, pools), 1e-2, 1e-2));
  }
}

TEST_P(Cuda, Layers) {
  for (const std::int64_t channels : kWidths) {
    const auto y = torch::randn({5, 11, channels}), w = torch::randn({channels}),
               b = torch::randn({channels});
    const auto on = [](const torch::Tensor& t, const torch::Tensor& like) { return t.to(like.device()); };
    for (const bool adds : {false, true}) {
      for (const int leaf : {0, 1, 2, 3}) {  // gradients of x, weight, bias and y
        if (leaf == 3 && !adds) continue;
        const torch::Tensor at = leaf == 1 ? w : leaf == 2 ? b : torch::randn_like(y);
        expect_same(at, 1e-4, [&](const torch::Tensor& t) {
          const auto added = leaf == 3 ? t : adds ? on(y, t) : torch::Tensor();
          const auto both = nn::add_norm(leaf == 0 ? t : on(3 * y, t), added, leaf == 1 ? t : on(w, t),
                                         leaf == 2 ? t : on(b, t));
          return both.second + 0.5 * both.first;
        });
      }
    }
    const auto normed = [&](torch::Device device, torch::ScalarType type) {
      const auto moved = y.to(device, type);
      return nn::add_norm(moved, moved, w.to(device), b.to(device)).second.to(torch::kCPU, torch::kFloat32);
    };
    EXPECT_TRUE(
        normed(torch::kCUDA, torch::kBFloat16).allclose(normed(torch::kCPU, torch::kFloat32), 5e-2, 5e-2));
    const auto shared = torch::randn({11, 5, channels});
    expect_same(torch::randn({5, 3, 11, channels}), 1e-4,
                [&](const torch::Tensor& z) { return nn::shared_gelu(z, on(shared, z)); });
    const auto z = torch::randn({5, 3, 11, channels});
    expect_same(shared, 1e-4, [&](const torch::Tensor& t) { return nn::shared_gelu(on(z, t), t); });
    const auto low =
        nn::shared_gelu(z.to(torch::kCUDA, torch::kBFloat16), shared.to(torch::kCUDA, torch::kBFloat16));
    EXPECT_TRUE(low.to(torch::kFloat32).cpu().allclose(nn::shared_gelu(z, shared), 3e-2, 3e-2));
  }
}

// In bfloat16 the gradients of a whole step point where those of float32 point.
TEST_P(Cuda, LowPrecisionGradients) {
  nn::SoftTpReasonerOptions options;
  options.width = 32;
  options.d_ff = 64;
  options.passes = 3;
  options.mixing = nn::Mixing::kPooling;
  nn::SoftTpReasoner reasoner(options, program_);
  reasoner.to(torch::kCUDA);
  const auto beliefs = random_beliefs(8).to(torch::kCUDA);
  const auto evidence = torch::rand({8, beliefs.size(1)}, beliefs.options()) < 0.4;
  torch::Tensor flat[2];
  for (const bool low : {false, true}) {
    reasoner.zero_grad();
    compat::AutocastScope autocast(torch::kCUDA, low);
    const auto logits = torch::stack(reasoner.forward({beliefs, evidence}).logits);
    torch::log_softmax(logits, -1).select(-1, 0).mean().backward();
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : reasoner.parameters()) gradients.push_back(parameter.grad().flatten());
    flat[low] = torch::cat(gradients);
  }
  const auto cosine = flat[0].dot(flat[1]) / (flat[0].norm() * flat[1].norm());
  EXPECT_GT(cosine.item<float>(), 0.99);
}

TEST_P(Cuda, Perception) {
  nn::Perception net(GetParam() == 2 ? nn::PerceptionOptions::paper(10) : nn::PerceptionOptions::best(10));
  net->eval();
  const auto images = torch::rand({6, 28, 28});
  const auto run = [&](const torch::Tensor& x) { return torch::softmax(net->forward(x).logits, -1); };
  const auto on_cpu = run(images);
  net->to(torch::kCUDA);
  EXPECT_TRUE(on_cpu.allclose(run(images.to(torch::kCUDA)).cpu(), 1e-3, 1e-3));
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
