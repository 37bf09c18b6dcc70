// A stronger bound than the sum of each position's least loss.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/state.h"

namespace as2::decode {

// Shifts losses along rows of which exactly one value holds, so that the sum of least losses grows; every
// assignment that satisfies those rows loses the same constant, which is returned (loss = constant +
// shifted). Domains are those of `state`; the least shifted loss of each position is 0.
std::int64_t shift_losses(const State& state, const std::vector<std::int64_t>& losses,
                          std::vector<std::int64_t>& shifted);

}  // namespace as2::decode
