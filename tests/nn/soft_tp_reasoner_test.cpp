#include "nn/soft_tp_reasoner.h"

#include <gtest/gtest.h>

#include "nn/inputs.h"
#include "nn/perception.h"

namespace as2::nn {
namespace {

using testing::addition;
using testing::certain_input;
using testing::difference;
using testing::parameters_of;
using testing::random_input;
using testing::solved_board;
using testing::sudoku;

SoftTpReasonerOptions small(Mixing mixing = Mixing::kBoth) {
  SoftTpReasonerOptions options;
  options.width = 16;
  options.heads = 2;
  options.d_ff = 32;
  options.mixing = mixing;
  options.passes = 3;
  options.eval_passes = 5;
  return options;
}

constexpr Mixing kMixings[] = {Mixing::kAttention, Mixing::kPooling, Mixing::kBoth};

TEST(SoftTpReasoner, ParameterCountIsThePrototypes) {
  const std::int64_t c = 96, ff = 384, families = 3;
  const std::int64_t embed = (4 + 2 * families) * c + c, norms = 4 * c;
  const std::int64_t attention = 4 * c * c + 4 * c + 4 * families, pooling = families * c * 2 * c;
  const std::int64_t feed_forward = (3 * c * ff + ff) + (ff * c + c), read = c + 1;
  const auto program = sudoku(3);
  SoftTpReasonerOptions options;
  EXPECT_EQ(parameters_of(SoftTpReasoner(options, program)),
            embed + norms + attention + pooling + feed_forward + read);
  options.mixing = Mixing::kAttention;
  EXPECT_EQ(parameters_of(SoftTpReasoner(options, program)), embed + norms + attention + feed_forward + read);
  options.mixing = Mixing::kPooling;
  options.tp_feedback = false;
  EXPECT_EQ(parameters_of(SoftTpReasoner(options, program)),
            embed - 2 * families * c + norms + pooling + feed_forward + read);
}

TEST(SoftTpReasoner, TrainingGivesLogitsOfEveryPassAndEvaluationTheAnswer) {
  const auto program = sudoku(2);
  SoftTpReasoner reasoner(small(), program);
  const auto input = random_input(program, 2, 1);
  EXPECT_EQ(reasoner.forward(input).logits.size(), 3U);
  EXPECT_EQ(reasoner.forward(input, 7).logits.size(), 7U);
  for (const auto& logits : reasoner.forward(input).logits) {
    EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{2, 16, 4}));
  }
  const auto third = reasoner.forward(input).logits.back();
  reasoner.eval();
  const auto out = reasoner.forward(input, 3);
  ASSERT_EQ(out.logits.size(), 1U);
  EXPECT_LT(difference(out.logits[0], third), 1e-5);
}

TEST(SoftTpReasoner, ReindexingPositionsPermutesTheOutput) {
  const auto program = sudoku(2);
  const auto place = testing::shuffled_places(16);
  const auto order = torch::tensor(std::vector<std::int64_t>(place.begin(), place.end()));
  const auto input = random_input(program, 3, 2);
  for (const auto mixing : kMixings) {
    torch::manual_seed(3);
    SoftTpReasoner reasoner(small(mixing), program);
    const auto before = reasoner.forward(input).logits.back();
    reasoner.bind(sudoku(2, place));
    const auto after = reasoner.forward(testing::moved(input, order)).logits.back();
    EXPECT_LT(difference(before, after.index_select(1, order)), 1e-4) << name_of(mixing);
    EXPECT_GT(difference(before, after), 1e-3) << name_of(mixing);
  }
}

TEST(SoftTpReasoner, RenamingSymbolsPermutesTheOutput) {
  const auto program = sudoku(2);
  torch::manual_seed(4);
  SoftTpReasoner reasoner(small(), program);
  const auto input = random_input(program, 3, 5);
  const auto order = torch::tensor({2, 0, 3, 1});
  const ReasonerInput renamed{input.beliefs.index_select(2, order), input.evidence};
  EXPECT_LT(difference(reasoner.forward(input).logits.back().index_select(2, order),
                       reasoner.forward(renamed).logits.back()),
            1e-4);
}

