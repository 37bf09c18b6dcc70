// Definitions over tensors: each level of a circuit is a few tensor operations.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/chains.h"
#include "tp/circuit_builder.h"
#include "tp/index_tables.h"

namespace as2::tp {

// kBound nodes of similar size: P(sum ∈ allowed).
struct Bounds {
  Chains chains;
  torch::Tensor allowed;  // [rows, final states] 0 or 1
};

// Members of recursive components: conjunctions first, then disjunctions.
struct Recursion {
  IndexTable conjunctions;
  IndexTable disjunctions;
  std::int64_t rounds = 0;
  bool empty() const { return rounds == 0; }
};

// Nodes whose inputs all stand on earlier levels. Their values go behind the earlier ones in this order.
struct SoftNodeLevel {
  Recursion recursion;
  std::vector<IndexTable> products;
  std::vector<Bounds> bounds;
};

struct SoftNodes {
  std::vector<SoftNodeLevel> levels;
  // [batch, n] → [batch, n + nodes].
  torch::Tensor evaluate(const torch::Tensor& values) const;
  void move(torch::Device device, torch::ScalarType type);
};

// The nodes that a builder collected, arranged in levels; the circuit's own values begin at index `first`.
class SoftNodeLayout {
 public:
  SoftNodeLayout(const CircuitBuilder& builder, std::int64_t first);

  SoftNodes nodes;
  // Where the value of a builder's reference stands.
  Reference placed(Reference reference) const;

 private:
  std::vector<std::int64_t> place_;  // per entry
};

}  // namespace as2::tp
