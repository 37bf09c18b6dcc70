// Soft T_P against enumeration of all assignments, and the facts the paper states.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "as2/compile.h"
#include "as2/soft_tp.h"
#include "compile/residual_terms.h"
#include "support/hand_programs.h"
#include "tp/beliefs.h"
#include "tp/brute_force.h"

namespace as2::test {
namespace {

using tp::Kernel;
using tp::Reduction;
using tp::SoftTp;

struct Expected {
  std::vector<double> factor;  // [families · cells], mean over terms, 1 where none, 0 outside
  double loss = 0;
  double largest = 0;
};

Expected expected(const compile::ConstraintProgram& program, const std::vector<double>& rows) {
  const std::int64_t stride = program.max_symbols();
  const std::int64_t cells = static_cast<std::int64_t>(program.positions.size()) * stride;
  Expected result;
  result.factor.resize(program.families.size() * cells);
  std::vector<int> count(result.factor.size());
  for (const BruteTerm& term : brute_force_terms(program, rows)) {
    const std::int64_t at = term.position * stride + term.symbol;
    result.factor[term.family * cells + at] += term.factor;
    ++count[term.family * cells + at];
    const double residual = rows[at] * (1 - term.factor);
    result.loss += residual * residual;
    result.largest = std::max(result.largest, residual);
  }
  for (std::size_t f = 0; f < program.families.size(); ++f) {
    for (std::size_t i = 0; i < program.positions.size(); ++i) {
      for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s) {
        const std::size_t at = f * cells + i * stride + s;
        result.factor[at] = count[at] ? result.factor[at] / count[at] : 1;
      }
    }
  }
  return result;
}

// The tolerance is relative to the wanted value; near 0, where 1 − factor cancels, it is a few last digits of
// 1.
void expect_near_relative(double value, double wanted, double tolerance) {
  EXPECT_NEAR(value, wanted, tolerance * std::max(0.05, std::abs(wanted)));
}

void compare_with_enumeration(const compile::ConstraintProgram& program, const std::vector<double>& rows,
                              Kernel kernel) {
  const SoftTp soft(program, kernel);
  const Expected wanted = expected(program, rows);
  for (const auto type : {torch::kFloat64, torch::kFloat32}) {
    const double tolerance = type == torch::kFloat64 ? 1e-10 : 1e-5;
    const torch::Tensor p = beliefs_of(program, rows).to(type);
    const torch::Tensor factor = soft.leave_one_out(p).flatten().to(torch::kFloat64);
    const torch::Tensor image = soft.image(p).flatten().to(torch::kFloat64);
    const torch::Tensor residual = soft.residual(p).flatten().to(torch::kFloat64);
    ASSERT_EQ(factor.numel(), static_cast<std::int64_t>(wanted.factor.size()));
    for (std::size_t k = 0; k < wanted.factor.size(); ++k) {
      const double belief = rows[k % rows.size()];
      expect_near_relative(factor[k].item<double>(), wanted.factor[k], tolerance);
      expect_near_relative(image[k].item<double>(), belief * wanted.factor[k], tolerance);
      expect_near_relative(residual[k].item<double>(), belief - belief * wanted.factor[k], tolerance);
    }
    expect_near_relative(soft.loss(p, Reduction::kSum).item<double>(), wanted.loss, tolerance);
    expect_near_relative(soft.loss(p).item<double>() * soft.residual_terms(), wanted.loss, tolerance);
    expect_near_relative(soft.max_residual(p).item<double>(), wanted.largest, tolerance);
  }
}

class Exact : public ::testing::TestWithParam<Kernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Exact, ::testing::Values(Kernel::kReference, Kernel::kFused),
                         [](const auto& each) {
                           return each.param == Kernel::kFused ? "fused" : "reference";
                         });

TEST_P(Exact, RandomProgramsEqualEnumeration) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = random_constraints(seed);
    Random random(seed + 1000);
    compare_with_enumeration(program, random_rows(program, random, seed % 3 == 0 ? 4 : 0), GetParam());
  }
}

TEST_P(Exact, ReadOnceCircuitsEqualEnumeration) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = random_constraints(seed, {true, false, false, true, true});
    Random random(seed + 1000);
    compare_with_enumeration(program, random_rows(program, random), GetParam());
  }
}

