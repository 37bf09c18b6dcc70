// Others' reasoners, beside ours: each learns 4 × 4 Sudoku, and its gradient is that of finite differences.
#include <gtest/gtest.h>

#include "nn/inputs.h"
#include "nn/relational.h"
#include "nn/satnet.h"
#include "nn/transformer.h"
#include "support/finite_difference.h"

namespace as2::nn {
namespace {

using testing::random_input;
using testing::sudoku;

// All 288 solved boards of 4 × 4, [boards, 16] int64.
torch::Tensor solved_boards() {
  std::vector<std::int64_t> found;
  std::vector<int> cells(16, -1);
  const auto allowed = [&](int at, int digit) {
    for (int other = 0; other < at; ++other) {
      const bool shared =
          other / 4 == at / 4 || other % 4 == at % 4 || (other / 8 == at / 8 && other % 4 / 2 == at % 4 / 2);
      if (shared && cells[static_cast<std::size_t>(other)] == digit) return false;
    }
    return true;
  };
  const auto search = [&](const auto& self, int at) -> void {
    if (at == 16) {
      found.insert(found.end(), cells.begin(), cells.end());
      return;
    }
    for (int digit = 0; digit < 4; ++digit) {
      if (!allowed(at, digit)) continue;
      cells[static_cast<std::size_t>(at)] = digit;
      self(self, at + 1);
    }
  };
  search(search, 0);
  return torch::tensor(found, torch::kInt64).view({-1, 16});
}

// Cross-entropy at the blanks of eight boards, mean over passes, before and after so many steps on them.
std::pair<double, double> losses_of_training(Reasoner& reasoner, int steps, double rate) {
  torch::manual_seed(4);
  const torch::Tensor boards = solved_boards();
  EXPECT_EQ(boards.size(0), 288);
  const torch::Tensor labels = boards.index_select(0, torch::randint(288, {8}, torch::kInt64));
  ReasonerInput input;
  input.evidence = torch::rand({8, 16}) < 0.6;
  input.beliefs = torch::where(input.evidence.unsqueeze(-1), torch::one_hot(labels, 4).to(torch::kFloat32),
                               torch::full({}, 0.25));
  const torch::Tensor blank = input.evidence.logical_not();
  torch::optim::Adam optimizer(reasoner.parameters(), torch::optim::AdamOptions(rate));
  reasoner.train();
  double first = 0, last = 0;
  for (int step = 0; step <= steps; ++step) {
    const std::vector<torch::Tensor> logits = reasoner.forward(input).logits;
    torch::Tensor loss = torch::zeros({});
    for (const torch::Tensor& pass : logits) {
      const torch::Tensor each =
          torch::log_softmax(pass, -1).gather(2, labels.unsqueeze(-1)).squeeze(-1).masked_select(blank);
      loss = loss - each.mean() / static_cast<double>(logits.size());
    }
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  return {first, last};
}

RelationalOptions small_relational() {
  RelationalOptions options;
  options.width = 24;
  options.embedding = 6;
  options.layers = 1;
  options.passes = options.eval_passes = 3;
  return options;
}

TEST(Relational, HasThePublishedSize) {
  const RelationalReasoner reasoner({}, sudoku(3));
  const std::int64_t inner = 3 * (96 * 96 + 96);
  EXPECT_EQ(testing::parameters_of(reasoner), 10 * 16 + 27 * 16 + (4 * 16 * 96 + 96 + inner) +
                                                  2 * (2 * 96 * 96 + 96 + inner) + (192 * 384 + 384) +
                                                  (96 * 9 + 9));
}

TEST(Relational, HasTheGradientOfFiniteDifferences) {
  torch::manual_seed(2);
  RelationalReasoner reasoner(small_relational(), sudoku(2));
  reasoner.to(torch::kFloat64);
  const ReasonerInput input = random_input(sudoku(2), 1, 3);
  test::expect_gradient(
      [&](const torch::Tensor& x) {
        return torch::stack(reasoner.forward({x, input.evidence}).logits);
      },
      input.beliefs.to(torch::kFloat64), {1e-6, 1e-5});
}

// What a position hears comes from the groups it shares: with one pass a cell that shares none with the moved
// one does not change.
TEST(Relational, MessagesGoAlongGroups) {
  RelationalReasoner reasoner(small_relational(), sudoku(2));
  reasoner.eval();
  ReasonerInput input = random_input(sudoku(2), 1, 5);
  input.evidence.fill_(true);
  const torch::Tensor before = reasoner.forward(input, 1).logits.back();
  input.beliefs[0][0] = input.beliefs[0][0].flip(0);
  const torch::Tensor moved = (reasoner.forward(input, 1).logits.back() - before)[0].abs().amax(1);
  const torch::Tensor related = Structure::of(sudoku(2)).relation.any(0)[0];
  for (std::int64_t i = 1; i < 16; ++i) EXPECT_EQ(moved[i].item<float>() > 0, related[i].item<bool>()) << i;
}

TEST(Relational, LearnsSmallSudoku) {
  torch::manual_seed(1);
  RelationalReasoner reasoner(small_relational(), sudoku(2));
  const auto [first, last] = losses_of_training(reasoner, 100, 1e-2);
  EXPECT_GT(first, 1.2);
  EXPECT_LT(last, 0.5 * first);
}

TEST(SatNet, HasTheGradientOfFiniteDifferences) {
  torch::manual_seed(6);
  const auto options = torch::TensorOptions(torch::kFloat64);
  const torch::Tensor clauses = torch::randn({9, 7}, options) * 0.3;
  torch::Tensor start = torch::randn({9, 6}, options);
  start = start / start.norm(2, 1, true);
  start[0].zero_();
  start[0][0] = 1;
  const torch::Tensor z = torch::rand({2, 6}, options) * 0.8 + 0.1;
  const torch::Tensor given =
      torch::tensor({1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0}).view({2, 6}).to(torch::kBool);
  const auto layer = [&](const torch::Tensor& values, const torch::Tensor& s) {
    return satnet(values, given, s, start, 3000, 1e-12);
  };
  test::expect_gradient([&](const torch::Tensor& x) { return layer(x, clauses); }, z, {1e-5, 1e-5});
  test::expect_gradient([&](const torch::Tensor& x) { return layer(z, x); }, clauses, {1e-5, 1e-5});
}

// x ∨ y and x ∨ ¬y leave x true, whatever y is: the relaxation of two clauses knows it.
TEST(SatNet, SolvesWhatItsClausesSay) {
  torch::Tensor clauses = torch::zeros({3, 2}, torch::kFloat64);  // "true", x, y
  clauses[0].fill_(-1);
  clauses[1].fill_(1);
  clauses[2][0] = 1;
  clauses[2][1] = -1;
  torch::Tensor start =
      torch::tensor({1., 0., 0., 0., 0.3, 0.6, -0.5, 0.5, -0.2, 0.7, 0.4, -0.5}, torch::kFloat64)
          .view({3, 4});
  start = start / start.norm(2, 1, true);
  const torch::Tensor solved = satnet(torch::full({1, 2}, 0.5, torch::kFloat64),
                                      torch::zeros({1, 2}, torch::kBool), clauses, start, 1000, 1e-9);
  EXPECT_GT(solved[0][0].item<double>(), 0.9);
}

TEST(SatNet, LearnsSmallSudokuWithoutItsRules) {
  torch::manual_seed(1);
  SatNetOptions options;
  options.clauses = 60;
  options.auxiliary = 20;
  compile::ConstraintProgram without_rules = sudoku(2);
  without_rules.groups.clear();
  SatNet reasoner(options, without_rules);
  const auto [first, last] = losses_of_training(reasoner, 30, 1e-2);
  EXPECT_LT(last, 0.7 * first);
}

TransformerOptions recurrent(int passes) {
  TransformerOptions options;
  options.layers = 1;
  options.heads = 2;
  options.d_model = 32;
  options.d_ff = 64;
  options.passes = passes;
  options.dropout = 0;
  options.placement = Placement::kIndex;
  return options;
}

TEST(RecurrentTransformer, RunsTheSameLayersAgain) {
  torch::manual_seed(3);
  TransformerReasoner once(recurrent(1), sudoku(2)), thrice(recurrent(3), sudoku(2));
  ASSERT_EQ(testing::parameters_of(once), testing::parameters_of(thrice));
  torch::NoGradGuard no_grad;
  for (auto& parameter : thrice.named_parameters())
    parameter.value().copy_(once.named_parameters()[parameter.key()]);
  const ReasonerInput input = random_input(sudoku(2), 2, 4);
  const auto passes = thrice.forward(input).logits;
  ASSERT_EQ(passes.size(), 3U);
  EXPECT_TRUE(passes[0].equal(once.forward(input).logits[0]));
  EXPECT_FALSE(passes[1].equal(passes[0]));
  thrice.eval();
  EXPECT_EQ(thrice.forward(input).logits.size(), 1U);
  EXPECT_EQ(thrice.forward(input).passes[0].item<std::int64_t>(), 3);
}

// In float32, so along one direction and coarsely.
TEST(RecurrentTransformer, HasTheSlopeOfFiniteDifferences) {
  torch::manual_seed(3);
  TransformerReasoner reasoner(recurrent(3), sudoku(2));
  const ReasonerInput input = random_input(sudoku(2), 2, 4);
  const auto value = [&] { return torch::stack(reasoner.forward(input).logits).square().mean(); };
  value().backward();
  for (auto& parameter : reasoner.named_parameters()) {
    SCOPED_TRACE(parameter.key());
    torch::Tensor at = parameter.value();
    const torch::Tensor slope = at.grad();
    const double norm = slope.norm().item<double>();
    if (norm < 1e-3) continue;
    torch::NoGradGuard no_grad;
    const torch::Tensor step = slope / norm * 1e-2;
    at.add_(step);
    const double above = value().item<double>();
    at.sub_(2 * step);
    const double below = value().item<double>();
    at.add_(step);
    EXPECT_NEAR((above - below) / 2e-2, norm, 0.05 * norm);
  }
}

TEST(RecurrentTransformer, LearnsSmallSudoku) {
  torch::manual_seed(1);
  TransformerReasoner reasoner(recurrent(4), sudoku(2));
  const auto [first, last] = losses_of_training(reasoner, 60, 3e-3);
  EXPECT_GT(first, 1.2);
  EXPECT_LT(last, 0.5 * first);
}

}  // namespace
}  // namespace as2::nn
