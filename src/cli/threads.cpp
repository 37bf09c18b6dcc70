#include "cli/threads.h"

#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

namespace as2::cli {

void declare_threads(CLI::App& command) {
  at::set_num_threads(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  if (command.get_option_no_throw("--threads")) return;  // the verb has one of its own
  command
      .add_option_function<int>(
          "--threads", [](int count) { at::set_num_threads(count); },
          "Threads to use; all cores if not given")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

}  // namespace as2::cli
