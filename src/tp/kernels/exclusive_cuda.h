// Exclusive groups on CUDA: image, residual and gradient in one pass over the beliefs. Host launchers only.
#pragma once

#include <cstdint>

namespace as2::tp::kernels::cuda {

// Slots whose members are single cells, exactly one term per (family, cell), as in Sudoku or Latin squares.
// The arrays lie on the device. cell = position · symbols + symbol.
struct RegularSlots {
  std::int32_t cells = 0, families = 0, slots = 0, width = 0;  // width: most members of a slot
  bool full = false;                                           // every slot has `width` members
  const std::int32_t* members = nullptr;      // [width, slots]: cells, in bytes; negative: none
  const std::int32_t* slot_family = nullptr;  // [slots]
};

// Whether a batch element fits into the shared memory of this device; if not, use the tensor form.
bool fits(const RegularSlots& slots, int device);

// `stream` is a cudaStream_t. All of them overwrite their output; beliefs are [batch, cells], contiguous and
// aligned to 16 bytes, and so are the outputs.
// `sum` = scale · Σ_{batch, terms} (p − p·factor)²; `gradient` [batch, cells] = its derivative. `parts`:
// room for as many numbers as there are `blocks`.
std::int64_t blocks(const RegularSlots& slots, std::int64_t batch);
void loss(const RegularSlots& slots, std::int64_t batch, const float* beliefs, float scale, float* parts,
          float* sum, float* gradient, void* stream);
// `factors` [batch, families · cells] = the factor of each (family, cell)'s term.
void factors(const RegularSlots& slots, std::int64_t batch, const float* beliefs, float* factors,
             void* stream);
// `gradient` [batch, cells] = the derivative of Σ upstream · factors; `upstream` [batch, families · cells].
void factors_backward(const RegularSlots& slots, std::int64_t batch, const float* beliefs,
                      const float* upstream, float* gradient, void* stream);

}  // namespace as2::tp::kernels::cuda
