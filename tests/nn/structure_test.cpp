#include <gtest/gtest.h>

#include "nn/inputs.h"

namespace as2::nn {
namespace {

using testing::addition;
using testing::all_different;
using testing::position;
using testing::sudoku;

TEST(Structure, OfSudoku) {
  const auto s = Structure::of(sudoku(3));
  EXPECT_EQ(s.positions, 81);
  EXPECT_EQ(s.symbols, 9);
  EXPECT_EQ(s.families, 3);
  EXPECT_EQ(s.groups, 27);
  EXPECT_TRUE(s.full);
  EXPECT_EQ(s.family_groups, (std::vector<std::int64_t>{9, 9, 9}));
  // Each cell shares a row, a column and a box with 8 others, 20 different ones in all.
  EXPECT_TRUE(s.relation.sum(2).eq(8).all().item<bool>());
  EXPECT_TRUE(s.relation.any(0).sum(1).eq(20).all().item<bool>());
  EXPECT_EQ(s.relation.diagonal(0, 1, 2).sum().item<int>(), 0);
  EXPECT_TRUE(s.incidence().sum(0).eq(3).all().item<bool>());
  EXPECT_TRUE(s.incidence().sum(1).eq(9).all().item<bool>());
}

TEST(Structure, OfMixedDomainsAndEmptyFamilies) {
  compile::ConstraintProgram program;
  program.positions = {position("a", 2), position("b", 3), position("c", 3)};
  testing::add_families(program, {"none", "twice", "always"});
  program.groups = {all_different(1, {0, 1}, 2), all_different(1, {1, 2}, 3)};
  compile::Group always;
  always.family = 2;
  always.content = compile::Nogoods{{}};
  program.groups.push_back(always);
  const auto s = Structure::of(program);
  EXPECT_EQ(s.groups, 2);
  EXPECT_EQ(s.family_groups, (std::vector<std::int64_t>{0, 2, 0}));
  EXPECT_FALSE(s.full);
  EXPECT_TRUE(s.mask.equal(torch::tensor({{1, 1, 0}, {1, 1, 1}, {1, 1, 1}}).to(torch::kBool)));
  EXPECT_TRUE(s.relation[1].equal(torch::tensor({{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}).to(torch::kBool)));
  EXPECT_FALSE(s.relation[0].any().item<bool>());
  EXPECT_TRUE(s.incidence().equal(torch::tensor({{1.f, 1.f, 0.f}, {0.f, 1.f, 1.f}})));
}

TEST(Structure, ClampedEvidenceIsTheOneHotOfItsArgmax) {
  const auto s = Structure::of(addition(2));
  const auto beliefs = torch::softmax(torch::randn({2, 3, 19}).masked_fill(s.mask.logical_not(), -1e9), -1);
  const auto evidence = torch::tensor({{1, 0, 0}, {0, 1, 1}}).to(torch::kBool);
  const auto clamped = clamp_evidence(beliefs, evidence);
  EXPECT_TRUE(clamped[0][1].equal(beliefs[0][1]));
  EXPECT_EQ(clamped[0][0].max().item<float>(), 1.f);
  EXPECT_EQ(clamped[0][0].sum().item<float>(), 1.f);
  EXPECT_EQ(clamped[0][0].argmax().item<int>(), beliefs[0][0].argmax().item<int>());
}

}  // namespace
}  // namespace as2::nn
