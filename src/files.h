// Whole files in and out. A name that cannot be used is an InputError; a disk that is full or broken is an
// EnvironmentError.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "as2/error.h"

namespace as2 {

// What is read whole may be this large. A device or a pipe may have no end at all: what is larger is refused
// before more of it is read.
constexpr std::size_t kLargestFile = std::size_t{1} << 30;
constexpr std::size_t kLargestText = std::size_t{64} << 20;  // a program, a JSON document, settings

// The file's bytes; InputError where it has more than `most`.
std::string read_file(const std::filesystem::path& path, std::size_t most = kLargestFile);
// Those of standard input; none where it is closed.
std::string read_standard_input(std::size_t most);

// Opened for reading piece by piece; InputError or EnvironmentError where that fails.
int open_file(const std::filesystem::path& path);
// One read(2) that waits for bytes where there are none yet; 0 at the end. `path` is for messages.
std::size_t read_some(int fd, char* bytes, std::size_t size, const std::filesystem::path& path);

// "PLACE: error: is larger than 64 MiB, or has no end" and a remedy.
[[noreturn]] void throw_too_large(const SourceLocation& place, std::size_t most);

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
