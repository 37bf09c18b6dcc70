// A model that `as2 train` wrote, with the task it was trained for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "infer/card.h"
#include "task/task.h"

namespace as2::eval {

struct Trained {
  infer::Card card;  // with its pictures where the task has them
  std::unique_ptr<task::Task> task;
  std::string warning;  // the program has changed since the training; empty: it has not
};

// The task as the settings beside `weights` describe it, with `key=value` laid over them; of [model] only
// what can change after training. InputError for a model of another task than `task`, for a setting that
// evaluation does not use, and for pictures of other classes than the model knows.
Trained load_trained(const std::filesystem::path& weights, const std::string& task,
                     const std::vector<std::string>& overrides, const task::TaskOptions& options);

}  // namespace as2::eval
