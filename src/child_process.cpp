// The child runs in a process group of its own, so that a wrapper script dies together with what it started.
// Its standard input is a socket: `send` with MSG_NOSIGNAL then reports a child that stopped reading, where a
// pipe would raise SIGPIPE in us. It dies with us, should we be killed. Between fork and exec only
// async-signal-safe calls are made.

#include "child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "as2/error.h"

namespace as2 {
namespace {

using Clock = std::chrono::steady_clock;

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

[[noreturn]] void fail(const std::string& program, const std::string& what) {
  throw EnvironmentError("cannot start `" + program + "`: " + what,
                         {"check that it is installed and that the system can start another process"});
}

struct Channel {
  FileDescriptor ours;
  FileDescriptor theirs;
};

Channel output_channel(const std::string& program) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(program, std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Channel input_channel(const std::string& program) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail(program, std::strerror(errno));
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// A child that was started; it is killed and reaped when this goes out of scope, if not before.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    kill();
    wait();
  }

  void kill() const {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
  }

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  // True once the child has ended; `status` is then its wait status.
  bool ended(int& status) {
    const pid_t done = ::waitpid(pid_, &status, WNOHANG);
    if (done != pid_) return false;
    pid_ = -1;
    return true;
  }

 private:
  pid_t pid_;
};

[[noreturn]] void become(char* const* argv, int in, int out, int err, int report, const ChildOptions& options,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  rlimit limit{};
  if (options.bytes > 0) {
    limit.rlim_cur = limit.rlim_max = static_cast<rlim_t>(options.bytes);
    ::setrlimit(RLIMIT_AS, &limit);
  }
  limit.rlim_cur = limit.rlim_max = 0;
  ::setrlimit(RLIMIT_CORE, &limit);
  const bool there = options.folder.empty() || ::chdir(options.folder.c_str()) == 0;
  if (there && ::dup2(in, 0) >= 0 && ::dup2(out, 1) >= 0 && ::dup2(err, 2) >= 0) ::execv(argv[0], argv);
  const int error = errno;
  const ssize_t ignored = ::write(report, &error, sizeof error);
  static_cast<void>(ignored);
  ::_exit(127);
}

// Appends what can be read now; false at the end of the stream.
bool drain(int fd, std::string& into) {
  std::array<char, 1 << 16> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) into.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// Sends as much as can be sent now; false when everything has been sent or the child has stopped reading.
bool feed(int fd, const std::string& input, std::size_t& sent) {
  const ssize_t put = ::send(fd, input.data() + sent, input.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (put > 0) sent += static_cast<std::size_t>(put);
  const bool broken = put < 0 && errno != EINTR && errno != EAGAIN;
  return !broken && sent < input.size();
}

}  // namespace

std::string find_program(const std::string& name) {
  const auto executable = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) return executable(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  folders += ':';
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = folders.find(':', begin);
    const std::string folder = end > begin ? folders.substr(begin, end - begin) : ".";
    if (executable(folder + "/" + name)) return folder + "/" + name;
    begin = end + 1;
  }
  return "";
}

ChildResult run_child(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& input, const ChildOptions& options) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  Channel in = input_channel(program);
  Channel out = output_channel(program);
  Channel err = output_channel(program);
  Channel report = output_channel(program);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) fail(program, std::strerror(errno));
  if (pid == 0) {
    become(argv.data(), in.theirs.get(), out.theirs.get(), err.theirs.get(), report.theirs.get(), options,
           parent);
  }
  Child child(pid);
  for (Channel* channel : {&in, &out, &err, &report}) channel->theirs.close();
  int start_error = 0;
  ssize_t reported = 0;
  do {
    reported = ::read(report.ours.get(), &start_error, sizeof start_error);
  } while (reported < 0 && errno == EINTR);
  if (reported == sizeof start_error) fail(program, std::strerror(start_error));

  ChildResult result;
  const auto deadline = Clock::now() + std::chrono::duration<double>(options.seconds);
  const auto seconds_left = [&] { return std::chrono::duration<double>(deadline - Clock::now()).count(); };
  std::size_t sent = 0;
  if (input.empty()) in.ours.close();
  while (out.ours.get() >= 0 || err.ours.get() >= 0) {
    std::array<pollfd, 3> streams = {pollfd{in.ours.get(), POLLOUT, 0}, pollfd{out.ours.get(), POLLIN, 0},
                                     pollfd{err.ours.get(), POLLIN, 0}};
    const double longest_wait = options.stop != nullptr ? 50.0 : 1000.0;
    const int wait_ms = static_cast<int>(std::clamp(seconds_left() * 1000.0, 0.0, longest_wait)) + 1;
    if (::poll(streams.data(), streams.size(), wait_ms) < 0 && errno != EINTR)
      fail(program, std::strerror(errno));
    if (streams[0].revents != 0 && !feed(in.ours.get(), input, sent)) in.ours.close();
    if (streams[1].revents != 0 && !drain(out.ours.get(), result.out)) out.ours.close();
    if (streams[2].revents != 0 && !drain(err.ours.get(), result.err)) err.ours.close();
    const auto printed = static_cast<std::int64_t>(result.out.size() + result.err.size());
    result.timed_out = seconds_left() <= 0;
    result.stopped = options.stop && *options.stop;
    const std::int64_t most = options.printed > 0 ? options.printed : options.bytes;
    result.printed_too_much = most > 0 && printed > most;
    if (result.timed_out || result.stopped || result.printed_too_much) return result;
  }
  int status = 0;
  while (!child.ended(status)) {
    result.timed_out = seconds_left() <= 0;
    result.stopped = options.stop && *options.stop;
    if (result.timed_out || result.stopped) return result;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace as2
