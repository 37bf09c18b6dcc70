// Beliefs that help nobody, for problems that should be hard.
#pragma once

#include <cstdint>
#include <random>

#include "as2/decoder.h"

namespace as2::bench {

// Every symbol gets between 1 and 1000 parts, the same on every machine.
inline decode::Beliefs noise(const compile::ConstraintProgram& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  decode::Beliefs beliefs(program.positions.size() * stride, 0.0);
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const auto begin = beliefs.begin() + static_cast<std::ptrdiff_t>(i * stride);
    const auto end = begin + static_cast<std::ptrdiff_t>(program.positions[i].symbols.size());
    double sum = 0;
    for (auto p = begin; p != end; ++p) sum += * p = static_cast<double>(1 + random() % 1000);
    for (auto p = begin; p != end; ++p) *p /= sum;
  }
  return beliefs;
}

}  // namespace as2::bench
