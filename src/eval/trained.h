// A model that `as2 train` wrote, with the task that its card says it was trained for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nn/model.h"
#include "train/task.h"

namespace as2::eval {

struct Trained {
  train::Config config;
  std::unique_ptr<train::Task> task;
  std::shared_ptr<nn::Model> model;
};

// The configuration in the card beside `weights`, with settings `key=value` laid over it.
train::Config trained_config(const std::filesystem::path& weights,
                             const std::vector<std::string>& overrides = {});

// InputError for a model of another task than `task`.
Trained load_trained(const std::filesystem::path& weights, const std::string& task,
                     const std::vector<std::string>& overrides, const train::TaskOptions& options);

// The weights that ship for a task: models/TASK-best.safetensors, else the first of shipped_models().
std::filesystem::path default_model(const std::string& task);
// The weights in models/ whose cards name the task, by name.
std::vector<std::filesystem::path> shipped_models(const std::string& task);

}  // namespace as2::eval
