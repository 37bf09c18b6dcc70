// The one check of every differentiable function: analytic gradient against central differences, in float64.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace as2::test {

struct FiniteDifferenceOptions {
  double step = 1e-5;
  double tolerance = 1e-6;  // relative to the largest of 1 and both slopes
};

// Checks ∂ Σ w·f(x) / ∂x at every entry of `at`, with fixed uneven weights w, so that errors cannot cancel.
inline void expect_gradient(const std::function<torch::Tensor(const torch::Tensor&)>& f,
                            const torch::Tensor& at, const FiniteDifferenceOptions& options = {}) {
  ASSERT_EQ(at.scalar_type(), torch::kFloat64);
  const auto weighted = [&](const torch::Tensor& x) {
    const torch::Tensor y = f(x);
    const torch::Tensor weights = torch::cos(torch::arange(y.numel(), torch::kFloat64)) + 1.5;
    return (y.flatten() * weights).sum();
  };
  torch::Tensor x = at.detach().clone().set_requires_grad(true);
  weighted(x).backward();
  const torch::Tensor analytic = x.grad().defined() ? x.grad().contiguous() : torch::zeros_like(at);
  ASSERT_TRUE(analytic.isfinite().all().item<bool>()) << "a gradient is not finite";
  torch::NoGradGuard no_gradient;
  torch::Tensor moved = at.detach().clone().contiguous();
  double* entries = moved.data_ptr<double>();
  for (std::int64_t k = 0; k < moved.numel(); ++k) {
    const double here = entries[k];
    entries[k] = here + options.step;
    const double above = weighted(moved).item<double>();
    entries[k] = here - options.step;
    const double below = weighted(moved).item<double>();
    entries[k] = here;
    const double numeric = (above - below) / (2 * options.step);
    const double given = analytic.data_ptr<double>()[k];
    const double scale = std::max({1.0, std::abs(numeric), std::abs(given)});
    EXPECT_NEAR(given, numeric, options.tolerance * scale) << "entry " << k;
  }
}

}  // namespace as2::test
