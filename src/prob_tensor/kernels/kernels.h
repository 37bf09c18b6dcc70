// The tuned evaluation of a circuit over flat arrays: log value and its gradient in one pass up and one down.
// Arrays are a plain view of index arrays in the memory of the device the kernel runs on.
#pragma once

#include <cstdint>

namespace as2::prob_tensor::kernels {

// Items are the inputs, then the nodes. Nodes are sorted by layer; all nodes of a layer are of one kind.
struct CircuitArrays {
  std::int32_t inputs = 0, nodes = 0, layers = 0;
  std::int32_t root = -1;                      // an item; -1: the value is 0
  const std::int32_t* layer_begin = nullptr;   // [layers + 1]: nodes
  const std::uint8_t* layer_sum = nullptr;     // [layers]: 1 sum, 0 product
  const std::int32_t* child_begin = nullptr;   // [nodes + 1]
  const std::int32_t* children = nullptr;      // items
  const std::int32_t* parent_begin = nullptr;  // [items + 1]; CUDA only
  const std::int32_t* parents = nullptr;       // 2 · node + (1 where it is a sum); CUDA only
};

// Logarithms below this stand for a value of 0: sums of many such stay finite, so nothing becomes NaN.
constexpr double kNothing = -1e30;
constexpr double kAlmostNothing = -1e29;

namespace cpu {

// `values` [batch] = log value, −∞ where it is 0; `gradient` [batch, inputs] = ∂ log value/∂weight (null: not
// wanted; 0 where the value or the weight is 0). `weights` [batch, inputs], contiguous. T = float, double.
template <class T>
void evaluate(const CircuitArrays& arrays, std::int64_t batch, const T* weights, T* values, T* gradient);

}  // namespace cpu

}  // namespace as2::prob_tensor::kernels
