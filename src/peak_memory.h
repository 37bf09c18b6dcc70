// How much memory this process took at most.
#pragma once

#include <fstream>
#include <string>

namespace as2 {

// Bytes; 0 where the system does not say. Unlike getrusage(), this leaves out the memory of the process that
// started this one.
inline double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return 1024 * kibibytes;
  }
  return 0;
}

}  // namespace as2
