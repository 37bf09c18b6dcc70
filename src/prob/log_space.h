// Probabilities as logarithms.
#pragma once

#include <limits>

namespace as2::prob {

constexpr double kNothing = -std::numeric_limits<double>::infinity();  // log 0

}  // namespace as2::prob
