// Processes that work together: forked, so that each has an engine of its own. The test's own process must
// not have used LibTorch's threads before.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <vector>

#include "train/launch.h"

namespace as2::train {

// Exit codes of `world` processes that each run `body(launch)`: 99 for one that threw, 128 + signal for one
// that was killed.
inline std::vector<int> run_ranks(int world, const std::function<int(const Launch&)>& body) {
  Launch launch;
  launch.world = world;
  launch.port = free_port();
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    launch.rank = launch.local_rank = rank;
    const pid_t child = fork();
    if (child == 0) {
      try {
        _exit(body(launch));
      } catch (const std::exception& error) {
        std::cerr << "rank " << rank << ": " << error.what() << '\n';
        _exit(99);
      }
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

}  // namespace as2::train
