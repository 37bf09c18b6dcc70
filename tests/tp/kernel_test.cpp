// The tuned kernels against the reference, forward and gradient, at odd sizes; refinement; precision.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

#include "as2/soft_tp.h"
#include "support/hand_programs.h"
#include "torch_compat.h"
#include "tp/beliefs.h"

namespace as2::test {
namespace {

using tp::Kernel;
using tp::Reduction;
using tp::SoftTp;

void expect_close(const torch::Tensor& a, const torch::Tensor& b, double tolerance) {
  ASSERT_EQ(a.sizes(), b.sizes());
  if (a.numel() == 0) return;
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance * std::max(1.0, b.abs().max().item<double>()));
}

void expect_same(const compile::ConstraintProgram& program, std::int64_t batch, std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "batch " << batch << " seed " << seed);
  const SoftTp fused(program, Kernel::kFused), reference(program, Kernel::kReference);
  Random random(seed);
  for (const auto type : {torch::kFloat64, torch::kFloat32}) {
    const double tolerance = type == torch::kFloat64 ? 1e-12 : 1e-5;
    const torch::Tensor beliefs = random_beliefs(program, batch, random, 3).to(type);
    expect_close(fused.max_residual(beliefs), reference.max_residual(beliefs), tolerance);
    const auto compare = [&](const std::function<torch::Tensor(const SoftTp&, const torch::Tensor&)>& f) {
      torch::Tensor p = beliefs.clone().set_requires_grad(true), q = beliefs.clone().set_requires_grad(true);
      const torch::Tensor a = f(fused, p), b = f(reference, q);
      expect_close(a, b, tolerance);
      const torch::Tensor pull = torch::cos(torch::arange(b.numel(), b.options())).view(b.sizes());
      a.backward(pull);
      b.backward(pull);
      expect_close(p.grad(), q.grad(), 10 * tolerance);
    };
    compare([](const SoftTp& soft, const torch::Tensor& p) { return soft.loss(p, Reduction::kSum); });
    compare([](const SoftTp& soft, const torch::Tensor& p) { return soft.loss(p); });
    compare([](const SoftTp& soft, const torch::Tensor& p) { return soft.leave_one_out(p); });
    compare([](const SoftTp& soft, const torch::Tensor& p) { return soft.refine(p, 2); });
  }
}

compile::ConstraintProgram one_position(int symbols) {
  compile::ConstraintProgram program;
  program.families.emplace_back();
  program.positions.emplace_back();
  for (int s = 0; s < symbols; ++s) program.positions[0].symbols.push_back(std::to_string(s));
  program.groups.emplace_back();
  program.groups[0].content = compile::Slots{{{{0, {0}}}}};
  return program;
}

TEST(Kernels, EqualTheReferenceAtOddSizes) {
  for (const std::int64_t batch : {0, 1, 3, 17}) {
    expect_same(one_position(1), batch, 1);
    expect_same(one_position(3), batch, 2);
    expect_same(sudoku(2), batch, 3);
    expect_same(addition(1, 1), batch, 4);
    expect_same(addition(3, 5), batch, 5);
  }
  expect_same(sudoku(3), 5, 6);
  expect_same(sudoku(5), 1, 7);  // 25×25
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    expect_same(random_constraints(seed, {true, true, true, true, false}),
                1 + static_cast<std::int64_t>(seed) * 3, seed);
  }
}

TEST(Kernels, GarbageInThePaddingIsIgnored) {
  const auto program = random_constraints(4, {true, true, true, true, false});
  Random random(1);
  const torch::Tensor clean = random_beliefs(program, 3, random);
  for (const Kernel kernel : {Kernel::kFused, Kernel::kReference}) {
    const SoftTp soft(program, kernel);
    const torch::Tensor outside = soft.mask(clean).logical_not();
    ASSERT_TRUE(outside.any().item<bool>());
    const torch::Tensor dirty = clean.masked_fill(outside, 7.0);
    expect_close(soft.loss(dirty), soft.loss(clean), 0);
    expect_close(soft.leave_one_out(dirty), soft.leave_one_out(clean), 0);
    expect_close(soft.image(dirty), soft.image(clean), 0);
    expect_close(soft.residual(dirty), soft.residual(clean), 0);
    expect_close(soft.refine(dirty, 2), soft.refine(clean, 2), 0);
  }
}

