// Runs the program as a user does.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "files.h"

namespace as2::testing {

struct Finished {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// `arguments` are read by a shell, with `folder` as the current folder.
inline Finished run_as2(const std::filesystem::path& folder, const std::string& arguments) {
  const std::string out = (folder / ".out").string();
  const std::string err = (folder / ".err").string();
  const std::string command = "cd '" + folder.string() + "' && '" + std::getenv("AS2_BINARY") + "' " +
                              arguments + " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

}  // namespace as2::testing
