// The inner loop of SHA-256, of which a processor may have a faster version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace as2::formats {

// Takes `blocks` times 64 bytes into the state of eight numbers.
using Sha256Blocks = void (*)(std::uint32_t* state, const char* data, std::size_t blocks);

extern const std::uint32_t kSha256Rounds[64];

// On x86's SHA extensions (sha256_x86.cpp).
void sha256_blocks_x86(std::uint32_t* state, const char* data, std::size_t blocks);

// Those that this processor runs, the fastest first; the last is the plain one.
std::vector<Sha256Blocks> sha256_versions();

std::string sha256(const std::string& bytes, Sha256Blocks blocks);

}  // namespace as2::formats