TEST(SoftTpReasoner, SameWeightsRunOnBoardsOfEverySize) {
  SoftTpReasoner reasoner(small(), sudoku(2));
  for (const int box : {3, 4, 2}) {
    const auto program = sudoku(box);
    const std::int64_t n = box * box;
    reasoner.bind(program);
    const auto logits = reasoner.forward(random_input(program, 1, 6), 2).logits.back();
    EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{1, n * n, n}));
    EXPECT_TRUE(logits.isfinite().all().item<bool>());
  }
  EXPECT_THROW(reasoner.bind(addition(2)), ContractError);
}

// As evaluation takes means on boards of another size, so does training that starts there.
TEST(SoftTpReasoner, SizesDecideTheMeansInTrainingAndAfterIt) {
  const auto program = sudoku(2);
  const auto input = random_input(program, 2, 8);
  torch::manual_seed(7);
  SoftTpReasoner plain(small(), program);
  auto options = small();
  options.sizes = {9, 9, 9, 9};
  torch::manual_seed(7);
  SoftTpReasoner kept(options, program);
  const auto as_trained = plain.forward(input).logits.back(), moved = kept.forward(input).logits.back();
  EXPECT_GT(difference(as_trained, moved), 1e-3);
  plain.set_trained_sizes({9, {9, 9, 9}});
  EXPECT_LT(difference(plain.forward(input).logits.back(), moved), 1e-6);

  // Every weight's gradient along a random direction, by differences. Steps are small: maxima have kinks.
  const auto loss = [&] { return kept.forward(input).logits.back().square().mean(); };
  loss().backward();
  const torch::NoGradGuard no_grad;
  const double step = 3e-4;
  for (const auto& item : kept.named_parameters()) {
    torch::Tensor weight = item.value();
    const torch::Tensor direction = torch::randn_like(weight);
    const double slope = (weight.grad() * direction).sum().item<double>();
    weight += step * direction;
    const double above = loss().item<double>();
    weight -= 2 * step * direction;
    const double below = loss().item<double>();
    weight += step * direction;
    EXPECT_NEAR(slope, (above - below) / (2 * step), 1e-2 * std::abs(slope) + 5e-3) << item.key();
  }
}

// The two programs differ only in what soft T_P says: all different, or merely not all of symbol 0.
TEST(SoftTpReasoner, FeedbackIsHowTheProgramIsRead) {
  const auto different = sudoku(2);
  auto weaker = different;
  for (auto& group : weaker.groups) {
    compile::Nogood nogood;
    for (const int i : group.positions) nogood.literals.push_back({i, {0}});
    group.content = compile::Nogoods{nogood};
  }
  const auto input = random_input(different, 2, 7);
  for (const bool feedback : {true, false}) {
    auto options = small();
    options.tp_feedback = feedback;
    torch::manual_seed(8);
    SoftTpReasoner reasoner(options, different);
    const auto first = reasoner.forward(input).logits.back();
    reasoner.bind(weaker);
    const auto second = reasoner.forward(input).logits.back();
    if (feedback) {
      EXPECT_GT(difference(first, second), 1e-2);
    } else {
      EXPECT_EQ(difference(first, second), 0);
    }
  }
}

// Each ingredient must carry influence from one position to another of its group, and only there for pooling.
TEST(SoftTpReasoner, InfluenceTravelsAlongGroups) {
  const auto program = sudoku(2);
  for (const auto mixing : kMixings) {
    auto options = small(mixing);
    options.tp_feedback = false;
    torch::manual_seed(9);
    SoftTpReasoner reasoner(options, program);
    auto input = random_input(program, 1, 10);
    input.beliefs.requires_grad_();
    reasoner.forward(input, 1).logits.back()[0][0][0].backward();
    const auto reached = input.beliefs.grad()[0].abs().sum(1) > 0;
    EXPECT_TRUE(reached[3].item<bool>()) << name_of(mixing);   // same row
    EXPECT_TRUE(reached[12].item<bool>()) << name_of(mixing);  // same column
    EXPECT_TRUE(reached[5].item<bool>()) << name_of(mixing);   // same box
    EXPECT_EQ(reached[15].item<bool>(), mixing != Mixing::kPooling) << name_of(mixing);
  }
}

