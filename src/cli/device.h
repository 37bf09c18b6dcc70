#pragma once

#include <torch/torch.h>

#include <string>

namespace as2::cli {

// `auto` (CUDA where there is one), `cpu`, `cuda` or `cuda:N`; UsageError for anything else or a missing GPU.
torch::Device parse_device(const std::string& name);

}  // namespace as2::cli
