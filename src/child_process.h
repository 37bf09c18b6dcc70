// Runs a program to its end with time, memory and output limits; no shell in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace as2 {

struct ChildOptions {
  double seconds = 60;                         // wall clock, then the child is killed
  std::int64_t bytes = std::int64_t{4} << 30;  // address space; 0: no limit
  std::int64_t printed = 0;                    // the most it may print; 0: as `bytes`
  std::string folder;                          // where it runs; empty: here
  const std::atomic<bool>* stop = nullptr;     // once true, the child is killed
};

struct ChildResult {
  std::string out;
  std::string err;
  int exit_code = -1;  // -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool stopped = false;
  bool printed_too_much = false;
};

// Full path of a program: itself if it has a `/`, else its first executable on PATH; empty if there is none.
std::string find_program(const std::string& name);

// Starts `program` (a path) with `arguments`, feeds it `input`, and collects what it prints. Throws
// EnvironmentError if it cannot be started.
ChildResult run_child(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& input, const ChildOptions& limits);

}  // namespace as2
