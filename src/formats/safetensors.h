// The safetensors format: named arrays in one file, readable by every framework, with nothing to execute.
//
//   8 bytes   length N of the header, little-endian
//   N bytes   JSON: {"__metadata__": {key: text}, NAME: {"dtype", "shape", "data_offsets": [begin, end]}}
//   the rest  the arrays, row-major, little-endian; offsets count from here and leave no gaps
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace as2::formats {

enum class Dtype : std::uint8_t { kBool, kU8, kI64, kF16, kBF16, kF32, kF64 };
const char* name_of(Dtype dtype);  // "BOOL", "U8", …
std::size_t size_of(Dtype dtype);  // bytes per element

// One array. F16 and BF16 are carried as raw bytes.
struct SafeTensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

struct SafeTensorFile {
  std::vector<SafeTensor> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;

  // The tensor with this name, or null.
  const SafeTensor* find(const std::string& name) const;
};

// Reads and checks a whole file; anything malformed or truncated is an InputError that names the file.
SafeTensorFile read_safetensors(const std::filesystem::path& path);
// The same of a file's bytes; `path` names it in messages.
SafeTensorFile parse_safetensors(const std::string& bytes, const std::filesystem::path& path);

// Writes under a temporary name, then renames the file. Every tensor must hold exactly the bytes its shape
// asks for.
void write_safetensors(const std::filesystem::path& path, const SafeTensorFile& file);

}  // namespace as2::formats
