// Turns a CUDA call that failed, or a kernel that did not start, into an exception.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace as2 {

inline void cuda_check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(what) + " on CUDA: " + cudaGetErrorString(error));
  }
}

}  // namespace as2
