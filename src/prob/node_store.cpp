#include "prob/node_store.h"

#include <algorithm>

namespace as2::prob {

int Circuit::find_observed(int node) const {
  const auto found = std::lower_bound(observed.begin(), observed.end(), node);
  return found == observed.end() || *found != node ? -1 : static_cast<int>(found - observed.begin());
}

int NodeStore::product(std::vector<int> children) {
  if (std::find(children.begin(), children.end(), kZero) != children.end()) return kZero;
  children.erase(std::remove(children.begin(), children.end(), kOne), children.end());
  if (children.empty()) return kOne;
  return children.size() == 1 ? children.front() : node(false, children);
}

int NodeStore::sum(std::vector<int> children) {
  children.erase(std::remove(children.begin(), children.end(), kZero), children.end());
  if (children.empty()) return kZero;
  return children.size() == 1 ? children.front() : node(true, children);
}

int NodeStore::node(bool sum, std::vector<int>& children) {
  std::sort(children.begin(), children.end());
  Fingerprint fingerprint;
  fingerprint.append(sum ? 1 : 0);
  for (const int child : children) fingerprint.append(static_cast<std::uint64_t>(child));
  const auto [it, fresh] = known_.emplace(fingerprint, inputs_ + static_cast<int>(sums_.size()));
  if (fresh) {
    sums_.push_back(sum ? 1 : 0);
    children_.insert(children_.end(), children.begin(), children.end());
    begin_.push_back(static_cast<std::int64_t>(children_.size()));
  }
  return it->second;
}

Circuit NodeStore::finish(int root) const {
  Circuit circuit;
  if (root == kOne) {
    circuit.layers.push_back({0, 1, false});
    circuit.begin.push_back(0);
    circuit.root = inputs_;
    return circuit;
  }
  circuit.root = root;
  if (root < inputs_) return circuit;

  // Children stand before their parents, so one sweep down finds what the root needs and one sweep up each
  // node's layer: products in odd ones, sums in even ones.
  const std::size_t count = static_cast<std::size_t>(root - inputs_) + 1;
  std::vector<char> needed(count, 0);
  needed.back() = 1;
  std::vector<int> level(count, 0);
  for (std::size_t n = count; n-- > 0;) {
    for (std::int64_t e = begin_[n]; needed[n] && e < begin_[n + 1]; ++e) {
      if (children_[e] >= inputs_) needed[children_[e] - inputs_] = 1;
    }
  }
  std::vector<int> order;
  for (std::size_t n = 0; n < count; ++n) {
    if (!needed[n]) continue;
    order.push_back(static_cast<int>(n));
    int below = 0;
    for (std::int64_t e = begin_[n]; e < begin_[n + 1]; ++e) {
      if (children_[e] >= inputs_) below = std::max(below, level[children_[e] - inputs_]);
    }
    level[n] = below + 1;
    if ((level[n] % 2 == 0) != (sums_[n] != 0)) ++level[n];
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return level[a] < level[b]; });
  std::vector<int> renamed(count, -1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const int n = order[k];
    renamed[n] = inputs_ + static_cast<int>(k);
    if (k == 0 || level[n] != level[order[k - 1]]) {
      circuit.layers.push_back({static_cast<int>(k), static_cast<int>(k), sums_[n] != 0});
    }
    ++circuit.layers.back().end;
    for (std::int64_t e = begin_[n]; e < begin_[n + 1]; ++e) {
      circuit.children.push_back(children_[e] < inputs_ ? children_[e] : renamed[children_[e] - inputs_]);
    }
    circuit.begin.push_back(static_cast<std::int64_t>(circuit.children.size()));
  }
  circuit.root = renamed[root - inputs_];
  return circuit;
}

}  // namespace as2::prob