TEST(SoftTpReasoner, PaddedSymbolsDoNotMatter) {
  compile::ConstraintProgram narrow;
  for (const char* name : {"a", "b", "c"}) narrow.positions.push_back(testing::position(name, 3));
  testing::add_families(narrow, {"different"});
  narrow.groups = {testing::all_different(0, {0, 1}, 3), testing::all_different(0, {1, 2}, 3)};
  auto wide = narrow;
  wide.positions.push_back(testing::position("apart", 5));  // in no group, but widens every domain's padding
  torch::manual_seed(11);
  SoftTpReasoner reasoner(small(Mixing::kPooling), narrow);
  const auto input = random_input(narrow, 2, 12);
  const auto expected = reasoner.forward(input).logits.back();
  reasoner.bind(wide);
  ReasonerInput padded{torch::full({2, 4, 5}, 0.2), torch::zeros({2, 4}, torch::kBool)};
  padded.beliefs.slice(1, 0, 3) = torch::constant_pad_nd(input.beliefs, {0, 2});
  padded.evidence.slice(1, 0, 3) = input.evidence;
  const auto logits = reasoner.forward(padded).logits.back();
  EXPECT_LT(difference(logits.slice(1, 0, 3).slice(2, 0, 3), expected), 1e-5);
  EXPECT_FALSE(logits.slice(1, 0, 3).slice(2, 3, 5).isfinite().any().item<bool>());
  EXPECT_TRUE(logits.select(1, 3).isfinite().all().item<bool>());
}

TEST(SoftTpReasoner, MixedDomainsTrain) {
  const auto program = addition(2);
  const auto mask = Structure::of(program).mask;
  for (const auto mixing : kMixings) {
    torch::manual_seed(13);
    SoftTpReasoner reasoner(small(mixing), program);
    auto input = random_input(program, 3, 14);
    input.beliefs.requires_grad_();
    const auto out = reasoner.forward(input);
    auto loss = torch::zeros({});
    for (const auto& logits : out.logits) {
      EXPECT_TRUE(logits.isfinite().equal(mask.expand_as(logits))) << name_of(mixing);
      loss = loss - torch::log_softmax(logits, -1).select(2, 1).mean();
    }
    loss.backward();
    EXPECT_TRUE(input.beliefs.grad().isfinite().all().item<bool>()) << name_of(mixing);
    for (const auto& parameter : reasoner.named_parameters()) {
      EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << parameter.key();
    }
    reasoner.eval();
    EXPECT_TRUE(reasoner.forward(input).logits[0].isfinite().equal(mask.expand({3, -1, -1})));
  }
}

TEST(SoftTpReasoner, HaltsWhereTheAnswerIsDecidedAndConsistent) {
  const auto program = sudoku(2);
  const auto solved = torch::tensor(solved_board(2));
  auto broken = solved.clone();
  broken[0] = solved[1];
  const auto certain = certain_input(torch::stack({solved, broken, solved}), 4);
  ReasonerInput input{certain.beliefs.clone(), certain.evidence.clone()};
  input.beliefs[2] = torch::full({16, 4}, 0.25);
  input.evidence[2].fill_(false);

  torch::manual_seed(15);
  SoftTpReasoner reasoner(small(), program);
  reasoner.eval();
  const auto halting = reasoner.forward(input);
  EXPECT_TRUE(halting.passes.equal(torch::tensor({1, 5, 5})));
  reasoner.set_fixed_passes(true);
  const auto masked = reasoner.forward(input);
  EXPECT_TRUE(masked.passes.equal(halting.passes));
  EXPECT_LT(difference(masked.logits[0], halting.logits[0]), 1e-5);
  EXPECT_TRUE(masked.logits[0][0].argmax(-1).equal(solved));
  // The finished board kept the logits of its only pass.
  EXPECT_LT(difference(reasoner.forward(input, 1).logits[0][0], masked.logits[0][0]), 1e-6);
  EXPECT_GT(difference(reasoner.forward(input, 1).logits[0][2], masked.logits[0][2]), 1e-4);
}

