// Ctrl-C and similar signals set a flag, which long work checks in order to stop cleanly.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>

namespace as2::cli {

// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag returned; a second one ends the program. A
// SIGHUP that is ignored (nohup) stays so.
const std::atomic<bool>& stop_on_interrupt();

// The same while it lives: work that can be stopped, between reading and waiting, which a signal just ends.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  const std::atomic<bool>& stop() const;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace as2::cli
