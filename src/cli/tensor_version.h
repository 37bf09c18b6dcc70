#pragma once

#include <string>

namespace as2::cli {

// The LibTorch this program was built with.
std::string torch_version();

}  // namespace as2::cli
