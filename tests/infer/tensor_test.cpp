// The solver's perceiver and guide go the same way as a batch in training: perception → evidence → reasoner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "infer/tensor/network.h"
#include "infer/tensor/open.h"
#include "nn/programs.h"
#include "support/temporary_folder.h"

namespace as2::infer {
namespace {

using testing::addition;
using ::testing::HasSubstr;

// Three addends with pictures of ten digits, and their sum without one.
class Answering : public ::testing::Test {
 protected:
  void SetUp() override {
    torch::manual_seed(5);
    auto made = std::make_shared<compile::ConstraintProgram>(addition(3));
    made->hash = "made up";
    program_ = made;
    for (int digit = 0; digit < 10; ++digit) card_.pictures.classes.push_back(std::to_string(digit));
    for (int k = 0; k < 3; ++k) card_.pictures.positions.push_back(program_->positions[k].name);
    nn::ModelOptions options;
    options.perception = nn::PerceptionOptions::paper(10);
    options.perception->width = 0.125;
    options.kind = nn::ReasonerKind::kSoftTp;
    options.soft_tp.width = 8;
    options.soft_tp.heads = 2;
    options.soft_tp.d_ff = 16;
    options.soft_tp.passes = options.soft_tp.eval_passes = 3;
    model_ = std::make_shared<nn::Model>(options, *program_);
    model_->perception->named_buffers()["temperature"].fill_(0.3);
    card_.weights = folder_ / "m.safetensors";
    card_.task = "sum";
    nn::save_model(card_, *model_, *program_);
    model_->eval();
    card_ = read_card(card_.weights);
  }

  test::TemporaryFolder folder_;
  Card card_;
  std::shared_ptr<const compile::ConstraintProgram> program_;
  std::shared_ptr<nn::Model> model_;
};

TEST_F(Answering, GivesWhatABatchGives) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor pixels = torch::randint(0, 256, {2, 2, 28, 28}).to(torch::kUInt8);
  std::vector<Scene> scenes(2);
  const int at[2][2] = {{0, 2}, {1, 2}};
  Batch batch;
  batch.shows = torch::zeros({2, 4}, torch::kInt64);
  batch.given = torch::zeros({2, 4}, torch::kBool);
  batch.evidence = torch::zeros({2, 4}, torch::kBool);
  batch.slot_positions = torch::zeros({2, 3}, torch::kInt64);  // the third slot is padding
  batch.slot_mask = torch::tensor({{1, 1, 0}, {1, 1, 0}}).to(torch::kBool);
  batch.pixels = torch::zeros({2, 3, 28, 28});
  for (int n = 0; n < 2; ++n) {
    for (int k = 0; k < 2; ++k) {
      const torch::Tensor one = pixels[n][k].contiguous();
      scenes[n].push_back({at[n][k], {one.data_ptr<std::uint8_t>(), one.data_ptr<std::uint8_t>() + 784}});
      batch.evidence[n][at[n][k]] = true;
      batch.slot_positions[n][k] = at[n][k];
      batch.pixels[n][k] = one.to(torch::kFloat32).div(255);
    }
  }
  Network network(*model_, map_pictures(*program_, card_.pictures.positions, card_.pictures.classes),
                  nn::Structure::of(*program_).mask);
  ForwardOptions options;
  options.perceived_rows = 2;
  const Prediction prediction = network.forward(batch, options);
  const torch::Tensor reasoned = torch::softmax(prediction.logits.back(), -1);

  Solver solver = open_solver(card_, program_);
  const auto answers = solver.solve(scenes);
  const auto row = [](const decode::Beliefs& beliefs) {
    return torch::tensor(beliefs, torch::kFloat64).view({4, -1});
  };
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(answers[n].evidence, (std::vector<int>{at[n][0], at[n][1]}));
    EXPECT_TRUE(row(answers[n].beliefs).allclose(prediction.evidence[n].to(torch::kFloat64), 1e-6, 1e-7));
    EXPECT_TRUE(row(answers[n].reasoned).allclose(reasoned[n].to(torch::kFloat64), 1e-5, 1e-6));
    EXPECT_FALSE(row(answers[n].reasoned).allclose(row(answers[n].beliefs), 1e-3, 1e-3));
  }
  Solver alone = open_solver(card_, program_, /*with_guide=*/false);
  const Answer unguided = alone.solve(scenes)[0];
  EXPECT_EQ(unguided.reasoned, unguided.beliefs);
  EXPECT_EQ(unguided.beliefs, answers[0].beliefs);
}

TEST_F(Answering, RefusesWhatReadsNoPictures) {
  nn::ModelOptions blind = model_->options();
  blind.perception.reset();
  card_.pictures = {};
  nn::save_model(card_, nn::Model(blind, *program_), *program_);
  try {
    open_solver(read_card(card_.weights), program_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no perception"));
  }
}

TEST_F(Answering, RefusesWeightsThatAreNoNumbersOrGiveNone) {
  const torch::NoGradGuard no_grad;
  const auto message = [&] {
    nn::save_model(card_, *model_, *program_);
    try {
      open_solver(read_card(card_.weights), program_).solve({{{0, std::vector<std::uint8_t>(784)}}});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(), "accepted");
  model_->perception->named_buffers()["temperature"].fill_(0);
  EXPECT_THAT(message(), HasSubstr("m.safetensors: error: with these weights the network gives something"));
  model_->perception->named_buffers()["temperature"].fill_(std::nan(""));
  EXPECT_THAT(message(),
              HasSubstr("m.safetensors: error: the tensor 'perception.temperature' holds something that is"));
}

TEST_F(Answering, RefusesRestartsWithoutNoise) {
  SolverOptions options;
  options.restarts = 2;
  EXPECT_THROW(open_solver(card_, program_, /*with_guide=*/true, options), InputError);
}

TEST_F(Answering, RefusesPicturesWhereTheCardHasNone) {
  Solver solver = open_solver(card_, program_);
  EXPECT_THROW(solver.solve({{{3, std::vector<std::uint8_t>(784)}}}), ContractError);
  EXPECT_THROW(solver.solve({{{0, std::vector<std::uint8_t>(783)}}}), ContractError);
}

}  // namespace
}  // namespace as2::infer
