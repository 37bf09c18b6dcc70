// A folder for one test, with a few ways to fill it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "files.h"

namespace as2::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "as2-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() { remove_tree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  std::string str() const { return path_.string(); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this / name;
  }
  // A file that can be run.
  std::string put_program(const std::string& name, const std::string& text) const {
    put(name, "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(path_ / name, std::filesystem::perms::owner_all);
    return *this / name;
  }
  // The bytes packed by the system's own gzip, not by ours.
  std::string gzipped(const std::string& bytes) const {
    put("to-pack", bytes);
    if (std::system(("gzip -f '" + (*this / "to-pack") + "'").c_str()) != 0)
      throw std::runtime_error("gzip failed");
    std::ifstream packed(path_ / "to-pack.gz", std::ios::binary);
    return {std::istreambuf_iterator<char>(packed), {}};
  }
  // Everything in it, hidden files included.
  std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace as2::test
