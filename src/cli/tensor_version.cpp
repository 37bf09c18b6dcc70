#include "cli/tensor_version.h"

#include <torch/version.h>

namespace as2::cli {

std::string torch_version() { return TORCH_VERSION; }

}  // namespace as2::cli
