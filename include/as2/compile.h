// Program text to ConstraintProgram in one call.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/ground_program.h"

namespace as2::asp {

struct GroundOptions {
  std::vector<std::pair<std::string, std::string>> constants;  // -c name=value
  std::vector<std::string> assume;                             // external atoms to leave open
  bool includes = true;                                        // false: #include is refused
  bool strict_constants = false;  // a constant that the program does not mention is refused, else warned of
  std::string gringo;             // path; empty: $AS2_GRINGO, then PATH
  double time_limit_seconds = 60;
  std::int64_t memory_limit_bytes = std::int64_t{4} << 30;
  std::int64_t size_limit = 10'000'000;     // atoms and literals of rules of the ground program
  const std::atomic<bool>* stop = nullptr;  // once true, gringo is killed: EnvironmentError
};

// Grounds the files (`-` is standard input; a single `.as2c` file is loaded instead of grounded).
GroundProgram ground(const std::vector<std::string>& files, const GroundOptions& options = {});
// The same for program text held in memory; `name` stands for the file in messages.
GroundProgram ground_text(const std::string& text, const std::string& name,
                          const GroundOptions& options = {});

// Leaves these external atoms open: they become Boolean positions. InputError if one is no external atom.
void free_externals(GroundProgram& program, const std::vector<std::string>& atoms);

// The text of an `.as2c` file: tagged aspif with the source map in comment lines. `read` is told every file
// that was read, included ones as well.
std::string save_compiled(const std::vector<std::string>& files, const GroundOptions& options = {},
                          std::vector<std::string>* read = nullptr);
GroundProgram load_compiled(const std::string& text, const std::string& name);

}  // namespace as2::asp

namespace as2::compile {

// Called after every pass with its name and a readable dump of what it produced.
using PassObserver = std::function<void(const std::string& pass, const std::string& dump)>;

struct Compiled {
  ConstraintProgram program;
  std::vector<asp::Warning> warnings;  // from grounding and from compiling
  std::vector<asp::Warning> notes;     // what was decided where it could be decided otherwise
  std::vector<std::string> files;      // that were read, included ones as well
};

// Once `stop` is true, it ends with the pass it is at: EnvironmentError.
Compiled compile(const asp::GroundProgram& ground, const PassObserver& observe = {},
                 const std::atomic<bool>* stop = nullptr);
Compiled compile_files(const std::vector<std::string>& files, const asp::GroundOptions& options = {});
Compiled compile_text(const std::string& text, const std::string& name = "program.lp",
                      const asp::GroundOptions& options = {});

}  // namespace as2::compile
