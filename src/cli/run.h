// The command line's frame: picks the verb, parses, runs, and turns errors into messages and exit codes.
#pragma once

#include <functional>
#include <vector>

namespace CLI {
class App;
}

namespace as2::cli {

// Exit codes, as documented in README.
enum ExitCode { kDone = 0, kInputAtFault = 1, kUsage = 2, kInternal = 3, kEnvironment = 4 };

// What a verb does once its arguments are parsed; returns an exit code.
using Action = std::function<int()>;

struct Verb {
  const char* name;
  const char* summary;
  // Declares the verb's options on `command` and returns what to do; null: the verb lives in as2-tensor.
  Action (*declare)(CLI::App& command);
  // What to do when memory runs out.
  const char* needs_less_memory = "free some memory, or give it less at a time";
};

// Runs one command line. Verbs without `declare` are handed to the program `as2-tensor` beside this one.
// `declare_common` adds the options that all verbs of this program have.
int run(int argc, char** argv, const std::vector<Verb>& verbs, void (*declare_common)(CLI::App&) = nullptr);

// Flushes standard output, so that a caller gets its answer before it sends the next question;
// EnvironmentError where that fails.
void flush_output();

// Runs the same command line in as2-tensor instead of this program; returns only by an exception.
int continue_in_tensor_program();

}  // namespace as2::cli
