#include "train/event_file.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "files.h"

namespace as2::train {
namespace {

using nlohmann::json;

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k) text += static_cast<char>(value >> (8 * k) & 0xff);
  return text;
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7f) | 0x80);
  return text + static_cast<char>(value);
}

// A field is its number and wire type, then the value.
constexpr int kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5;

std::string field(int number, int wire_type) {
  return varint(static_cast<std::uint64_t>(number << 3 | wire_type));
}

std::string text_field(int number, const std::string& text) {
  return field(number, kLengthDelimited) + varint(text.size()) + text;
}

std::string wall_time() {
  const double now = seconds_since_epoch();
  std::uint64_t bits = 0;
  std::memcpy(&bits, &now, sizeof bits);
  return field(1, kFixed64) + little_endian(bits, 8);
}

std::string value_of(const std::string& tag, double number) {
  const auto narrow = static_cast<float>(number);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  return text_field(1, text_field(1, tag) + field(2, kFixed32) + little_endian(bits, 4));
}

void collect(const json& object, const std::string& prefix, std::string& values) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) collect(value, prefix + name + "/", values);
    if (value.is_number() && !(prefix.empty() && name == "step")) {
      values += value_of(prefix + name, value.get<double>());
    }
  }
}

std::uint32_t masked(std::uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

}  // namespace

std::uint32_t crc32c(const std::string& bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t crc = n;
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78U : crc >> 1;
      made[n] = crc;
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& folder) {
  // Two runs that start within one second are told apart by their folders.
  path_ = folder / ("events.out.tfevents." +
                    std::to_string(static_cast<std::int64_t>(seconds_since_epoch())) + ".as2");
  append(wall_time() + text_field(3, "brain.Event:2"));
}

void EventFile::add(const json& record) {
  std::string values;
  collect(record, "", values);
  append(wall_time() + field(2, kVarint) + varint(record.at("step").get<std::uint64_t>()) +
         text_field(5, values));
}

void EventFile::append(const std::string& event) const {
  const std::string length = little_endian(event.size(), 8);
  std::ofstream out(path_, std::ios::binary | std::ios::app);
  out << length << little_endian(masked(crc32c(length)), 4) << event
      << little_endian(masked(crc32c(event)), 4) << std::flush;
  if (!out) throw_file_error(path_, "cannot be written", errno != 0 ? errno : ENOSPC);
}

}  // namespace as2::train
