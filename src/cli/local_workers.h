// `as2 train --workers N`: processes on this machine that train together.
#pragma once

#include <optional>

namespace as2::cli {

// The exit code of a worker that merely lost its connection to the others: the fault lies with the one that
// ended first.
constexpr int kLostWorker = 75;

// Starts `count` workers. Returns nothing in each of them, with the environment a launcher would have given
// it; in the process that called it, once all have ended, the exit code: 0 if all went well, 4 if a worker
// was killed or asked to stop, 3 if one crashed, else that of the worker that failed first.
std::optional<int> start_workers(int count);

}  // namespace as2::cli
