#pragma once

#include <string>

namespace as2::formats {

// The SHA-256 checksum (FIPS 180-4) in lower-case hexadecimal, 64 characters.
std::string sha256(const std::string& bytes);

}  // namespace as2::formats