TEST_P(Exact, AtEveryOneHotTheFactorsAreTruthValues) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    auto program = random_constraints(seed, {true, true, true, true, false});
    if (seed % 4 == 0) program = reachability(3);
    const SoftTp soft(program, GetParam());
    std::vector<torch::Tensor> rows;
    std::vector<bool> valid;
    for_each_assignment(program, [&](const compile::Assignment& y) {
      rows.push_back(beliefs_of(program, one_hot(program, y)));
      valid.push_back(compile::violated_groups(program, y).empty());
    });
    const torch::Tensor all = torch::cat(rows);
    const torch::Tensor largest = soft.max_residual(all);
    const torch::Tensor loss = soft.residual(all).abs().flatten(1).amax(1);
    for (std::size_t a = 0; a < valid.size(); ++a) {
      EXPECT_EQ(largest[a].item<double>() == 0, valid[a]) << "assignment " << a;
      EXPECT_EQ(loss[a].item<double>() == 0, valid[a]) << "assignment " << a;
    }
    // The factors themselves, not only their sums.
    Random random(seed);
    for (int sample = 0; sample < 5; ++sample) {
      const auto& row = rows[random.below(static_cast<int>(rows.size()))];
      const torch::Tensor flat = row.flatten();
      compare_with_enumeration(
          program, std::vector<double>(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()),
          GetParam());
    }
  }
}

TEST_P(Exact, CompiledRandomProgramsEqualEnumeration) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = testing::random_program(seed).text();
    SCOPED_TRACE(text);
    auto program = compile::compile_text(text).program;
    std::int64_t terms = 0;
    for (const std::int64_t group : compile::residual_terms(program)) terms += group;
    EXPECT_EQ(SoftTp(program, GetParam()).residual_terms(), terms);
    // Circuits that use a position twice are exact only at one-hot beliefs: next test.
    const auto derived = [](const compile::Group& group) {
      return std::holds_alternative<compile::DerivedNogoods>(group.content);
    };
    program.groups.erase(std::remove_if(program.groups.begin(), program.groups.end(), derived),
                         program.groups.end());
    Random random(seed);
    compare_with_enumeration(program, random_rows(program, random, seed % 3 == 0 ? 3 : 0), GetParam());
  }
}

TEST_P(Exact, ResidualIsZeroAtExactlyTheOneHotsClingoCallsAnswerSets) {
  if (!testing::have_clingo()) GTEST_SKIP() << "no clingo";
  int answers = 0, others = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const bool cyclic = seed % 2 == 1;
    const std::string text =
        (cyclic ? testing::random_cyclic_program(seed, false) : testing::random_program(seed)).text();
    SCOPED_TRACE(text);
    compile::ConstraintProgram program;
    try {
      program = compile::compile_text(text).program;
    } catch (const InputError&) {
      ASSERT_TRUE(cyclic);  // a head cycle
      continue;
    }
    if (program.positions.empty()) continue;  // nothing that a residual could stand at
    std::set<std::vector<std::string>> wanted;
    for (const auto& set : testing::answer_sets(text)) wanted.insert(set.atoms);
    const SoftTp soft(program, GetParam());
    std::vector<torch::Tensor> rows;
    std::vector<std::vector<std::string>> atoms;
    for_each_assignment(program, [&](const compile::Assignment& y) {
      rows.push_back(beliefs_of(program, one_hot(program, y)));
      atoms.push_back(compile::shown_atoms(program, y));
      std::sort(atoms.back().begin(), atoms.back().end());
    });
    const torch::Tensor largest = soft.max_residual(torch::cat(rows));
    for (std::size_t a = 0; a < rows.size(); ++a) {
      const bool zero = largest[static_cast<std::int64_t>(a)].item<double>() == 0;
      EXPECT_EQ(zero, wanted.count(atoms[a]) > 0) << "assignment " << a;
      ++(zero ? answers : others);
    }
  }
  EXPECT_GT(answers, 100);
  EXPECT_GT(others, 100);
}

TEST_P(Exact, AnInstanceViolatedWhateverThePositionsSayHasImageZeroEverywhere) {
  auto program = random_constraints(1);
  compile::Group never;
  never.family = 1;
  never.content = compile::Nogoods{{}};
  program.groups.push_back(never);
  program.families.emplace_back();
  never.family = 2;
  program.groups.push_back(never);
  Random random(1);
  const auto rows = random_rows(program, random);
  compare_with_enumeration(program, rows, GetParam());
  const SoftTp soft(program, GetParam());
  EXPECT_EQ(soft.image(beliefs_of(program, rows)).select(1, 2).abs().max().item<double>(), 0);
}

TEST_P(Exact, SudokuAtUniformBeliefsAndAtASolvedBoard) {
  for (const int box : {2, 3}) {
    const int k = box * box;
    const auto program = sudoku(box);
    const SoftTp soft(program, GetParam());
    EXPECT_EQ(soft.residual_terms(), 3 * k * k * k);
    const torch::Tensor uniform = torch::full({2, k * k, k}, 1.0 / k, torch::kFloat64);
    const double term = 1.0 / k * (1 - std::pow((k - 1.0) / k, k - 1));
    EXPECT_NEAR((soft.residual(uniform) - term).abs().max().item<double>(), 0, 1e-14);
    EXPECT_NEAR(soft.loss(uniform).item<double>(), term * term, 1e-14);
    EXPECT_NEAR(soft.loss(uniform, Reduction::kSum).item<double>(), 3 * k * k * k * term * term, 1e-10);
    compile::Assignment solved;
    for (int row = 0; row < k; ++row) {
      for (int column = 0; column < k; ++column) solved.push_back((row * box + row / box + column) % k);
    }
    const torch::Tensor board = beliefs_of(program, one_hot(program, solved));
    EXPECT_EQ(soft.loss(board).item<double>(), 0);
    EXPECT_EQ(soft.max_residual(board).item<double>(), 0);
    std::swap(solved[0], solved[1]);
    EXPECT_GT(soft.loss(beliefs_of(program, one_hot(program, solved))).item<double>(), 0);
  }
}

