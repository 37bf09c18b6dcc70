// The program while it runs: what it has said so far, and signals to it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "files.h"
#include "support/run_as2.h"

namespace as2::testing {

class RunningAs2 {
 public:
  // Standard error goes to a pseudo-terminal or to a pipe, standard output to a file.
  RunningAs2(const std::filesystem::path& folder, const std::vector<std::string>& arguments, bool terminal)
      : out_(folder / ".running-out") {
    int ends[2] = {-1, -1};
    if (!terminal && pipe(ends) != 0) return;
    winsize size{};
    size.ws_row = 25;
    size.ws_col = 120;
    pid_ = terminal ? forkpty(&from_, nullptr, nullptr, &size) : fork();
    if (pid_ == 0) {
      const int out = open(out_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      dup2(out, STDOUT_FILENO);
      if (!terminal) dup2(ends[1], STDERR_FILENO);
      if (chdir(folder.c_str()) != 0) _exit(126);
      const std::string program = std::getenv("AS2_BINARY");
      std::vector<char*> words = {const_cast<char*>(program.c_str())};
      for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      execv(program.c_str(), words.data());
      _exit(127);
    }
    if (!terminal) {
      from_ = ends[0];
      close(ends[1]);
    }
  }
  ~RunningAs2() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (from_ >= 0) close(from_);
  }
  RunningAs2(const RunningAs2&) = delete;
  RunningAs2& operator=(const RunningAs2&) = delete;

  // Reads until `text` has been said; false where the program ends or ten minutes pass before.
  bool wait_for(const std::string& text) {
    while (err_.find(text) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }
  pid_t pid() const { return pid_; }
  // What it has written to standard error so far.
  const std::string& said() const { return err_; }
  void interrupt() const { kill(pid_, SIGINT); }
  // Types Ctrl-C on the terminal.
  void press_control_c() const {
    const char key = 3;
    if (write(from_, &key, 1) != 1) interrupt();
  }
  // Waits for the end.
  Finished finish() {
    while (read_more()) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out_), err_};
  }

 private:
  bool read_more() {
    pollfd waiting{from_, POLLIN, 0};
    if (poll(&waiting, 1, 600000) <= 0) return false;
    char bytes[4096];
    const ssize_t count = read(from_, bytes, sizeof bytes);
    if (count <= 0) return false;  // a terminal whose program has ended gives an error
    err_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  std::filesystem::path out_;
  pid_t pid_ = -1;
  int from_ = -1;
  std::string err_;
};

}  // namespace as2::testing
