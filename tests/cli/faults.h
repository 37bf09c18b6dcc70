// Runs the program with a disk that fails, or kills it, at a chosen write, fsync or rename
// (support/faults.cpp).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "files.h"
#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::testing {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;  // by name, below a folder

inline Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
  return files;
}

inline bool is_temporary(const std::string& name) {
  return fs::path(name).extension() == ".tmp";
}

struct Fault {
  std::string call;
  int number = 0;
  bool kill = false;
  std::string text() const { return call + ":" + std::to_string(number) + (kill ? ":kill" : ":fail"); }
};

class Faults : public ::testing::Test {
 protected:
  // Runs the command in a folder; the faults strike files below its sub-folder `out`.
  Finished run(const std::string& arguments, const std::string& fault, const std::string& log = "") const {
    setenv("AS2_FAULT_FOLDER", (folder_ / "out").c_str(), 1);
    setenv("AS2_FAULT", fault.c_str(), 1);
    if (!log.empty()) setenv("AS2_FAULT_LOG", log.c_str(), 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    setenv("LD_PRELOAD", AS2_FAULTS, 1);
    const Finished finished = run_as2(folder_.str(), arguments);
    for (const char* name : {"LD_PRELOAD", "AS2_FAULT_LOG", "AS2_FAULT", "AS2_FAULT_FOLDER"}) unsetenv(name);
    return finished;
  }
  // A fault at every call that the command makes below `out`: once the call fails, once the process is
  // killed.
  std::vector<Fault> faults_of(const std::string& arguments) {
    const std::string log = folder_ / "calls";
    const Finished finished = run(arguments, "none", log);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::map<std::string, int> counts;
    std::istringstream lines(read_file(log));
    for (std::string call; std::getline(lines, call);) ++counts[call];
    std::vector<Fault> faults;
    for (const char* call : {"write", "fsync", "rename"}) {
      EXPECT_GT(counts[call], 0) << arguments;
      for (int number = 1; number <= counts[call]; ++number) {
        for (const bool kill : {false, true}) faults.push_back({call, number, kill});
      }
    }
    return faults;
  }
  void fill_out(const Files& files) const {
    remove_tree(folder_ / "out");
    fs::create_directories(folder_ / "out");
    for (const auto& [name, bytes] : files) folder_.put("out/" + name, bytes);
  }
  test::TemporaryFolder folder_;
};

}  // namespace as2::testing
