// Whole files in and out. A name that cannot be used is an InputError; a disk that is full or broken is an
// EnvironmentError.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace as2 {

// The file's bytes.
std::string read_file(const std::filesystem::path& path);

// Writes under a temporary name beside `path`, brings it to the disk and renames it, so that `path` holds the
// old or the new content but never half of it, and nothing stays behind when `write` throws or the disk is
// full. A symbolic link keeps pointing at its file, which is replaced; a device, a pipe or /dev/stdout is
// written to as it stands.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_file(const std::filesystem::path& path, const std::string& bytes);

// Removes a file, or a folder with all that is in it; what cannot be removed stays. Use it instead of
// std::filesystem::remove_all, parts of which the wheels of LibTorch export from another libstdc++: a program
// that finds those first crashes there.
void remove_tree(const std::filesystem::path& path);

// Throws InputError if writing `output` would replace one of the input files; `-` stands for a stream.
void refuse_to_overwrite(const std::vector<std::string>& inputs, const std::string& output);

// Throws for the system's error number `code`: "PATH: error: WHAT: No space left on device" and a remedy.
[[noreturn]] void throw_file_error(const std::filesystem::path& path, const std::string& what, int code);

}  // namespace as2
