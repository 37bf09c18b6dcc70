// What a run's losses need of its task. A term that nothing reaches is refused by name, before the training.
#pragma once

#include "nn/model.h"
#include "task/task.h"
#include "task/tensor/instances.h"
#include "train/config.h"

namespace as2::train {

// [examples] bool: a position or a derived atom is observed or, with labels, a label may be used.
torch::Tensor says_something(const task::InstanceTensors& examples, bool with_labels);

// `examples` and `validation`: what the run trains on and is scored by.
void check_losses(const Config& config, const task::Task& task, const nn::Model& model,
                  const task::Instances& examples, const task::Instances& validation);

}  // namespace as2::train
