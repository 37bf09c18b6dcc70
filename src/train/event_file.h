// What TensorBoard reads: a file of events, each a few scalars at a step.
//
// A record is: its length (8 bytes), the masked CRC-32C of those, the bytes, their masked CRC-32C; all
// integers little-endian. The bytes are a protocol buffer of TensorFlow's message Event, of which only
// wall_time (1, double), step (2, varint), file_version (3, string) and summary (5) are written; a summary is
// values (1), each a tag (1, string) and a simple_value (2, float). That is little enough to write by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace as2::train {

// CRC-32C (Castagnoli) of the bytes.
std::uint32_t crc32c(const std::string& bytes);

class EventFile {
 public:
  // A new file in the folder, named after the time: TensorBoard puts the files of one folder together, and
  // where a resumed run repeats steps it takes the newer ones.
  explicit EventFile(const std::filesystem::path& folder);

  // Every number in the record, an object in an object as `validation/given/cell`, at its `step`.
  void add(const nlohmann::json& record);
  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& event) const;

  std::filesystem::path path_;
};

}  // namespace as2::train
