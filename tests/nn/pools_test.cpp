#include "nn/pools.h"

#include <gtest/gtest.h>

#include "nn/layers.h"

namespace as2::nn {
namespace {

// Pools of different size over five atoms: one empty, one of a single atom, one atom in none.
const std::vector<std::vector<std::int32_t>> kLists = {{0, 1, 2}, {2, 3}, {}, {3}, {0, 3}};
const std::vector<std::int64_t> kKinds = {0, 0, 0, 1, 1};

torch::Tensor members_of(const torch::Tensor& x, std::size_t pool) {
  return x.index_select(1, torch::tensor(kLists[pool], torch::kInt32));
}

// Few distinct values, so that members tie for the maximum.
torch::Tensor few_values(std::int64_t channels) {
  torch::manual_seed(23);
  return torch::randint(0, 3, {4, 5, channels}).to(torch::kFloat32);
}

TEST(Pools, MeanAndMaximumAreThoseOfTheComposedForm) {
  const Pools pools = Pools::of(5, kLists, kKinds);
  auto x = few_values(6).requires_grad_(), y = few_values(6).requires_grad_();
  const auto ours = pool(x, pools);
  std::vector<torch::Tensor> rows;
  for (std::size_t p = 0; p < kLists.size(); ++p) {
    rows.push_back(kLists[p].empty() ? torch::zeros({4, 12})
                                     : torch::cat({members_of(y, p).mean(1), members_of(y, p).amax(1)}, 1));
  }
  const auto theirs = torch::stack(rows, 0);
  ASSERT_EQ(ours.sizes(), theirs.sizes());
  EXPECT_TRUE(ours.allclose(theirs));
  const auto weights = torch::randn_like(theirs);
  (ours * weights).sum().backward();
  (theirs * weights).sum().backward();
  EXPECT_TRUE(x.grad().allclose(y.grad(), 1e-5, 1e-6));
  EXPECT_GT(y.grad().abs().sum().item<float>(), 0);
}

TEST(Pools, MessagesReachTheMembersAveragedOverAKind) {
  const Pools pools = Pools::of(5, kLists, kKinds);
  auto x = few_values(3).requires_grad_();
  auto messages = torch::randn({5, 4, 3}).requires_grad_();
  const auto ours = spread(x, messages, pools);
  // Atom 2 is in two pools of kind 0, atom 3 in one of kind 0 and two of kind 1, atom 4 in none.
  const auto shares = torch::tensor({{1.f, 0.f, 0.f, 0.f, 1.f},
                                     {1.f, 0.f, 0.f, 0.f, 0.f},
                                     {.5f, .5f, 0.f, 0.f, 0.f},
                                     {0.f, 1.f, 0.f, .5f, .5f},
                                     {0.f, 0.f, 0.f, 0.f, 0.f}});
  auto y = x.detach().clone().requires_grad_(), theirs_in = messages.detach().clone().requires_grad_();
  const auto theirs = y + torch::einsum("ap,pbc->bac", {shares, theirs_in});
  EXPECT_TRUE(ours.allclose(theirs, 1e-5, 1e-6));
  const auto weights = torch::randn_like(theirs);
  (ours * weights).sum().backward();
  (theirs * weights).sum().backward();
  EXPECT_TRUE(x.grad().allclose(y.grad(), 1e-5, 1e-6));
  EXPECT_TRUE(messages.grad().allclose(theirs_in.grad(), 1e-5, 1e-6));
}

TEST(Pools, LowPrecisionGoesThroughFloat) {
  const Pools pools = Pools::of(5, kLists, kKinds);
  const auto x = few_values(8);
  const auto low = pool(x.to(torch::kBFloat16), pools);
  EXPECT_EQ(low.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(low.to(torch::kFloat32).allclose(pool(x, pools), 1e-2, 1e-2));
}

TEST(Layers, SumNormAndGeluAreTheirDefinitions) {
  torch::manual_seed(24);
  const auto x = torch::randn({2, 5, 8}), y = torch::randn({2, 5, 8}), w = torch::randn({8}),
             b = torch::randn({8});
  const auto [sum, normed] = add_norm(x, y, w, b);
  EXPECT_TRUE(sum.equal(x + y));
  const auto centred = sum - sum.mean(-1, true);
  EXPECT_TRUE(normed.allclose(centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * w + b, 1e-5, 1e-5));
  EXPECT_TRUE(add_norm(x, {}, w, b).first.equal(x));
  const auto z = torch::randn({2, 3, 5, 8}), shared = torch::randn({5, 2, 8});
  const auto u = z + shared.permute({1, 0, 2}).unsqueeze(1);
  EXPECT_TRUE(shared_gelu(z, shared).allclose(u * 0.5 * (1 + torch::erf(u / std::sqrt(2.0))), 1e-5, 1e-6));
}

}  // namespace
}  // namespace as2::nn
