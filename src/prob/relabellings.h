// Can what is observed tell the classes of pictures apart?
//
// A perception that reads class c as σ(c), for a permutation σ of the classes, is as good as the right one if
// every observation remains possible: training cannot prefer the right one. Classes that no example shows are
// left out. Addition determines its digits; the parity of a sum leaves many relabellings. (The literature
// calls them reasoning shortcuts.)
//
// Depth-first search over σ, class by class. After each choice every example that shows the class is asked
// whether an answer set still agrees with what has been decided and with what is observed; classes not
// decided yet may be read as anything, so a refusal holds for every σ below. The question is the circuit's
// value at weights of 0 and 1, remembered per example and readings. Rejected: testing all permutations (10!
// of them), and counting automorphisms of the observation table, which needs the whole table.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "as2/probability.h"

namespace as2::prob {

struct ObservedExample {
  std::vector<std::pair<int, int>> shown;  // position, and the class that its picture shows
  std::vector<decode::Pin> given;          // values that do not go through a picture
  Observation observed;
};

struct RelabellingQuestion {
  const Circuit* circuit = nullptr;  // compiled with the nodes of all observations
  int classes = 0;
  std::vector<std::vector<int>> symbol_of;  // [position][class]: the symbol it is there; −1: none
  std::vector<ObservedExample> examples;    // those that nobody observes anything of may be left out
};

struct Relabellings {
  std::int64_t count = 0;              // the identity among them
  bool complete = true;                // false: the time ran out, and there are at least as many
  std::vector<std::vector<int>> some;  // class → class: a few, the identity left out
};

// For about ten classes: with more, even a search that refuses early may take too long. After `seconds` it
// gives what it has found.
Relabellings find_relabellings(const RelabellingQuestion& question, double seconds = 10);

}  // namespace as2::prob
