#include "nn/transformer.h"

#include <gtest/gtest.h>

#include "nn/inputs.h"

namespace as2::nn {
namespace {

using testing::addition;
using testing::difference;
using testing::parameters_of;
using testing::random_input;
using testing::sudoku;

TransformerOptions small_transformer() {
  TransformerOptions options;
  options.layers = 2;
  options.heads = 2;
  options.d_model = 16;
  options.d_ff = 32;
  return options;
}

// A pre-norm layer of width d and 4d has 12d² + 13d parameters.
std::int64_t encoder(std::int64_t layers, std::int64_t d) {
  return layers * (12 * d * d + 13 * d);
}

// The paper's sizes for this many addends, as tasks/addition/paper.toml has them.
TransformerOptions paper_addition(int addends) {
  TransformerOptions options;
  options.layers = addends >= 8 ? 5 : 3;
  options.heads = 4;
  options.d_model = 128;
  options.d_ff = 512;
  options.placement = Placement::kIndex;
  options.pooled = true;
  options.clamp = false;
  options.restore = false;
  return options;
}

TEST(Transformer, ParameterCountsOfThePaper) {
  // Projection, three tables of nine groups, L6 d256, last norm, head.
  EXPECT_EQ(parameters_of(TransformerReasoner(TransformerOptions(), sudoku(3))),
            (9 * 256 + 256) + 27 * 256 + encoder(6, 256) + 2 * 256 + (256 * 9 + 9));
  for (const int n : {2, 4, 8}) {
    const std::int64_t sums = 10 * n - n + 1;
    EXPECT_EQ(parameters_of(TransformerReasoner(paper_addition(n), addition(n))),
              (10 * 128 + 128) + n * 128 + encoder(n == 8 ? 5 : 3, 128) + 2 * 128 + (128 * 10 + 10) +
                  (128 * sums + sums))
        << n;
  }
}

TEST(Transformer, ReindexingPositionsPermutesTheOutput) {
  const auto program = sudoku(2);
  const auto place = testing::shuffled_places(16);
  const auto order = torch::tensor(std::vector<std::int64_t>(place.begin(), place.end()));
  for (const auto placement : {Placement::kMembership, Placement::kRelation}) {
    auto options = small_transformer();
    options.placement = placement;
    torch::manual_seed(7);
    TransformerReasoner reasoner(options, program);
    for (auto& parameter : reasoner.named_parameters()) {
      if (parameter.key().find("relation_bias") != std::string::npos)
        torch::nn::init::normal_(parameter.value());
    }
    reasoner.eval();
    const auto input = random_input(program, 3, 8);
    const auto before = reasoner.forward(input).logits.back();
    reasoner.bind(sudoku(2, place));
    const auto after = reasoner.forward(testing::moved(input, order)).logits.back();
    EXPECT_LT(difference(before, after.index_select(1, order)), 1e-5) << name_of(placement);
    EXPECT_GT(difference(before, after), 1e-3) << name_of(placement);
  }
}

TEST(Transformer, PlacementTellsCellsApart) {
  const auto program = sudoku(2);
  const auto same = torch::full({1, 16, 4}, 0.25);
  const ReasonerInput blank{same, torch::zeros({1, 16}, torch::kBool)};
  TransformerReasoner reasoner(small_transformer(), program);
  reasoner.eval();
  const auto logits = reasoner.forward(blank).logits.back();
  EXPECT_GT(difference(logits.slice(1, 0, 1), logits.slice(1, 5, 6)), 1e-4);
}

TEST(Transformer, ClampsEvidenceAndRestoresItInEvaluationOnly) {
  const auto program = sudoku(2);
  torch::manual_seed(9);
  auto options = small_transformer();
  options.dropout = 0;
  TransformerReasoner reasoner(options, program);
  const auto input = random_input(program, 4, 10);
  const ReasonerInput clamped{clamp_evidence(input.beliefs, input.evidence), input.evidence};
  const auto at_evidence = input.evidence.unsqueeze(-1).expand_as(input.beliefs);

  reasoner.eval();
  const auto logits = reasoner.forward(input).logits.back();
  EXPECT_LT(difference(torch::softmax(logits, -1).masked_select(at_evidence),
                       input.beliefs.masked_select(at_evidence)),
            1e-5);
  // Latent positions saw the one-hot reading, not the soft one.
  EXPECT_LT(difference(logits.masked_select(at_evidence.logical_not()),
                       reasoner.forward(clamped).logits.back().masked_select(at_evidence.logical_not())),
            1e-6);

  reasoner.train();
  const auto soft = reasoner.forward(input).logits.back(), hard = reasoner.forward(clamped).logits.back();
  EXPECT_GT(difference(soft, hard), 1e-4);
  EXPECT_GT(difference(hard.masked_select(at_evidence), logits.masked_select(at_evidence)), 1e-2);
  EXPECT_LT(difference(hard.masked_select(at_evidence.logical_not()),
                       logits.masked_select(at_evidence.logical_not())),
            1e-5);
}

TEST(Transformer, AdditionPoolsTheTokensForTheSum) {
  const auto program = addition(3);
  torch::manual_seed(11);
  TransformerReasoner reasoner(paper_addition(3), program);
  reasoner.eval();
  const auto input = random_input(program, 2, 12);
  const auto out = reasoner.forward(input);
  const auto logits = out.logits.back();
  EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{2, 4, 28}));
  EXPECT_TRUE(logits.isfinite().equal(Structure::of(program).mask.expand_as(logits)));
  EXPECT_TRUE(out.passes.equal(torch::ones({2}, torch::kInt64)));
  // The sum is no token: what is believed of it must not matter.
  auto other = input;
  other.beliefs = input.beliefs.clone();
  other.beliefs.select(1, 3).fill_(0).select(1, 5).fill_(1);
  EXPECT_EQ(difference(logits, reasoner.forward(other).logits.back()), 0);
  // Without the addend embedding the sum would be the same for swapped addends.
  auto swapped = input;
  swapped.beliefs = input.beliefs.index_select(1, torch::tensor({1, 0, 2, 3}));
  EXPECT_GT(difference(logits, reasoner.forward(swapped).logits.back()), 1e-5);
  {
    torch::NoGradGuard no_grad;
    reasoner.named_parameters()["index"].zero_();
  }
  EXPECT_LT(difference(reasoner.forward(input).logits.back().select(1, 3),
                       reasoner.forward(swapped).logits.back().select(1, 3)),
            1e-5);
}

TEST(Transformer, BfloatUnderAutocastStaysClose) {
  const auto program = sudoku(2);
  torch::manual_seed(13);
  TransformerReasoner reasoner(small_transformer(), program);
  reasoner.eval();
  const auto input = random_input(program, 2, 14);
  const auto exact = reasoner.forward(input).logits.back();
  const compat::AutocastScope autocast(torch::kCPU, true);
  const auto rough = reasoner.forward(input).logits.back();
  EXPECT_TRUE(compat::autocast_enabled(torch::kCPU));
  EXPECT_EQ(rough.scalar_type(), torch::kFloat32);
  EXPECT_GT(difference(exact, rough), 0);
  EXPECT_LT(difference(exact, rough), 0.05);
}

TEST(Transformer, RefusesAProgramItsTablesDoNotFit) {
  TransformerReasoner reasoner(small_transformer(), sudoku(2));
  EXPECT_THROW(reasoner.bind(sudoku(3)), ContractError);
  auto pooled = small_transformer();
  pooled.pooled = true;
  EXPECT_THROW(TransformerReasoner(pooled, sudoku(2)), InputError);
}

}  // namespace
}  // namespace as2::nn
