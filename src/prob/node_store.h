// Builds a circuit bottom-up, equal nodes once, and lays it out in layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "as2/probability.h"
#include "random.h"

namespace as2::prob {

// 128 bits that stand for a structure. With 10⁸ of them two different ones agree with a chance below 10⁻²².
struct Fingerprint {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  bool operator==(const Fingerprint& other) const { return first == other.first && second == other.second; }
  bool operator<(const Fingerprint& other) const {
    return first != other.first ? first < other.first : second < other.second;
  }
  // Adds an item regardless of the order of adding.
  void add(const Fingerprint& item) {
    first += item.first;
    second += item.second;
  }
  // Adds a number that belongs after those before it.
  void append(std::uint64_t number) {
    first = scatter(first ^ number);
    second = scatter(second + scatter(number ^ 0x5851f42d4c957f2du));
  }
};
struct FingerprintHash {
  std::size_t operator()(const Fingerprint& fingerprint) const {
    return static_cast<std::size_t>(fingerprint.first);
  }
};
template <class T>
using FingerprintMap = std::unordered_map<Fingerprint, T, FingerprintHash>;

class NodeStore {
 public:
  static constexpr int kZero = -1;
  static constexpr int kOne = -2;

  explicit NodeStore(int inputs) : inputs_(inputs) {}

  // Ids of nodes continue those of inputs. Constants are folded; nothing with one child is made.
  int product(std::vector<int> children);
  int sum(std::vector<int> children);

  std::int64_t nodes() const { return static_cast<std::int64_t>(sums_.size()); }
  std::int64_t edges() const { return static_cast<std::int64_t>(children_.size()); }
  std::int64_t bytes() const { return nodes() * 80 + edges() * 4; }

  // What the root needs, in layers that alternate between products and sums.
  Circuit finish(int root) const;

 private:
  int node(bool sum, std::vector<int>& children);

  int inputs_;
  std::vector<char> sums_;
  std::vector<std::int64_t> begin_{0};
  std::vector<int> children_;
  FingerprintMap<int> known_;
};

}  // namespace as2::prob
