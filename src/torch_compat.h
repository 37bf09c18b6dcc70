// Where LibTorch 1.13 and 2.x differ in what we use: here and nowhere else.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace as2 {

namespace detail {
template <class Function>
struct ReportArguments;
template <class Class, class Size>
struct ReportArguments<void (Class::*)(void*, std::int64_t, Size, Size, c10::Device)> {
  using Type = Size;
};
}  // namespace detail

// The type of c10::MemoryReportingInfoBase::reportMemoryUsage's totals: signed in 1.13, unsigned in 2.x.
using ReportedSize =
    detail::ReportArguments<decltype(&c10::MemoryReportingInfoBase::reportMemoryUsage)>::Type;

}  // namespace as2