TEST_P(Exact, AdditionIsEquationTwo) {
  for (const int addends : {2, 4}) {
    const auto program = addition(addends, addends == 2 ? 10 : 5);
    Random random(7);
    compare_with_enumeration(program, random_rows(program, random), GetParam());
  }
}

TEST(Satisfaction, LogarithmEqualsEnumeration) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = random_constraints(seed);
    Random random(seed);
    const auto rows = random_rows(program, random);
    const auto wanted = brute_force_linear(program, rows);
    const torch::Tensor logs = SoftTp(program).log_satisfaction(beliefs_of(program, rows));
    ASSERT_EQ(logs.size(1), static_cast<std::int64_t>(wanted.size()));
    for (std::size_t l = 0; l < wanted.size(); ++l) {
      if (wanted[l] > 0) {
        EXPECT_NEAR(logs[0][l].item<double>(), std::log(wanted[l]), 1e-10);
      } else {
        EXPECT_LT(logs[0][l].item<double>(), -1e3);
      }
    }
  }
}

TEST(Satisfaction, SurvivesProbabilitiesBelowTheSmallestFloat) {
  const auto program = addition(6);
  torch::Tensor p = torch::full({1, 7, 55}, 1e-9);
  p.slice(1, 0, 6).select(2, 0).fill_(1);  // six confident zeros
  p.select(1, 6).zero_();
  p[0][6][54] = 1;  // and a total of 54: each must be a nine
  p.set_requires_grad(true);
  const torch::Tensor log = SoftTp(program).log_satisfaction(p).sum();
  EXPECT_NEAR(log.item<double>(), 6 * std::log(1e-9), 1e-3);
  log.backward();
  EXPECT_TRUE(p.grad().isfinite().all().item<bool>());
  EXPECT_NEAR(p.grad()[0][3][9].item<double>() * 1e-9, 1, 1e-4);  // ∂ log P / ∂ log p
}

TEST(ExpectedCost, IsTheMeanCostOfReadOnceConditions) {
  auto program = random_constraints(3, {false, false, false, true, true});
  const auto root = std::get<compile::DerivedNogoods>(program.groups[0].content)[0].body[0];
  program.objectives = {{2, {{5, root, 0}, {-3, {root.node, !root.negated}, 0}}}, {1, {{4, {-1, false}, 0}}}};
  Random random(5);
  const auto rows = random_rows(program, random);
  std::vector<double> wanted(2);
  for_each_assignment(program, [&](const compile::Assignment& y) {
    double p = 1;
    for (std::size_t i = 0; i < y.size(); ++i) p *= rows[i * program.max_symbols() + y[i]];
    const auto cost = compile::cost_of(program, y);
    for (int level = 0; level < 2; ++level) wanted[level] += p * static_cast<double>(cost[level]);
  });
  const torch::Tensor cost = SoftTp(program).expected_cost(beliefs_of(program, rows));
  EXPECT_NEAR(cost[0][0].item<double>(), wanted[0], 1e-12);
  EXPECT_NEAR(cost[0][1].item<double>(), wanted[1], 1e-12);
}

TEST(Recursion, TakesTheBestPath) {
  // Edges 0→1 and 1→2 likely, 0→2 unlikely: reached(2) by the detour, the maximum and not the noisy-or.
  const auto program = reachability(3);
  torch::Tensor p = torch::zeros({1, 4, 2}, torch::kFloat64);
  const double edge[] = {0.9, 0.2, 0.8, 0.5};  // (0,1) (0,2) (1,2) (2,1)
  for (int i = 0; i < 4; ++i) {
    p[0][i][1] = edge[i];
    p[0][i][0] = 1 - edge[i];
  }
  const torch::Tensor factor = SoftTp(program).leave_one_out(p)[0][0];
  // At edge(0,2) = false: reached(1) = max(.9, .2·.5 → without the edge 0), reached(2) = .9·.8.
  EXPECT_NEAR(factor[1][0].item<double>(), (0.9 + 0.9 * 0.8) / 2, 1e-12);
  EXPECT_NEAR(factor[1][1].item<double>(), (0.9 + 1.0) / 2, 1e-12);
}

}  // namespace
}  // namespace as2::test
