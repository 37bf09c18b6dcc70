#include "cli/run.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>

#include "as2/error.h"
#include "cli/version.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;

// The tensor program stands beside this one in a build tree, under libexec/as2 in an installed one.
int hand_to_tensor_program(char** argv) {
  // Threads that wait by spinning take each other's cores where others are busy too: five times the work.
  setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
  // Tensors come and go a thousand times a second: memory given back to the system at every turn has to be
  // cleared and mapped again, which took a third of an evaluation.
  for (const char* threshold : {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"})
    setenv(threshold, "1073741824", /*overwrite=*/0);
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& candidate : {here / "as2-tensor", here / "../libexec/as2/as2-tensor"}) {
    if (fs::exists(candidate, ignored)) {
      execv(candidate.c_str(), argv);
      throw std::runtime_error(candidate.string() + ": " + std::strerror(errno));
    }
  }
  throw InputError("this build has no LibTorch, so '" + std::string(argv[1]) + "' is left out",
                   {"install libtorch-dev (or set CMAKE_PREFIX_PATH to a LibTorch) and build again"});
}

int run_checked(int argc, char** argv, const std::vector<Verb>& verbs, void (*declare_common)(CLI::App&)) {
  if (argc > 1 && argv[1][0] != '-') {
    const auto named = std::find_if(verbs.begin(), verbs.end(),
                                    [&](const Verb& verb) { return std::strcmp(verb.name, argv[1]) == 0; });
    if (named == verbs.end()) {
      std::string known;
      for (const Verb& verb : verbs) known += (known.empty() ? "" : ", ") + std::string(verb.name);
      throw UsageError("no verb '" + std::string(argv[1]) + "'; there are: " + known);
    }
    if (!named->declare) return hand_to_tensor_program(argv);
  }
  CLI::App app{"AS2: answer set programs as differentiable constraints, and answers that satisfy them",
               "as2"};
  app.set_version_flag("--version", [] { return version_text(); });
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 the input is at fault, 2 usage, 3 internal. `as2 VERB --help` says more.");
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Verb& verb : verbs) {
    CLI::App* command = app.add_subcommand(verb.name, verb.summary);
    if (!verb.declare) continue;
    actions.emplace_back(command, verb.declare(*command));
    if (declare_common) declare_common(*command);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  for (const auto& [command, action] : actions) {
    if (command->parsed()) return action();
  }
  return kUsage;
}

// LibTorch says so in words only, with a trace of its calls below the first line.
std::string lack_of_memory(const std::exception& error) {
  const std::string text = error.what(), first = text.substr(0, text.find('\n'));
  const bool lack = dynamic_cast<const std::bad_alloc*>(&error) ||
                    first.find("out of memory") != std::string::npos ||
                    first.find("can't allocate memory") != std::string::npos;
  return lack ? first : "";
}

}  // namespace

int run(int argc, char** argv, const std::vector<Verb>& verbs, void (*declare_common)(CLI::App&)) {
  try {
    return run_checked(argc, argv, verbs, declare_common);
  } catch (const InputError& error) {
    std::cerr << error.what() << '\n';
    return kInputAtFault;
  } catch (const UsageError& error) {
    std::cerr << "error: " << error.what() << '\n';
    return kUsage;
  } catch (const fs::filesystem_error& error) {
    std::cerr << error.path1().string() << ": error: " << error.code().message() << '\n';
    return kInputAtFault;
  } catch (const std::exception& error) {
    if (const std::string lack = lack_of_memory(error); !lack.empty()) {
      std::cerr << "error: not enough memory: " << lack
                << "\nnote: a smaller batch or model needs less (when training: `--batch 64`)\n";
      return kInputAtFault;
    }
    std::cerr
        << "internal error: " << error.what()
        << "\nnote: this is a fault of AS2, not of your input; please report it with the command line\n";
    return kInternal;
  }
}

}  // namespace as2::cli
