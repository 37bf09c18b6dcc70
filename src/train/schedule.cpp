#include "train/schedule.h"

#include <algorithm>
#include <cmath>

namespace as2::train {

double decay(double epoch, double horizon, double floor) {
  return horizon <= 0 ? 1 : std::max(floor, 1 - (1 - floor) * epoch / horizon);
}

double ramp(double epoch, double horizon) {
  return horizon <= 0 ? 1 : std::min(1.0, epoch / horizon);
}

double learning_rate(double progress, double peak, double warmup, double last) {
  progress = std::clamp(progress, 0.0, 1.0);
  if (progress < warmup) return peak * progress / warmup;
  const double along = warmup >= 1 ? 1 : (progress - warmup) / (1 - warmup);
  return peak * (last + (1 - last) * 0.5 * (1 + std::cos(std::acos(-1.0) * along)));
}

std::int64_t validation_size(std::int64_t all, std::int64_t batch, std::int64_t seen, double seconds,
                             double spent) {
  if (seen % batch != 0) return seen;
  const double fits = seconds * static_cast<double>(seen) / std::max(1e-9, spent);
  return std::min(all, std::max(kLeastValidation, static_cast<std::int64_t>(std::min(fits, 1e9))));
}

}  // namespace as2::train
