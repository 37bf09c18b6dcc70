// Gradients of soft T_P by finite differences, at random beliefs and at the edges: beliefs exactly 0 and 1,
// several zero factors in one group, hundreds of factors.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "as2/soft_tp.h"
#include "support/finite_difference.h"
#include "support/hand_programs.h"
#include "tp/beliefs.h"

namespace as2::test {
namespace {

using tp::Kernel;
using tp::Reduction;
using tp::SoftTp;

class Gradient : public ::testing::TestWithParam<Kernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Gradient, ::testing::Values(Kernel::kReference, Kernel::kFused),
                         [](const auto& each) {
                           return each.param == Kernel::kFused ? "fused" : "reference";
                         });

void check(const compile::ConstraintProgram& program, const torch::Tensor& beliefs, Kernel kernel) {
  const SoftTp soft(program, kernel);
  expect_gradient([&](const torch::Tensor& p) { return soft.loss(p, Reduction::kSum); }, beliefs);
  expect_gradient([&](const torch::Tensor& p) { return soft.leave_one_out(p); }, beliefs);
  expect_gradient([&](const torch::Tensor& p) { return soft.image(p); }, beliefs);
}

RandomConstraintOptions only(bool exclusive, bool linear, bool nogood, bool derived) {
  return {exclusive, linear, nogood, derived, false};
}

TEST_P(Gradient, EveryKindAtRandomBeliefsAndWithExactZeros) {
  const RandomConstraintOptions kinds[] = {only(true, false, false, false), only(false, true, false, false),
                                           only(false, false, true, false), only(false, false, false, true),
                                           only(true, true, true, true)};
  for (const auto& kind : kinds) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(::testing::Message()
                   << "exclusive " << kind.exclusive << " linear " << kind.linear << " nogood " << kind.nogood
                   << " derived " << kind.derived << " seed " << seed);
      const auto program = random_constraints(seed, kind);
      Random random(seed + 50);
      check(program, random_beliefs(program, 2, random), GetParam());
      check(program, random_beliefs(program, 2, random, 5), GetParam());
    }
  }
}

TEST_P(Gradient, AtOneHotBeliefsRightAndWrong) {
  const auto program = random_constraints(5, only(true, true, true, true));
  Random random(5);
  for (int sample = 0; sample < 3; ++sample) {
    compile::Assignment y;
    for (const auto& position : program.positions)
      y.push_back(random.below(static_cast<int>(position.symbols.size())));
    check(program, beliefs_of(program, one_hot(program, y)), GetParam());
  }
}

TEST_P(Gradient, SeveralZeroFactorsInOneGroup) {
  const auto program = sudoku(2);
  // All cells of the board claim the same symbol: every factor of its slots is 0.
  const torch::Tensor beliefs = beliefs_of(program, one_hot(program, compile::Assignment(16, 2)));
  check(program, beliefs, GetParam());
}

TEST_P(Gradient, HundredsOfFactors) {
  // One slot of 300 Boolean positions, one of them certain.
  compile::ConstraintProgram program;
  program.families.emplace_back();
  program.groups.emplace_back();
  compile::Slot slot;
  for (int i = 0; i < 300; ++i) {
    program.positions.emplace_back();
    program.positions.back().symbols = {"false", "true"};
    slot.members.push_back({i, {1}});
  }
  program.groups[0].content = compile::Slots{slot};
  const SoftTp soft(program, GetParam());
  Random random(1);
  for (const double certain : {0.5, 1.0}) {
    torch::Tensor beliefs = random_beliefs(program, 1, random);
    beliefs[0][7][1] = certain;
    for (const auto type : {torch::kFloat32, torch::kFloat64}) {
      torch::Tensor p = beliefs.to(type).set_requires_grad(true);
      soft.loss(p).backward();
      EXPECT_TRUE(p.grad().isfinite().all().item<bool>());
    }
    const torch::Tensor some = beliefs * 0.02;  // factors that do not vanish
    expect_gradient([&](const torch::Tensor& p) { return soft.leave_one_out(p).slice(2, 0, 300, 37); }, some);
    expect_gradient([&](const torch::Tensor& p) { return soft.loss(p, Reduction::kSum); }, some);
  }
}

TEST_P(Gradient, Addition) {
  const auto program = addition(3, 4);
  Random random(2);
  check(program, random_beliefs(program, 2, random), GetParam());
  check(program, beliefs_of(program, one_hot(program, {1, 2, 3, 6})), GetParam());
  check(program, beliefs_of(program, one_hot(program, {1, 2, 3, 5})), GetParam());
}

TEST(Gradients, RecursionAwayFromTies) {
  const auto program = reachability(4);
  Random random(3);
  check(program, random_beliefs(program, 1, random), Kernel::kReference);
}

TEST(Gradients, LogSatisfactionAlsoWhereBeliefsAreExactlyZero) {
  const auto program = addition(3, 4);
  const SoftTp soft(program);
  Random random(4);
  const auto f = [&](const torch::Tensor& p) { return soft.log_satisfaction(p); };
  expect_gradient(f, random_beliefs(program, 2, random));
  // A one-sided difference: beliefs below 0 have no logarithm of their own, but P has none below 0 here.
  torch::Tensor edge = random_beliefs(program, 1, random);
  edge[0][0][1] = 0;
  expect_gradient([&](const torch::Tensor& p) { return f(p); }, edge.clamp_min(2e-5));
  torch::Tensor p = edge.clone().set_requires_grad(true);
  f(p).sum().backward();
  torch::Tensor above = edge.clone();
  above[0][0][1] = 1e-6;
  const double numeric = ((f(above) - f(edge)) / 1e-6).sum().item<double>();
  EXPECT_NEAR(p.grad()[0][0][1].item<double>(), numeric, 1e-4 * std::abs(numeric));
  EXPECT_GT(numeric, 0.01);
}

TEST(Gradients, ExpectedCostAndRefinement) {
  auto program = random_constraints(3, only(false, false, false, true));
  const auto root = std::get<compile::DerivedNogoods>(program.groups[0].content)[0].body[0];
  program.objectives = {{1, {{5, root, 0}}}};
  Random random(6);
  expect_gradient(
      [soft = std::make_shared<SoftTp>(program)](const torch::Tensor& p) { return soft->expected_cost(p); },
      random_beliefs(program, 2, random));
  const auto board = sudoku(2);
  expect_gradient(
      [soft = std::make_shared<SoftTp>(board)](const torch::Tensor& p) { return soft->refine(p, 3); },
      random_beliefs(board, 1, random));
}

}  // namespace
}  // namespace as2::test
