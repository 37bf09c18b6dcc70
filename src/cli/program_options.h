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

// What gringo may take.
struct GroundingLimits {
  double seconds = asp::GroundOptions().time_limit_seconds;
  double mib = static_cast<double>(asp::GroundOptions().memory_limit_bytes >> 20);
  std::int64_t size = asp::GroundOptions().size_limit;

  asp::GroundOptions options() const;
};

struct ProgramOptions {
  std::vector<std::string> files;
  std::vector<std::string> constants;  // NAME=VALUE, as typed
  GroundingLimits grounding;
  std::vector<std::string> assume;  // external atoms
  bool no_include = false;          // refuses #include

  // The constants split at `=`, and the limits; throws UsageError where there is no `=` or a name is given
  // twice.
  asp::GroundOptions ground_options() const;
  // Compiles the program, and prints its warnings on standard error. External atoms that the beliefs in this
  // file name are left open, as those of `--assume` are.
  compile::Compiled compile(const std::string& beliefs = "") const;
};

// The keys of these documents that name external atoms of the program; documents that cannot be read have
// none.
std::vector<std::string> externals_named(const asp::GroundProgram& ground, const std::string& documents);

// What a verb's program may be.
enum class ProgramForm { kTextOrCompiled, kText };

// Declares the files (positional, at least one), `-c NAME=VALUE`, `--assume ATOM` and the limits of
// grounding.
std::shared_ptr<ProgramOptions> declare_program(CLI::App& command,
                                                ProgramForm form = ProgramForm::kTextOrCompiled);
// Declares `--grounding-seconds`, `--grounding-mib` and `--grounding-size`, for every verb that may have to
// ground a program.
void declare_grounding(CLI::App& command, GroundingLimits& limits);
// Declares `--beliefs FILE`, which read_beliefs() reads.
void declare_beliefs(CLI::App& command, std::string& file);

// Prints the warnings on standard error, one per line.
void print_warnings(const std::vector<asp::Warning>& warnings);

}  // namespace as2::cli
