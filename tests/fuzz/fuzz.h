// What the fuzz targets share. A target hands arbitrary bytes to one reader; the reader may throw InputError,
// which is its way to refuse. Anything else that leaves it (another exception, a signal, a report of
// AddressSanitizer or UBSan, more memory or time than libFuzzer grants) is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "as2/error.h"
#include "as2/resources.h"
#include "files.h"
#include "support/temporary_folder.h"

namespace as2::fuzz {

template <typename Read>
void refused_or_read(const Read& read) {
  try {
    read();
  } catch (const InputError&) {
  }
}

// The input as a file of this name, for readers that want a path.
inline std::string as_file(const std::string& name, const std::string& bytes) {
  static const test::TemporaryFolder folder;
  return folder.put(name, bytes);
}

// The bytes of a file that ships.
inline std::string shipped(const std::string& name) {
  return read_file(shipped_file(name));
}

}  // namespace as2::fuzz

// Defines the target's entry: `bytes` is the input.
#define AS2_FUZZ(bytes)                                                               \
  static void read_input(const std::string& bytes);                                   \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    read_input(std::string(reinterpret_cast<const char*>(data), size));               \
    return 0;                                                                         \
  }                                                                                   \
  static void read_input(const std::string& bytes)
