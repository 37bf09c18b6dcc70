#include "cli/progress.h"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace as2::cli {

ProgressBar::ProgressBar(std::string what, std::int64_t total, bool quiet)
    : what_(std::move(what)), total_(total), silent_(quiet || !isatty(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() {
  if (shown_ >= 0) std::cerr << "\r\x1b[K" << std::flush;
}

void ProgressBar::advance(std::int64_t by) {
  done_ += by;
  const int percent = total_ > 0 ? static_cast<int>(100 * done_ / total_) : 100;
  if (silent_ || percent == shown_) return;
  shown_ = percent;
  const int width = 30, filled = percent * width / 100;
  std::cerr << '\r' << what_ << " [" << std::string(filled, '#') << std::string(width - filled, '.') << "] "
            << done_ << '/' << total_ << std::flush;
}

}  // namespace as2::cli
