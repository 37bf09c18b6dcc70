// The few calls that differ between LibTorch 1.13 and 2.x, in one place.
#pragma once

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/core/Allocator.h>
#include <torch/version.h>

#include <cmath>
#include <cstdint>
#include <optional>

#define AS2_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace as2::compat {

// What an operator may be given or not: a type of LibTorch's own at first, the standard one later.
#if AS2_TORCH_AT_LEAST(2, 5)
template <class T>
using Optional = std::optional<T>;
#else
template <class T>
using Optional = c10::optional<T>;
#endif

// softmax(q·kᵀ/√d + bias)·v over [batch, heads, positions, d]; `bias` [.., heads, positions, positions] is
// added to the scores, broadcast over the batch, in the dtype of q; undefined: none. LibTorch's fused
// kernels where the version has them.
inline at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& bias) {
#if AS2_TORCH_AT_LEAST(2, 1)
  if (bias.defined()) {
    return at::scaled_dot_product_attention(q, k, v, bias.expand({q.size(0), -1, -1, -1}));
  }
  return at::scaled_dot_product_attention(q, k, v);
#else
  at::Tensor scores = at::matmul(q / std::sqrt(static_cast<double>(q.size(-1))), k.transpose(-2, -1));
  if (bias.defined()) scores = scores + bias;
  return at::matmul(at::softmax(scores, -1), v);
#endif
}

inline bool autocast_enabled(at::DeviceType device) {
#if AS2_TORCH_AT_LEAST(2, 4)
  return at::autocast::is_autocast_enabled(device);
#else
  return device == at::kCUDA ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
#endif
}

inline void set_autocast_enabled(at::DeviceType device, bool enabled) {
#if AS2_TORCH_AT_LEAST(2, 4)
  at::autocast::set_autocast_enabled(device, enabled);
#else
  device == at::kCUDA ? at::autocast::set_enabled(enabled) : at::autocast::set_cpu_enabled(enabled);
#endif
}

inline at::ScalarType autocast_dtype(at::DeviceType device) {
#if AS2_TORCH_AT_LEAST(2, 4)
  return at::autocast::get_autocast_dtype(device);
#else
  return device == at::kCUDA ? at::autocast::get_autocast_gpu_dtype()
                             : at::autocast::get_autocast_cpu_dtype();
#endif
}

// Turns autocast on (or off) for a scope, with bfloat16 as the low precision.
class AutocastScope {
 public:
  AutocastScope(at::DeviceType device, bool enabled)
      : device_(device), was_enabled_(autocast_enabled(device)) {
    set_autocast_enabled(device_, enabled);
    if (!enabled) return;
#if AS2_TORCH_AT_LEAST(2, 4)
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
#else
    device_ == at::kCUDA ? at::autocast::set_autocast_gpu_dtype(at::kBFloat16)
                         : at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
#endif
  }
  ~AutocastScope() {
    if (!was_enabled_) at::autocast::clear_cache();
    set_autocast_enabled(device_, was_enabled_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool was_enabled_;
};

template <class Function>
struct ReportArguments;
template <class Class, class Size>
struct ReportArguments<void (Class::*)(void*, std::int64_t, Size, Size, c10::Device)> {
  using Type = Size;
};
// The type of reportMemoryUsage's totals: signed in 1.13, unsigned later.
using ReportedSize = ReportArguments<decltype(&c10::MemoryReportingInfoBase::reportMemoryUsage)>::Type;

}  // namespace as2::compat
