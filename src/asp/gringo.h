// Runs gringo on a tagged program and brings its messages back to the user's files and lines.
#pragma once

#include <string>
#include <vector>

#include "as2/compile.h"
#include "asp/tagging.h"

namespace as2::asp {

// A gringo that a signal ended.
class GringoDied : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

// The aspif that gringo makes of the text. Its `info:` and `warning:` messages are added to `warnings`; a
// program it refuses, or that takes it too long, is an InputError; a gringo that is missing or dies is an
// EnvironmentError.
std::string run_gringo(const TaggedText& program, const GroundOptions& options,
                       std::vector<Warning>& warnings);

}  // namespace as2::asp
