// A task's examples and pictures as tensors on a device; task/instances.h says what each is.
#pragma once

#include <torch/torch.h>

#include "task/instances.h"

namespace as2::task {

struct InstanceTensors {
  torch::Tensor labels, shows;              // int16
  torch::Tensor evidence, known, observed;  // bool
  torch::Tensor pictures;                   // int32
  torch::Tensor files;                      // [files, 28, 28] uint8
  torch::Tensor atoms;                      // int8

  std::int64_t size() const { return labels.size(0); }
};

// Completed (Instances::completed()).
InstanceTensors tensors_of(const Instances& instances, torch::Device device);

// [pictures, 28, 28] uint8; undefined where there is none.
torch::Tensor pictures_of(const Table<std::uint8_t>& pixels, torch::Device device);

}  // namespace as2::task
