// How much memory of the GPU a run took at most.
#pragma once

#include <torch/torch.h>

namespace as2::train {

// Bytes that tensors held at most on a CUDA device since the process began; 0 on the CPU.
double peak_device_memory(torch::Device device);

}  // namespace as2::train
