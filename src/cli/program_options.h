// The arguments that name a program, the same for every verb that takes one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "as2/compile.h"

namespace CLI {
class App;
}

namespace as2::cli {

struct ProgramOptions {
  std::vector<std::string> files;
  std::vector<std::string> constants;  // NAME=VALUE, as typed

  // The constants split at `=`; throws UsageError where there is none.
  asp::GroundOptions ground_options() const;
  // The program compiled, its warnings on standard error.
  compile::Compiled compile() const;
};

// Declares the files (positional, at least one, `-` is standard input) and `-c NAME=VALUE`.
std::shared_ptr<ProgramOptions> declare_program(CLI::App& command);
// Declares `--beliefs FILE`, which read_beliefs() reads.
void declare_beliefs(CLI::App& command, std::string& file);

// One a line on standard error.
void print_warnings(const std::vector<asp::Warning>& warnings);

}  // namespace as2::cli
