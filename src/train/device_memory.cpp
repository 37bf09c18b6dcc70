#include "train/device_memory.h"

#ifdef AS2_HAS_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace as2::train {

double peak_device_memory([[maybe_unused]] torch::Device device) {
#ifdef AS2_HAS_CUDA
  if (device.is_cuda()) {
    const auto index =
        static_cast<c10::DeviceIndex>(device.has_index() ? device.index() : c10::cuda::current_device());
    // The first entry is the sum of the others in every LibTorch; the name of its index is not.
    return static_cast<double>(
        c10::cuda::CUDACachingAllocator::getDeviceStats(index).allocated_bytes[0].peak);
  }
#endif
  return 0;
}

}  // namespace as2::train
