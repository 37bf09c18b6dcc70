// Layer norm and the gated sum before GELU on CUDA. Host launchers only; the kernels stand in layers_cuda.cu.
#pragma once

#include <cstdint>

namespace as2::nn::cuda {

// T is float, or std::uint16_t for the bits of a bfloat16; `stream` is a cudaStream_t.

// Whether the kernels can take rows of this many channels.
template <class T>
bool norm_takes(std::int64_t channels);

// `sum` = x + y and `normed` = layer norm of it, all [rows, channels]; without `y` the sum is x and `sum` is
// not written. `moments` [rows, 2] float32: mean and 1/deviation.
template <class T>
void add_norm(std::int64_t rows, std::int64_t channels, const T* x, const T* y, const float* weight,
              const float* bias, T* sum, T* normed, float* moments, void* stream);

// `gradient` [rows, channels] of the sum, from what arrives at the sum (`to_sum`, null: nothing) and at the
// normed rows. `partial` [norm_blocks(), 2, channels] float32: gradients of weight and bias, to be summed.
template <class T>
void add_norm_backward(std::int64_t rows, std::int64_t channels, const T* sum, const float* moments,
                       const float* weight, const T* to_sum, const T* to_normed, T* gradient, float* partial,
                       void* stream);
std::int64_t norm_blocks();

// gelu(z + shared) over `z` [batch, symbols, positions, channels] and `shared` [positions, batch, channels].
template <class T>
void shared_gelu(std::int64_t batch, std::int64_t symbols, std::int64_t positions, std::int64_t channels,
                 const T* z, const T* shared, T* output, void* stream);
template <class T>
void shared_gelu_backward(std::int64_t batch, std::int64_t symbols, std::int64_t positions,
                          std::int64_t channels, const T* z, const T* shared, const T* upstream, T* gradient,
                          T* shared_gradient, void* stream);

}  // namespace as2::nn::cuda