TEST(Precision, LowerOnesAreComputedInFloat32) {
  const auto program = sudoku(2);
  Random random(2);
  const torch::Tensor beliefs = random_beliefs(program, 4, random).to(torch::kBFloat16);
  const torch::Tensor lifted = beliefs.to(torch::kFloat32);
  for (const Kernel kernel : {Kernel::kFused, Kernel::kReference}) {
    const SoftTp soft(program, kernel);
    EXPECT_EQ(soft.leave_one_out(beliefs).scalar_type(), torch::kFloat32);
    expect_close(soft.leave_one_out(beliefs), soft.leave_one_out(lifted), 0);
    torch::Tensor p = beliefs.clone().set_requires_grad(true);
    soft.loss(p).backward();
    EXPECT_EQ(p.grad().scalar_type(), torch::kBFloat16);
    EXPECT_GT(p.grad().abs().max().item<double>(), 0);
  }
}

// 12,288 squares per board: a single running sum of them would be off by a relative 1e-5.
TEST(Precision, ManyTermsAddUpInFloat32) {
  const SoftTp soft(sudoku(4), Kernel::kFused);
  torch::manual_seed(4);
  const torch::Tensor beliefs = torch::softmax(3 * torch::randn({64, 256, 16}, torch::kFloat64), -1);
  const double exact = soft.loss(beliefs).item<double>();
  EXPECT_NEAR(soft.loss(beliefs.to(torch::kFloat32)).item<double>(), exact, 2e-6 * exact);
}

TEST(Sharing, OneObjectServesManyThreads) {
  const auto program = random_constraints(6, {true, true, true, true, false});
  const SoftTp soft(program);
  Random random(3);
  const torch::Tensor beliefs = random_beliefs(program, 5, random);
  const double wanted = SoftTp(program).loss(beliefs).item<double>();
  std::vector<double> losses(8);
  std::vector<std::thread> threads;
  for (double& loss : losses) threads.emplace_back([&] { loss = soft.loss(beliefs).item<double>(); });
  for (std::thread& thread : threads) thread.join();
  for (const double loss : losses) EXPECT_EQ(loss, wanted);
}

TEST(Sharing, TheGraphOutlivesTheObject) {
  const auto program = sudoku(2);
  Random random(4);
  torch::Tensor p = random_beliefs(program, 2, random).set_requires_grad(true);
  torch::Tensor sum;
  {
    const SoftTp soft(program);
    sum = soft.leave_one_out(p).square().sum();
  }
  sum.backward();
  EXPECT_TRUE(p.grad().isfinite().all().item<bool>());
}

TEST(Shape, AWrongOneIsRefused) {
  const SoftTp soft(sudoku(2));
  EXPECT_THROW(soft.loss(torch::rand({2, 16, 5})), ContractError);
  EXPECT_THROW(soft.loss(torch::rand({16, 4})), ContractError);
}

TEST(Refinement, FillsAForcedCellKeepsCluesAndStops) {
  const auto program = sudoku(2);
  const SoftTp soft(program);
  // Row 1 is 0 1 2 _: the blank can only be 3.
  torch::Tensor p = torch::full({1, 16, 4}, 0.25, torch::kFloat64);
  for (int i = 0; i < 3; ++i) {
    p[0][i].zero_();
    p[0][i][i] = 1;
  }
  const torch::Tensor refined = soft.refine(p, 10);
  EXPECT_GT(refined[0][3][3].item<double>(), 0.99);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refined[0][i][i].item<double>(), 1);
  expect_close(refined.sum(-1), torch::ones({1, 16}, torch::kFloat64), 1e-12);
  expect_close(soft.refine(p, 0), p, 0);
}

