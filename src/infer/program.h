// The program that a card or a task names, found and compiled.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::infer {

using Constants = std::vector<std::pair<std::string, std::string>>;

struct ProgramSource {
  std::string file;      // the program's text, for clingo's certificate and for other constants
  std::string compiled;  // `.as2c`; empty, or not there: `file` is ground
  Constants constants;
  std::string beside;  // where else `file` was looked for; empty: nowhere
};

// `n=3`, as on the command line. InputError at `place` for anything else.
std::pair<std::string, std::string> parse_constant(const std::string& text, const SourceLocation& place);

std::shared_ptr<const compile::ConstraintProgram> load_program(const ProgramSource& source);

// A path as a file in `folder` says it: beside it, else among what ships. Where a whole path leads to
// nothing, the file of its name in `folder`: models are copied to other places together with what they need.
std::string located_path(const std::string& written, const std::filesystem::path& folder);
// The same path as a file should say it: what ships relative to where it ships, so that it means the same on
// another machine; anything else whole.
std::string portable_path(const std::string& path);

}  // namespace as2::infer
