#include "nn/restarts.h"

#include <gtest/gtest.h>

#include "nn/inputs.h"
#include "nn/soft_tp_reasoner.h"

namespace as2::nn {
namespace {

using testing::certain_input;
using testing::solved_board;
using testing::sudoku;

// Answers what it was told to, by trajectory and by the instance's number, which stands in its evidence: the
// first position's belief in symbol 0 is (number + 1) / 20.
class Scripted : public Reasoner {
 public:
  ReasonerOutput forward(const ReasonerInput& input, int /*passes*/) override {
    std::vector<torch::Tensor> rows;
    asked.emplace_back();
    for (std::int64_t n = 0; n < input.beliefs.size(0); ++n) {
      const int number = static_cast<int>(std::lround(input.beliefs[n][0][0].item<double>() * 20) - 1);
      asked.back().push_back(number);
      rows.push_back(torch::one_hot(answers[input.trajectory][number], 4).to(torch::kFloat32) * 5);
    }
    ReasonerOutput output;
    output.logits = {torch::stack(rows)};
    return output;
  }
  void bind(const compile::ConstraintProgram& /*program*/) override {}
  bool has_trajectories() const override { return noisy; }

  bool noisy = true;
  std::vector<std::vector<torch::Tensor>> answers;  // [trajectory][instance] → [positions] int64
  std::vector<std::vector<int>> asked;              // the instances of every call
};

struct Boards {
  torch::Tensor solved = torch::tensor(solved_board(2));
  // Two cells of a row exchanged; one cell wrong on top of that.
  torch::Tensor bad = solved.clone(), worse;
  tp::SoftTp soft_tp{sudoku(2)};

  Boards() {
    bad[0] = solved[1];
    bad[1] = solved[0];
    worse = bad.clone();
    worse[15] = (bad[15] + 1).remainder(4);
  }
  // Evidence at position 0 alone, which carries the number; every symbol stays possible.
  static ReasonerInput input(int count) {
    ReasonerInput input{torch::full({count, 16, 4}, 0.25), torch::zeros({count, 16}, torch::kBool)};
    for (int n = 0; n < count; ++n) {
      input.beliefs[n][0] = torch::tensor({(n + 1) * 0.05, 0.3, 0.3, 0.4 - (n + 1) * 0.05});
      input.evidence[n][0] = true;
    }
    return input;
  }
};

TEST(Restarts, AnObjectionIsZeroAtAnswersAloneAndGrowsWithWhatIsBroken) {
  const Boards boards;
  ReasonerInput open{torch::full({3, 16, 4}, 0.25), torch::zeros({3, 16}, torch::kBool)};
  const auto logits =
      torch::one_hot(torch::stack({boards.solved, boards.bad, boards.worse}), 4).to(torch::kFloat32);
  const auto objected = objection(boards.soft_tp, logits, open);
  EXPECT_EQ(objected[0].item<double>(), 0);
  EXPECT_GT(objected[1].item<double>(), 0);
  EXPECT_GT(objected[2].item<double>(), objected[1].item<double>());
  // A valid board that the evidence rules out is no answer to it.
  auto other = certain_input(boards.solved.unsqueeze(0), 4);
  const auto renamed = (boards.solved + 1).remainder(4).unsqueeze(0);
  EXPECT_EQ(
      objection(boards.soft_tp, torch::one_hot(boards.solved.unsqueeze(0), 4).to(torch::kFloat32), other)
          .item<double>(),
      0);
  EXPECT_GT(objection(boards.soft_tp, torch::one_hot(renamed, 4).to(torch::kFloat32), other).item<double>(),
            0);
}

TEST(Restarts, OnlyUnsolvedInstancesGoOnAndTheLeastObjectionAnswers) {
  const Boards boards;
  Scripted reasoner;
  reasoner.eval();
  const auto &good = boards.solved, &bad = boards.bad, &worse = boards.worse;
  // Instance 0 is solved at once, 1 by the third trajectory, 2 never: its second is its best, 3 by the
  // second.
  reasoner.answers = {
      {good, bad, worse, worse}, {bad, worse, bad, good}, {bad, good, worse, bad}, {bad, bad, worse, bad}};
  const ReasonerInput input = Boards::input(4);
  const auto run = [&](int most) {
    return run_restarts(reasoner, boards.soft_tp, input, reasoner.forward(input, 0).logits[0], most);
  };
  const RestartedOutput output = run(4);
  EXPECT_EQ(reasoner.asked, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {1, 2, 3}, {1, 2}, {2}}));
  const auto answer = output.logits.argmax(-1);
  EXPECT_TRUE(answer.equal(torch::stack({good, good, bad, good})));
  EXPECT_TRUE(output.valid.equal(torch::tensor({true, true, false, true})));
  EXPECT_TRUE(output.trajectories.equal(torch::tensor({1, 3, 4, 2})));

  reasoner.asked.clear();
  const RestartedOutput once = run(1);
  EXPECT_EQ(reasoner.asked.size(), 1U);
  EXPECT_TRUE(once.logits.argmax(-1).equal(torch::stack({good, bad, worse, worse})));
  EXPECT_TRUE(once.valid.equal(torch::tensor({true, false, false, false})));
}

TEST(Restarts, NeedNoiseAndEvaluation) {
  const Boards boards;
  Scripted reasoner;
  const auto first = torch::one_hot(boards.solved.unsqueeze(0), 4).to(torch::kFloat32);
  const auto run = [&](int most) {
    return run_restarts(reasoner, boards.soft_tp, Boards::input(1), first, most);
  };
  EXPECT_THROW(run(1), ContractError);
  reasoner.eval();
  reasoner.noisy = false;
  EXPECT_THROW(run(2), ContractError);
  EXPECT_NO_THROW(run(1));
}

}  // namespace
}  // namespace as2::nn
