// A model that `as2 train` wrote, with the task it was trained for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nn/model.h"
#include "task/task.h"

namespace as2::eval {

struct Trained {
  infer::Card card;
  std::unique_ptr<task::Task> task;
  std::shared_ptr<nn::Model> model;
};

// The task as the settings beside `weights` describe it, with `key=value` laid over them; of [model] only
// what can change after training. InputError for a model of another task than `task`, and for a setting that
// evaluation does not use.
Trained load_trained(const std::filesystem::path& weights, const std::string& task,
                     const std::vector<std::string>& overrides, const task::TaskOptions& options);

}  // namespace as2::eval
