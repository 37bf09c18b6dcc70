#pragma once

#include <string>

namespace as2::cli {

// What `as2 --version` prints: the versions of AS2, LibTorch and gringo (if found), and whether the build has
// CUDA.
std::string version_text();

}  // namespace as2::cli
