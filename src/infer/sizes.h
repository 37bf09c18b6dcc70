// Means over sets of another size than a network was trained on.
//
// Of the n atoms of an all-different group and one symbol, or of a position, one holds in the end. In the
// plain mean it weighs 1/n, and what reads the mean has learnt to expect 1/m, where m is the size in
// training. So an atom of belief p weighs p/m + (1 − p)(m − 1)/(m(n − 1)): 1/m if it holds, the rest shared
// by the others. For n = m that is the plain mean, whatever is believed; for other n it is what lets weights
// solve boards of sizes they never saw.
#pragma once

#include <vector>

namespace as2::infer {

// How many symbols every position of a program has, and how many positions every group of each family; 0
// where they differ, or a group is not all-different.
struct Sizes {
  int symbols = 0;
  std::vector<int> groups;  // [families]

  // As the setting model.reasoner.sizes has them: the symbols, then each family's groups.
  static Sizes of(const std::vector<int>& list) { return {list.at(0), {list.begin() + 1, list.end()}}; }
  std::vector<int> list() const {
    std::vector<int> all{symbols};
    all.insert(all.end(), groups.begin(), groups.end());
    return all;
  }
};

// An atom of belief p weighs `other` + `own` · p, divided by the sum over the set.
struct PoolWeights {
  float other = 1, own = 0;
  bool plain() const { return own == 0; }
};

// `trained`: a number of Sizes; with 0 the mean is plain.
inline PoolWeights pool_weights(int trained, int size) {
  if (trained < 2 || size < 2 || trained == size) return {};
  const double other = (trained - 1.0) / (static_cast<double>(trained) * (size - 1));
  return {static_cast<float>(other), static_cast<float>(1.0 / trained - other)};
}

}  // namespace as2::infer
