#include "formats/sha256.h"

#include "formats/sha256_blocks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace as2::formats {

const std::uint32_t kSha256Rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

namespace {

std::uint32_t rotate(std::uint32_t x, int by) {
  return x >> by | x << (32 - by);
}

void portable_blocks(std::uint32_t* state, const char* data, std::size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) {
    std::uint32_t w[64];
    for (int t = 0; t < 16; ++t) {
      w[t] = 0;
      for (int k = 0; k < 4; ++k) w[t] = w[t] << 8 | static_cast<unsigned char>(data[4 * t + k]);
    }
    for (int t = 16; t < 64; ++t) {
      const std::uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
      const std::uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
                  g = state[6], h = state[7];
    for (int t = 0; t < 64; ++t) {
      const std::uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Rounds[t] + w[t];
      const std::uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::uint32_t added[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; ++k) state[k] += added[k];
  }
}

}  // namespace

std::vector<Sha256Blocks> sha256_versions() {
  std::vector<Sha256Blocks> versions;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0 && __builtin_cpu_supports("sse4.1"))
    versions.push_back(sha256_blocks_x86);
#endif
  versions.push_back(portable_blocks);
  return versions;
}

std::string sha256(const std::string& bytes) {
  static const Sha256Blocks fastest = sha256_versions().front();
  return sha256(bytes, fastest);
}

std::string sha256(const std::string& bytes, Sha256Blocks blocks) {
  std::uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::size_t tail = bytes.size() % 64;
  std::string padding(1, '\x80');
  padding.append((tail < 56 ? 55 : 119) - tail, '\0');
  for (int shift = 56; shift >= 0; shift -= 8)
    padding += static_cast<char>(static_cast<std::uint64_t>(bytes.size()) * 8 >> shift);
  const std::string last = bytes.substr(bytes.size() - tail) + padding;
  blocks(state, bytes.data(), bytes.size() / 64);
  blocks(state, last.data(), last.size() / 64);

  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kHex[word >> shift & 15];
  }
  return text;
}

}  // namespace as2::formats
