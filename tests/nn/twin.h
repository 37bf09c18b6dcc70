// bench/torch_twin.py, the same networks in plain PyTorch, where this machine has it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "nn/model.h"

namespace as2::testing {

inline bool has_pytorch() {
  static const bool has = std::system(AS2_PYTHON " -c 'import torch' 2>/dev/null") == 0;
  return has;
}

// Whether the twin of the weights computes what `sample` says; it is written to `folder`.
inline void expect_twin_agrees(const std::filesystem::path& weights, const std::filesystem::path& folder,
                               const std::vector<formats::SafeTensor>& sample) {
  formats::SafeTensorFile file;
  file.tensors = sample;
  formats::write_safetensors(folder / "case.safetensors", file);
  const std::string command = std::string(AS2_PYTHON " " AS2_SOURCE_DIR) + "/bench/torch_twin.py parity '" +
                              weights.string() + "' '" + (folder / "case.safetensors").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << weights;
}

}  // namespace as2::testing
