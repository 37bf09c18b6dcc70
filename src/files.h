// Whole files in and out.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

namespace as2 {

// The file's bytes; InputError when it cannot be read.
std::string read_file(const std::filesystem::path& path);

// Writes under a temporary name beside `path` and renames, so that `path` is old or new but never half.
// Nothing stays behind when `write` throws or the disk is full.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace as2
