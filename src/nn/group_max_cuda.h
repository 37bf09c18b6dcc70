// Maximum along groups on CUDA. Host launchers only.
#pragma once

#include <cstdint>

namespace as2::nn::cuda {

// The groups of a program; the arrays lie on the device, as in Structure.
struct Groups {
  std::int64_t positions = 0, groups = 0, width = 0, degree = 0;
  const std::int64_t* members = nullptr;          // [groups, width]
  const bool* members_mask = nullptr;             // [groups, width]
  const std::int64_t* position_groups = nullptr;  // [positions, degree]
  const bool* position_groups_mask = nullptr;     // [positions, degree]
};

// T is float, or std::uint16_t for the bits of a bfloat16. `x` [rows, positions, channels] → `maximum` [rows,
// groups, channels] and `ties`, how many members attain it. `stream` is a cudaStream_t.
template <class T>
void group_max(const Groups& groups, std::int64_t rows, std::int64_t channels, const T* x, T* maximum,
               std::uint16_t* ties, void* stream);
// `gradient` [rows, positions, channels]: tied members share `upstream` [rows, groups, channels] equally.
template <class T>
void group_max_backward(const Groups& groups, std::int64_t rows, std::int64_t channels, const T* x,
                        const T* maximum, const std::uint16_t* ties, const T* upstream, T* gradient,
                        void* stream);

}  // namespace as2::nn::cuda
