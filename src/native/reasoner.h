// What both reasoners are: evidence in, logits out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "native/threads.h"

namespace as2::native {

// Instances of one program, [count, …].
struct ReasonerInput {
  std::int64_t count = 0;
  const float* beliefs = nullptr;  // [count, positions, symbols], uniform where there is no evidence
  const char* evidence = nullptr;  // [count, positions]: not 0 where there is
};

struct ReasonerOutput {
  std::vector<float> logits;      // [count, positions, symbols], −inf outside the domain
  std::vector<int> passes;        // [count]: passes of the first trajectory before halting
  std::vector<int> trajectories;  // [count]: how many were run
};

struct ReasonerLimits {
  int passes = 0;    // at most; 0: the reasoner's own number
  int restarts = 1;  // trajectories per instance, at most, from different noise
  // With one instance: called after each pass with its logits [positions, symbols]; those of the transformer
  // are what its last layers would make of the state after each layer.
  std::function<void(const float* logits)> watch;
};

class Reasoner {
 public:
  virtual ~Reasoner() = default;
  // Whether trajectories differ from one another; only then may there be more than one.
  virtual bool has_trajectories() const { return false; }
  // Takes no more than `memory` bytes beyond input and output; InputError where that is too little for one
  // instance.
  virtual ReasonerOutput run(Threads& threads, std::size_t memory, const ReasonerInput& input,
                             const ReasonerLimits& limits) const = 0;
};

}  // namespace as2::native