TEST(Refinement, APositionWhoseImageVanishesKeepsItsBelief) {
  const auto program = sudoku(2);
  // Two cells of one row, column-wise and box-wise neighbours, claim the same symbol: both images vanish.
  torch::Tensor p = torch::full({1, 16, 4}, 0.25, torch::kFloat64);
  for (const int i : {0, 1}) {
    p[0][i].zero_();
    p[0][i][2] = 1;
  }
  // Also in the column of cell 0 and of cell 1, so that no group leaves them an image.
  for (const int i : {8, 9}) {
    p[0][i].zero_();
    p[0][i][2] = 1;
  }
  for (const Kernel kernel : {Kernel::kFused, Kernel::kReference}) {
    const torch::Tensor refined = SoftTp(program, kernel).refine(p, 20);
    EXPECT_TRUE(refined.isfinite().all().item<bool>());
    EXPECT_EQ(refined[0][0][2].item<double>(), 1);
    EXPECT_EQ(refined[0][1][2].item<double>(), 1);
  }
}

TEST(Refinement, AveragesTheGroupsOfThePositionAndLeavesOthersAlone) {
  // Position 0 in one nogood {0: s0, 1: s0}; position 2 in nothing.
  compile::ConstraintProgram program;
  program.families.emplace_back();
  for (int i = 0; i < 3; ++i) {
    program.positions.emplace_back();
    program.positions.back().symbols = {"a", "b"};
  }
  program.groups.emplace_back();
  program.groups[0].content = compile::Nogoods{{{{0, {0}}, {1, {0}}}}};
  const torch::Tensor p = torch::tensor({0.5, 0.5, 0.8, 0.2, 0.3, 0.7}, torch::kFloat64).view({1, 3, 2});
  const torch::Tensor refined = SoftTp(program).refine(p, 1);
  EXPECT_NEAR(refined[0][0][0].item<double>(), 0.5 * 0.2 / (0.5 * 0.2 + 0.5), 1e-15);
  EXPECT_NEAR(refined[0][1][0].item<double>(), 0.8 * 0.5 / (0.8 * 0.5 + 0.2), 1e-15);
  EXPECT_NEAR(refined[0][2][0].item<double>(), 0.3, 1e-15);
}

// Inside a network that runs in bfloat16 soft T_P stays in float32, to the last bit.
TEST(Precision, AutocastDoesNotReachInside) {
  RandomConstraintOptions all;
  all.derived = true;
  const compile::ConstraintProgram programs[] = {sudoku(2), addition(3), random_constraints(5, all)};
  for (const compile::ConstraintProgram& program : programs) {
    for (const Kernel kernel : {Kernel::kFused, Kernel::kReference}) {
      const SoftTp soft(program, kernel);
      Random random(9);
      const torch::Tensor given = random_beliefs(program, 3, random).to(torch::kFloat32);
      const auto everything = [&](const torch::Tensor& beliefs) {
        torch::Tensor p = beliefs.detach().clone().set_requires_grad(true);
        std::vector<torch::Tensor> all_of_it = {soft.image(p),        soft.residual(p),
                                                soft.loss(p),         soft.refine(p, 3),
                                                soft.max_residual(p), soft.log_satisfaction(p)};
        (soft.loss(p) + soft.image(p).pow(2).sum() + soft.log_satisfaction(p).sum()).backward();
        all_of_it.push_back(p.grad());
        return all_of_it;
      };
      const auto plain = everything(given),
                 of_rounded = everything(given.to(torch::kBFloat16).to(torch::kFloat32));
      const compat::AutocastScope autocast(torch::kCPU, true);
      ASSERT_EQ(torch::matmul(given, given.transpose(1, 2)).scalar_type(), torch::kBFloat16)
          << "autocast is off";
      const auto inside = everything(given), low = everything(given.to(torch::kBFloat16));
      for (std::size_t k = 0; k < plain.size(); ++k) {
        EXPECT_EQ(inside[k].scalar_type(), torch::kFloat32) << k;
        EXPECT_TRUE(inside[k].equal(plain[k])) << k;
        if (k + 1 == plain.size()) continue;  // the gradient comes back in the beliefs' own precision
        EXPECT_EQ(low[k].scalar_type(), torch::kFloat32) << k;
        EXPECT_TRUE(low[k].equal(of_rounded[k])) << k;
      }
    }
  }
}

}  // namespace
}  // namespace as2::test
