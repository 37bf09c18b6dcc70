// A worker is a fork of this process that goes on by itself: nothing has started a thread or touched a GPU
// yet, and its arguments are parsed already. It has a process group of its own, so that Ctrl-C reaches it
// only once, through us. When one fails, the others have a few seconds to notice before they are killed.
#include "cli/local_workers.h"

#include <ATen/Parallel.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <vector>

#include "as2/error.h"
#include "cli/run.h"
#include "train/launch.h"

namespace as2::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{5};

void become_worker(const train::Launch& launch, pid_t parent, const sigset_t& signals) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kInternal);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  train::set_launch_environment(launch);
  at::set_num_threads(std::max(1, at::get_num_threads() / launch.world));
}

// Waits for the workers, passes signals on to them, and ends them when one fails.
class Watch {
 public:
  explicit Watch(std::vector<pid_t> workers) : workers_(std::move(workers)), living_(workers_.size()) {}

  int until_all_ended(const sigset_t& watched) {
    while (living_ > 0) {
      const timespec a_moment{0, 100'000'000};
      const int signal = sigtimedwait(&watched, nullptr, &a_moment);
      if (signal > 0 && signal != SIGCHLD) {
        stopped_ = true;
        send(signal == SIGINT ? SIGINT : SIGTERM);
      }
      reap();
      if (deadline_ && Clock::now() > *deadline_) send(SIGKILL);
    }
    return conclusion();
  }

  void send(int signal) const {
    for (const pid_t worker : workers_) {
      if (worker > 0) kill(worker, signal);
    }
  }

 private:
  void reap() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      int status = 0;
      if (workers_[rank] <= 0 || waitpid(workers_[rank], &status, WNOHANG) != workers_[rank]) continue;
      workers_[rank] = 0;
      --living_;
      if (status == 0) continue;
      const bool witness = WIFEXITED(status) && WEXITSTATUS(status) == kLostWorker;
      if (!failed_ || (by_witness_ && !witness)) {
        failed_ = rank;
        status_ = status;
        by_witness_ = witness;
      }
      if (!deadline_) deadline_ = Clock::now() + kGrace;
    }
  }

  int conclusion() const {
    if (!failed_) return kDone;
    if (stopped_) return kEnvironment;
    std::cerr << "error: rank " << *failed_ << " of " << workers_.size() << " workers ";
    int code = kEnvironment;
    if (WIFSIGNALED(status_)) {
      const int signal = WTERMSIG(status_);
      std::cerr << "was ended by signal " << signal << " (" << strsignal(signal) << ')';
      const bool from_outside = signal == SIGKILL || signal == SIGTERM || signal == SIGINT;
      if (!from_outside) code = kInternal;
    } else {
      if (!by_witness_) code = WEXITSTATUS(status_);
      std::cerr << "ended with exit code " << code;
    }
    std::cerr << ", and the others with it\nnote: `as2 train --resume FOLDER` continues from the last "
                 "checkpoint, with any number of workers\n";
    return code;
  }

  std::vector<pid_t> workers_;  // 0: has ended
  std::size_t living_;
  std::optional<std::size_t> failed_;  // the rank that is to blame
  int status_ = 0;                     // and how it ended
  bool by_witness_ = false, stopped_ = false;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace

std::optional<int> start_workers(int count) {
  sigset_t watched, before;
  sigemptyset(&watched);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &before);
  train::Launch launch;
  launch.world = count;
  launch.port = train::free_port();
  const pid_t parent = getpid();
  std::vector<pid_t> workers;
  for (int rank = 0; rank < count; ++rank) {
    launch.rank = launch.local_rank = rank;
    const pid_t worker = fork();
    if (worker == 0) {
      become_worker(launch, parent, before);
      return std::nullopt;
    }
    if (worker < 0) {
      const std::string why = std::strerror(errno);
      Watch(workers).send(SIGKILL);
      throw EnvironmentError("cannot start " + std::to_string(count) + " workers: " + why,
                             {"start fewer: --workers 2"});
    }
    workers.push_back(worker);
  }
  return Watch(workers).until_all_ended(watched);
}

}  // namespace as2::cli
