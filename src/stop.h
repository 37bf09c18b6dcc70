// A flag that another thread sets, and that long work looks at now and then.
#pragma once

#include <atomic>
#include <string>

#include "as2/error.h"

namespace as2 {

[[noreturn]] inline void throw_interrupted(const char* what) {
  throw EnvironmentError(std::string(what) + " was interrupted");
}

// Once `stop` is true: EnvironmentError.
inline void throw_if_stopped(const std::atomic<bool>* stop, const char* what) {
  if (stop != nullptr && *stop) throw_interrupted(what);
}

}  // namespace as2
