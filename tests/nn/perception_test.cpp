#include "nn/perception.h"

#include <gtest/gtest.h>

#include "nn/inputs.h"
#include "torch_compat.h"

namespace as2::nn {
namespace {

using testing::parameters_of;

TEST(Perception, ShapesAndParameterCount) {
  Perception net(PerceptionOptions::paper(9));
  const auto out = net->forward(torch::rand({5, 28, 28}));
  EXPECT_EQ(out.embedding.sizes(), (std::vector<std::int64_t>{5, 256}));
  EXPECT_EQ(out.logits.sizes(), (std::vector<std::int64_t>{5, 9}));
  // 3×3 kernels, one scale and shift per channel, 128·3·3 → 256 → 9.
  const int kernels = 9 * (1 * 32 + 32 * 64 + 64 * 128), norms = 2 * (32 + 64 + 128);
  EXPECT_EQ(parameters_of(*net), kernels + norms + (1152 * 256 + 256) + (256 * 9 + 9));

  Perception best(PerceptionOptions::best(10));
  const int second = 9 * (32 * 32 + 64 * 64 + 128 * 128);
  EXPECT_EQ(parameters_of(*best), kernels + second + 2 * norms + (1152 * 256 + 256) + (256 * 10 + 10));

  auto half = PerceptionOptions::paper(10);
  half.width = 0.5;
  EXPECT_EQ(Perception(half)->forward(torch::rand({2, 1, 28, 28})).logits.size(1), 10);
}

TEST(Perception, ImagesDoNotInfluenceEachOther) {
  torch::manual_seed(1);
  Perception net(PerceptionOptions::best(10));
  net->eval();
  const auto images = torch::rand({4, 28, 28});
  const auto together = net->forward(images).logits, alone = net->forward(images.slice(0, 1, 2)).logits;
  EXPECT_LT(testing::difference(together.slice(0, 1, 2), alone), 1e-5);
}

TEST(Perception, RefusesOtherImageSizes) {
  Perception net(PerceptionOptions::paper(10));
  EXPECT_THROW(net->forward(torch::rand({2, 32, 32})), ContractError);
}

TEST(Perception, CalibrationFindsTheTemperatureTheLabelsWereDrawnWith) {
  torch::manual_seed(3);
  Perception net(PerceptionOptions::paper(10));
  const auto logits = torch::randn({20000, 10}) * 2;
  const auto labels = torch::softmax(logits / 2.5, -1).multinomial(1).squeeze(1);
  EXPECT_TRUE(net->beliefs(logits).allclose(torch::softmax(logits, -1)));
  net->calibrate(logits, labels);
  EXPECT_NEAR(net->named_buffers()["temperature"].item<double>(), 2.5, 0.1);
  EXPECT_TRUE(net->beliefs(logits).allclose(torch::softmax(logits / 2.5, -1), 0.1, 0.02));
}

TEST(Perception, RunsUnderAutocast) {
  torch::manual_seed(4);
  Perception net(PerceptionOptions::paper(10));
  net->eval();
  const auto images = torch::rand({3, 28, 28});
  const auto exact = net->forward(images).logits;
  const compat::AutocastScope autocast(torch::kCPU, true);
  const auto rough = net->forward(images).logits;
  EXPECT_EQ(rough.scalar_type(), torch::kFloat32);
  EXPECT_LT(testing::difference(exact, rough), 0.05);
  EXPECT_GT(testing::difference(exact, rough), 0.0);
}

// A dozen steps on twenty noisy images of two kinds: the loss must fall to a tenth.
TEST(Perception, Learns) {
  torch::manual_seed(5);
  auto options = PerceptionOptions::paper(2);
  options.width = 0.25;
  Perception net(options);
  const auto labels = torch::arange(20) % 2;
  auto images = torch::rand({20, 28, 28}) * 0.3;
  images.slice(1, 4, 12) += labels.view({20, 1, 1});
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(3e-3));
  double first = 0, last = 0;
  for (int step = 0; step < 12; ++step) {
    const auto loss = torch::cross_entropy_loss(net->forward(images).logits, labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, first / 10);
}

}  // namespace
}  // namespace as2::nn
