#include "cli/run.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>

#include "as2/error.h"
#include "cli/validators.h"
#include "cli/version.h"
#include "files.h"
#include "text.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;

char** command_line = nullptr;

// Loading LibTorch with less address space than it maps fails halfway, or never ends: OpenBLAS asks again and
// again for the memory it did not get. So it does where the heaps of many threads leave it none: by default
// each thread has its own, and sixteen take four gigabytes of addresses.
void require_room_for_libtorch() {
  constexpr rlim_t kLeast = rlim_t{2} << 30;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  setenv("MALLOC_ARENA_MAX", "2", /*overwrite=*/0);
  if (limit.rlim_cur >= kLeast) return;
  throw EnvironmentError(
      "not enough memory: LibTorch needs 2048 MiB of addresses, and this process may have " +
          std::to_string(limit.rlim_cur >> 20),
      {"raise the limit: ulimit -v unlimited"});
}

// The tensor program stands beside this one in a build tree, under libexec/as2 in an installed one.
int hand_to_tensor_program(char** argv) {
  // On a busy machine, threads that spin while they wait take cores from threads that have work: a run took
  // five times as much processor time.
  setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
  // oneDNN 2 takes AMX for granted where the processor has it; where the system does not allow it (some
  // virtual machines), a bfloat16 product ends in an illegal instruction.
  setenv("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16", /*overwrite=*/0);
  // Tensors come and go a thousand times a second: memory that is returned to the system each time has to be
  // mapped and cleared again, which took a third of an evaluation's time.
  for (const char* threshold : {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"})
    setenv(threshold, "1073741824", /*overwrite=*/0);
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& candidate : {here / "as2-tensor", here / "../libexec/as2/as2-tensor"}) {
    if (fs::exists(candidate, ignored)) {
      require_room_for_libtorch();
      execv(candidate.c_str(), argv);
      throw EnvironmentError({candidate.string()}, std::string("cannot be started: ") + std::strerror(errno),
                             {"build or install AS2 again"});
    }
  }
  throw EnvironmentError("this build has no LibTorch, so '" + std::string(argv[1]) + "' is left out",
                         {"install libtorch-dev (or set CMAKE_PREFIX_PATH to a LibTorch) and build again"});
}

// The verb that the command line names; null if it begins with an option or is empty.
const Verb* named_verb(int argc, char** argv, const std::vector<Verb>& verbs) {
  const auto named = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) {
    return argc > 1 && std::strcmp(verb.name, argv[1]) == 0;
  });
  return named == verbs.end() ? nullptr : &*named;
}

// A list is given by repeating its option: otherwise `-c n=8 FILE --json` would take the file for a constant.
void take_one_value_each(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
    if (option->get_items_expected_max() > 0) option->check(not_empty());
  }
  for (CLI::App* part : command.get_subcommands({})) take_one_value_each(*part);
}

// A word that begins with a dash is taken for an option, and the error is then about a missing argument: how
// to name such a file.
std::string notes_on_dashes(int argc, char** argv, const CLI::App& app) {
  std::string notes;
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  for (int n = 2; n < argc && std::strcmp(argv[n], "--") != 0; ++n) {
    const std::string word = argv[n];
    std::error_code ignored;
    if (word.size() < 2 || word[0] != '-') continue;
    if (fs::exists(word, ignored)) {
      notes += "note: " + word + " was taken for an option; to name the file, write ./" + word + '\n';
    } else if (std::find(unknown.begin(), unknown.end(), word) != unknown.end()) {
      notes += "note: there is no option " + word + '\n';
    }
  }
  return notes;
}

int run_checked(int argc, char** argv, const std::vector<Verb>& verbs, void (*declare_common)(CLI::App&)) {
  if (argc > 1 && argv[1][0] != '-') {
    const Verb* named = named_verb(argc, argv, verbs);
    if (!named) {
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
      "Exit codes: 0 done, 1 the input or a setting is at fault, 2 usage, 3 internal, 4 the environment\n"
      "(disk, network, memory, a missing program). `as2 VERB --help` says more.");
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Verb& verb : verbs) {
    CLI::App* command = app.add_subcommand(verb.name, verb.summary);
    if (!verb.declare) continue;
    actions.emplace_back(command, verb.declare(*command));
    if (declare_common) declare_common(*command);
    take_one_value_each(*command);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;  // CLI11 quotes arguments whole
    const int code = app.exit(error, out, err);
    std::cout << out.str();
    std::cerr << readable(err.str());
    if (code != 0) std::cerr << readable(notes_on_dashes(argc, argv, app));
    return code == 0 ? kDone : kUsage;
  }
  for (const auto& [command, action] : actions) {
    if (command->parsed()) return action();
  }
  return kUsage;
}

