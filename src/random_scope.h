// Our own stream of numbers for what LibTorch draws from its default generator (dropout, `torch::randn`,
// weights of new modules), which takes no other.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <mutex>

namespace as2 {

// While one of these is alive, the device's default generator gives the numbers of `seed`; afterwards it goes
// on as if nothing had been drawn, since it belongs to the process and not to us. A captured CUDA graph that
// is replayed inside draws from it, too.
class RandomScope {
 public:
  RandomScope(at::Device device, std::uint64_t seed)
      : generator_(at::globalContext().defaultGenerator(device)) {
    const std::lock_guard lock(generator_.mutex());
    before_ = generator_.get_state();
    generator_.set_current_seed(seed);
  }
  ~RandomScope() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(before_);
  }
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  at::Generator generator_;
  at::Tensor before_;
};

}  // namespace as2
