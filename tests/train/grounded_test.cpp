// Preset `grounded`: perception learns what a picture shows from the solutions of the blanks alone, through a
// reasoner that knows the rules.
#include <gtest/gtest.h>

#include "support/bars.h"
#include "train/tiny_run.h"

namespace as2::train {
namespace {

// The share of validation's clues that are read as what they show, though no label of one may be used.
double clues_read(const Config& config, const Task& task, nn::Model& model) {
  torch::NoGradGuard no_grad;
  model.eval();
  const torch::Tensor mask = tp::SoftTp(task.program()).mask(torch::empty({0}));
  infer::Network network(model, task.pictures(), mask);
  const Instances examples = task.instances(Part::kValidation, config.data.validation);
  BatchOptions options;
  options.batch = options.picture_rows = examples.size();
  Batches batches(examples, task.pool(Part::kValidation), task.pictures(), options, torch::kCPU);
  const Batch batch = batches.batch(0, 0);
  EXPECT_FALSE((batch.known & batch.evidence).any().item<bool>());
  ForwardOptions forward;
  forward.perceived_rows = examples.size();
  const torch::Tensor read = network.forward(batch, forward).evidence.argmax(-1);
  return ((read == batch.shows) & batch.evidence).sum().item<double>() / batch.evidence.sum().item<double>();
}

TEST(Grounded, DigitsAreLearntFromTheBlanksAloneAndOnlyThroughTheRules) {
  test::TemporaryFolder folder;
  testing::write_bars(folder / "pictures");
  TinyRun reasoner({}, folder / "reasoner");
  ASSERT_GT(reasoner.trainer->run().score, 0.99);
  const auto read_after = [&](const std::string& gradient) {
    Settings settings = layered_settings("sudoku", "grounded",
                                         {"reasoner_from=" + (folder / "reasoner/model.safetensors"),
                                          "program.constants=[\"b=2\"]",
                                          "program.compiled=programs/sudoku-b2.as2c",
                                          "images.source=" + (folder / "pictures"),
                                          "images.augment=false",
                                          "data.box=2",
                                          "data.min_clues=6",
                                          "data.max_clues=8",
                                          "data.train=512",
                                          "data.validation=64",
                                          "model.reasoner.width=32",
                                          "model.reasoner.heads=2",
                                          "model.reasoner.d_ff=64",
                                          "model.reasoner.passes=6",
                                          "model.reasoner.eval_passes=16",
                                          "model.perception.preset=paper",
                                          "model.perception.width=0.125",
                                          "model.perception.d_model=16",
                                          "train.batch=32",
                                          "train.epochs=8",
                                          "train.rate=5e-3",
                                          "train.ema_decay=0.9",
                                          "train.evidence_gradient=" + gradient});
    Config config = read_config(settings);
    const Task task(config, TaskOptions{});
    const nn::ModelOptions model = read_model(settings, static_cast<std::int64_t>(task.classes().size()));
    settings.refuse_unused();
    Workers alone;
    Trainer trainer(config, model, task, folder / ("run-" + gradient), torch::kCPU, alone, TrainHooks{});
    trainer.run();
    return clues_read(config, task, trainer.model());
  };
  EXPECT_GT(read_after("true"), 0.8);
  EXPECT_LT(read_after("false"), 0.6);
}

}  // namespace
}  // namespace as2::train
