#include "cli/device.h"

#include "as2/error.h"

namespace as2::cli {

torch::Device parse_device(const std::string& name) {
  if (name == "auto")
    return torch::cuda::is_available() ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  try {
    torch::Device device(name);
    if (device.is_cuda() && !device.has_index()) device = torch::Device(torch::kCUDA, 0);
    if (device.is_cpu() || (device.is_cuda() && torch::cuda::is_available() &&
                            device.index() < static_cast<int>(torch::cuda::device_count()))) {
      return device;
    }
  } catch (const c10::Error&) {
    // LibTorch does not know the name: reported below.
  }
  throw UsageError("--device " + name + ": there is no such device here; expected auto, cpu, cuda or cuda:N");
}

}  // namespace as2::cli
