#pragma once

#include <string>

namespace as2::cli {

// What `as2 --version` prints: ours, LibTorch's, whether there is CUDA, and gringo's if it is found.
std::string version_text();

}  // namespace as2::cli
