// Runs on 4 × 4 Sudoku that take seconds.
#pragma once

#include <algorithm>

#include "support/temporary_folder.h"
#include "train/trainer.h"

namespace as2::train {

namespace fs = std::filesystem;

struct TinyRun {
  Workers workers;
  Config config;
  std::unique_ptr<Task> task;
  std::unique_ptr<Trainer> trainer;

  TinyRun(const std::vector<std::string>& overrides, const fs::path& folder, TrainHooks hooks = {},
          const Launch& launch = {}, torch::Device device = torch::kCPU)
      : workers(launch, device) {
    Settings settings = layered_settings("sudoku", "tiny", overrides);
    config = read_config(settings);
    task = std::make_unique<Task>(config, TaskOptions{});
    const nn::ModelOptions model = read_model(settings, static_cast<std::int64_t>(task->classes().size()));
    settings.refuse_unused();
    config.resolved = settings.resolved();
    trainer = std::make_unique<Trainer>(config, model, *task, folder, device, workers, std::move(hooks));
  }
};

inline const std::vector<std::string> kShort = {
    "data.train=256",  "data.validation=64",      "train.epochs=3",         "train.batch=32",
    "train.stop_at=2", "model.reasoner.width=16", "model.reasoner.passes=3"};

// `more` beside `base`, and in place of what sets the same key there.
inline std::vector<std::string> with(std::vector<std::string> base, const std::vector<std::string>& more) {
  for (const std::string& setting : more) {
    const std::string key = setting.substr(0, setting.find('=') + 1);
    base.erase(std::remove_if(base.begin(), base.end(),
                              [&](const std::string& old) { return old.compare(0, key.size(), key) == 0; }),
               base.end());
    base.push_back(setting);
  }
  return base;
}

}  // namespace as2::train
