// Whole runs on MNIST: what the presets for the CPU reach in their own number of steps. How long that takes
// depends on the machine, so it is printed and not tested.
#include <gtest/gtest.h>

#include <iostream>

#include "datasets/mnist.h"
#include "eval/evaluate.h"
#include "native/networks.h"
#include "support/temporary_folder.h"
#include "train/trainer.h"

namespace as2::train {
namespace {

bool has_mnist() {
  datasets::MnistOptions options;
  options.fetch = false;
  try {
    datasets::find_mnist(options);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// Trains, loads what was saved, and gives the task's own test figures.
nlohmann::json trained(const std::string& task_name, const std::string& preset,
                       const std::vector<std::string>& overrides, std::int64_t test_examples) {
  at::set_num_threads(2);
  const test::TemporaryFolder folder;
  Settings settings = layered_settings(task_name, preset, overrides);
  Config config = read_config(settings);
  const Task task(config, {});
  const nn::ModelOptions model = read_model(settings, static_cast<std::int64_t>(task.classes().size()));
  settings.refuse_unused();
  config.resolved = settings.resolved();
  Workers alone;
  Trainer trainer(config, model, task, folder.path(), torch::kCPU, alone, {});
  const TrainResult result = trainer.run();
  infer::PerceiverAndGuide networks = native::perceiver_and_guide(std::make_shared<native::Networks>(
      infer::read_card(result.model), task.shared_program(), native::EngineOptions{}));
  const Instances instances = task.instances(Part::kTest, test_examples);
  nlohmann::json figures = eval::evaluate(networks, task, instances, {});
  figures["seconds"] = result.seconds;
  std::cout << task_name << ' ' << preset << ": " << figures.dump() << '\n';
  return figures;
}

TEST(Slow, PerceptionReadsDigits) {
  if (!has_mnist()) GTEST_SKIP() << "no MNIST here; as2 data mnist fetches it";
  const nlohmann::json figures = trained("digits", "quick", {}, 10000);
  EXPECT_GE(figures["digit_accuracy"].get<double>(), 0.985);
  EXPECT_LT(figures["calibration_error"].get<double>(), 0.01);
}

TEST(Slow, SumsAloneTeachTheDigits) {
  if (!has_mnist()) GTEST_SKIP() << "no MNIST here; as2 data mnist fetches it";
  const nlohmann::json figures = trained("addition", "one-epoch", {}, 5000);
  EXPECT_EQ(figures["supervision"], "sum");
  EXPECT_GT(figures["sum_accuracy"].get<double>(), 0.90);
}

}  // namespace
}  // namespace as2::train
