#include "formats/gzip.h"

#include <array>
#include <cstdlib>
#include <memory>

#include "as2/error.h"
#include "files.h"
#include "formats/stb.h"

namespace as2::formats {
namespace {

std::uint32_t little_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (int k = 3; k >= 0; --k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

// Length of the gzip header (RFC 1952) at the front of `bytes`, or 0 if there is none.
std::size_t gzip_header_length(const std::string& bytes) {
  if (bytes.size() < 18 || bytes.compare(0, 3, "\x1f\x8b\x08") != 0) return 0;
  const int flags = bytes[3];
  std::size_t at = 10;
  if (flags & 4) at += 2 + (little_endian(bytes, at) & 0xffff);
  for (const int named : {8, 16}) {
    if (!(flags & named)) continue;
    while (at < bytes.size() && bytes[at] != 0) ++at;
    ++at;
  }
  if (flags & 2) at += 2;
  return at + 8 <= bytes.size() ? at : 0;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
      made[n] = c;
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::string unpack_gzip(const std::string& bytes, const std::string& name) {
  const std::size_t header = gzip_header_length(bytes);
  if (header == 0) throw InputError({name}, "not a whole gzip file");
  if (bytes.size() > (std::size_t{1} << 30)) throw InputError({name}, "a gzip file of more than 1 GiB");
  const std::uint32_t expected_crc = little_endian(bytes, bytes.size() - 8);
  const std::uint32_t expected_length = little_endian(bytes, bytes.size() - 4);
  // Twice the expected length, because stb's output buffer grows by doubling.
  const StbLimit limit(2 * std::size_t{expected_length} + (std::size_t{1} << 16));
  int length = 0;
  // The trailer goes in as well: stb looks a few bits ahead and refuses short streams otherwise.
  const std::unique_ptr<char, void (*)(void*)> unpacked(
      stbi_zlib_decode_noheader_malloc(bytes.data() + header, static_cast<int>(bytes.size() - header),
                                       &length),
      std::free);
  if (!unpacked) throw InputError({name}, "the gzip stream is broken or cut off", {"fetch the file again"});
  const std::string result(unpacked.get(), static_cast<std::size_t>(length));
  if (result.size() != expected_length || crc32(result) != expected_crc) {
    throw InputError({name},
                     "the gzip stream is broken or cut off: " + std::to_string(result.size()) +
                         " bytes unpacked, its trailer says " + std::to_string(expected_length),
                     {"fetch the file again"});
  }
  return result;
}

std::string read_unpacked(const std::string& path) {
  std::string bytes = read_file(path);
  return bytes.compare(0, 2, "\x1f\x8b") == 0 ? unpack_gzip(bytes, path) : bytes;
}

}  // namespace as2::formats