TEST(SoftTpReasoner, EvidenceIsSoft) {
  const auto program = sudoku(2);
  torch::manual_seed(16);
  SoftTpReasoner reasoner(small(), program);
  auto input = random_input(program, 1, 17);
  input.evidence.fill_(true);
  input.beliefs = torch::softmax(torch::randn({1, 16, 4}), -1);
  const auto beliefs = torch::softmax(reasoner.forward(input).logits.back(), -1);
  EXPECT_GT(difference(beliefs, input.beliefs), 1e-2);  // not clamped
}

TEST(SoftTpReasoner, GradientReachesPerception) {
  const auto program = sudoku(2);
  torch::manual_seed(18);
  auto options = PerceptionOptions::paper(4);
  options.width = 0.125;
  Perception perception(options);
  SoftTpReasoner reasoner(small(), program);
  const auto evidence = torch::arange(16).remainder(2).eq(0).unsqueeze(0);
  const auto given = perception->beliefs(perception->forward(torch::rand({16, 28, 28})).logits).unsqueeze(0);
  const auto mask = Structure::of(program).mask;
  const auto out = reasoner.forward({testing::evidence_beliefs(given, evidence, mask), evidence});
  const auto latent = out.logits.back().masked_select(evidence.logical_not().unsqueeze(-1));
  latent.view({-1, 4}).select(1, 0).sum().backward();
  for (const auto& parameter : perception->named_parameters()) {
    EXPECT_GT(parameter.value().grad().abs().sum().item<double>(), 0) << parameter.key();
  }
}

TEST(SoftTpReasoner, DetachedFeedbackChangesGradientsOnly) {
  const auto program = sudoku(2);
  const auto input = random_input(program, 2, 19);
  std::vector<torch::Tensor> logits, gradients;
  for (const bool detach : {false, true}) {
    auto options = small();
    options.detach_feedback = detach;
    torch::manual_seed(20);
    SoftTpReasoner reasoner(options, program);
    logits.push_back(reasoner.forward(input).logits.back());
    logits.back().square().sum().backward();
    gradients.push_back(reasoner.named_parameters()["embed.weight"].grad());
  }
  EXPECT_EQ(difference(logits[0], logits[1]), 0);
  EXPECT_GT(difference(gradients[0], gradients[1]), 1e-4);

  // Nor do means that weigh atoms by their beliefs let a gradient through: only the last pass scales
  // evidence.
  auto options = small();
  options.detach_feedback = true;
  options.sizes = {9, 9, 9, 9};
  SoftTpReasoner reasoner(options, program);
  reasoner.forward(input).logits.back().sum().backward();
  const auto evidence = input.beliefs.clamp_min(1e-6).log().sum();
  EXPECT_NEAR(reasoner.named_parameters()["evidence_scale"].grad().item<double>(), evidence.item<double>(),
              1e-4 * std::abs(evidence.item<double>()));
}

TEST(SoftTpReasoner, BfloatUnderAutocastStaysClose) {
  const auto program = sudoku(2);
  torch::manual_seed(21);
  SoftTpReasoner reasoner(small(), program);
  const auto input = random_input(program, 2, 22);
  const auto exact = reasoner.forward(input).logits.back();
  const compat::AutocastScope autocast(torch::kCPU, true);
  const auto rough = reasoner.forward(input).logits.back();
  EXPECT_EQ(rough.scalar_type(), torch::kFloat32);
  EXPECT_GT(difference(exact, rough), 0);
  EXPECT_LT(difference(torch::softmax(exact, -1), torch::softmax(rough, -1)), 0.05);
}

}  // namespace
}  // namespace as2::nn
