// gzip files, unpacked with stb's inflate, so that no other library is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace as2::formats {

// The checksum that gzip and PNG use.
std::uint32_t crc32(std::string_view bytes);
// Unpacks one gzip member and checks its length and CRC; `name` stands for the file in messages.
std::string unpack_gzip(const std::string& bytes, const std::string& name);
// The file's bytes; a gzip file is recognised by its first two bytes and unpacked. Throws InputError.
std::string read_unpacked(const std::string& path);

}  // namespace as2::formats
