// Beliefs and objectives as integer losses, so that sums are exact and ties are ties on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "as2/decoder.h"
#include "decode/problem.h"

namespace as2::decode {

inline constexpr double kFloor = 1e-30;  // of probabilities, in logarithms

// Fills `losses`, one row per criterion, most important first. Without objective_first: −(Σ log p − Σ
// λ·cost); with it: each level's cost, then −Σ log p. A guide adds −Σ log guide as the last criterion. Per
// position the least loss is 0. Returns, for each criterion, how many integer units correspond to 1 in what
// it measures (log p or cost).
std::vector<double> fill_losses(const Problem& problem, const Query& query, int stride,
                                const DecodeOptions& options, std::vector<std::vector<std::int64_t>>& losses);

// Σ log max(p, kFloor).
double log_probability(const Beliefs& beliefs, int stride, const compile::Assignment& assignment);

}  // namespace as2::decode
