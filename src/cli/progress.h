// How far a long job has got: a bar on a terminal, nothing elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace as2::cli {

class ProgressBar {
 public:
  // Says nothing if `quiet` or if standard error is not a terminal.
  ProgressBar(std::string what, std::int64_t total, bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void advance(std::int64_t by = 1);

 private:
  std::string what_;
  std::int64_t total_, done_ = 0;
  int shown_ = -1;  // percent on the screen
  bool silent_;
};

}  // namespace as2::cli
