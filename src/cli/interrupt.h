// Ctrl-C and similar signals set a flag, which long work checks in order to stop cleanly.
#pragma once

#include <atomic>

namespace as2::cli {

// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag returned; a second one ends the program. A
// SIGHUP that is ignored (nohup) stays so.
const std::atomic<bool>& stop_on_interrupt();

}  // namespace as2::cli
