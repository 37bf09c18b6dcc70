// Digits without a meaning, for tests that need pictures but not what they show.
#pragma once

#include "datasets/mnist.h"
#include "random.h"

namespace as2::test {

// Made-up digits: every image is different noise.
inline datasets::Digits made_up_digits(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  datasets::Digits digits;
  for (std::size_t k = 0; k < count; ++k)
    digits.labels.push_back(static_cast<std::uint8_t>(random.below(10)));
  for (std::size_t k = 0; k < count * datasets::kDigitPixels; ++k)
    digits.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  return digits;
}

}  // namespace as2::test
