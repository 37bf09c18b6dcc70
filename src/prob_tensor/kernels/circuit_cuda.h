// A circuit on CUDA: log value and gradient in one launch. Host launcher only.
#pragma once

#include "prob_tensor/kernels/kernels.h"

namespace as2::prob_tensor::kernels::cuda {

// As cpu::evaluate. The arrays lie on the device; `logs` and `shares` [items, batch] and
// `lost` [nodes, batch] are scratch (the latter two null: no gradient); `stream` is a cudaStream_t. T =
// float, double.
template <class T>
void evaluate(const CircuitArrays& arrays, std::int64_t batch, const T* weights, T* logs, T* shares, T* lost,
              T* values, T* gradient, void* stream);

}  // namespace as2::prob_tensor::kernels::cuda
