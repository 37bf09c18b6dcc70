// Random numbers that are the same on every machine and standard library: xoshiro256** (Blackman and Vigna),
// seeded by splitmix64, with our own bounded integers and shuffle. The algorithms of the `std::`
// distributions are left to each library and differ between them.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

namespace as2 {

// One step of splitmix64: a bijection on 64 bits that scatters neighbouring inputs.
inline std::uint64_t scatter(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
 public:
  // Different streams of one seed are unrelated, so that item k of a list needs only (seed, k).
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t x = scatter(seed) ^ scatter(~stream);
    for (std::uint64_t& word : state_) word = x = scatter(x);
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in 0 … bound − 1, without bias (Lemire's multiplication with rejection). `bound` > 0.
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = (next() >> 32) * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = (0u - bound) % bound;
      while (static_cast<std::uint32_t>(product) < threshold) product = (next() >> 32) * bound;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  // Uniform in low … high, both included.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint32_t>(high - low) + 1));
  }

  // Uniform in [0, 1), a multiple of 2⁻⁵³.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Normal with mean 0 and variance 1 (Box and Muller, the cosine alone).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(2 * std::acos(-1.0) * unit());
  }

  // Every order of first[0 … count − 1] equally likely (Fisher and Yates).
  template <typename Iterator>
  void shuffle(Iterator first, std::uint32_t count) {
    for (std::uint32_t i = count; i > 1; --i) std::swap(first[i - 1], first[below(i)]);
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

  std::uint64_t state_[4];
};

}  // namespace as2