// The first line of what LibTorch or the system said, if it is a lack of memory; LibTorch reports that only
// in its message text, with a trace of its calls below the first line.
std::string lack_of_memory(const std::exception& error) {
  const std::string text = error.what(), first = text.substr(0, text.find('\n'));
  const bool lack = dynamic_cast<const std::bad_alloc*>(&error) ||
                    first.find("out of memory") != std::string::npos ||
                    first.find("can't allocate memory") != std::string::npos;
  return lack ? first : "";
}

// What destroys a JSON document allocates, and where it cannot, the program ends here: without memory, and
// with nothing to throw to.
std::terminate_handler usual_end = nullptr;
[[noreturn]] void end_without_memory() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    constexpr char kMessage[] = "error: not enough memory\nnote: free some, or raise the limit (ulimit -v)\n";
    [[maybe_unused]] const ssize_t said = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
    _exit(kEnvironment);
  } catch (...) {
  }
  usual_end();
  std::abort();
}

// A file that the standard library could not find, make or remove.
int report_file_fault(const fs::filesystem_error& error) {
  try {
    throw_file_error(error.path1(), "cannot be used", error.code().value());
  } catch (const InputError& input) {
    std::cerr << input.what() << '\n';
    return kInputAtFault;
  } catch (const EnvironmentError& environment) {
    std::cerr << environment.what() << '\n';
    return kEnvironment;
  }
}

// What went wrong with an earlier write to standard output, of which the streams keep only that it did.
int why_output_fails() {
  if (::write(STDOUT_FILENO, "", 0) < 0) return errno;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  ::poll(&output, 1, 0);
  return (output.revents & POLLERR) != 0 ? EPIPE : ENOSPC;
}

}  // namespace

// Output that did not arrive is worse than none: the reader takes a cut document for a whole one.
void flush_output() {
  std::cout.flush();
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (std::cout && flushed && !std::ferror(stdout)) return;
  throw_file_error("standard output", "cannot be written", errno != 0 ? errno : why_output_fails());
}

int continue_in_tensor_program() {
  return hand_to_tensor_program(command_line);
}

int run(int argc, char** argv, const std::vector<Verb>& verbs, void (*declare_common)(CLI::App&)) {
  command_line = argv;
  usual_end = std::set_terminate(end_without_memory);
  std::signal(SIGXFSZ, SIG_IGN);  // a file too large for `ulimit -f` is an error to report, not an end
  try {
    const int code = run_checked(argc, argv, verbs, declare_common);
    flush_output();
    return code;
  } catch (const InputError& error) {
    std::cerr << error.what() << '\n';
    return kInputAtFault;
  } catch (const UsageError& error) {
    std::cerr << "error: " << readable(error.what()) << '\n';
    return kUsage;
  } catch (const EnvironmentError& error) {
    std::cerr << error.what() << '\n';
    return kEnvironment;
  } catch (const NumericError& error) {  // the settings, or the examples, are at fault
    std::cerr << error.what() << '\n';
    return kInputAtFault;
  } catch (const fs::filesystem_error& error) {
    return report_file_fault(error);
  } catch (const std::exception& error) {
    if (const std::string lack = lack_of_memory(error); !lack.empty()) {
      const Verb* verb = named_verb(argc, argv, verbs);
      std::cerr << "error: not enough memory: " << lack
                << "\nnote: " << (verb ? verb->needs_less_memory : Verb{}.needs_less_memory) << '\n';
      return kEnvironment;
    }
    std::cerr
        << "internal error: " << readable(error.what())
        << "\nnote: this is a fault of AS2, not of your input; please report it with the command line\n";
    return kInternal;
  }
}

}  // namespace as2::cli
