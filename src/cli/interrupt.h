// Ctrl-C and its kin: a wish to stop, which long work asks about.
#pragma once

#include <atomic>

namespace as2::cli {

// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag returned; a second one ends the program. A
// SIGHUP that is ignored (nohup) stays so.
const std::atomic<bool>& stop_on_interrupt();

}  // namespace as2::cli
