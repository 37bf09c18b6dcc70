#include "decode/scoring.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace as2::decode {
namespace {

// With a larger range, log p would be counted in steps coarser than 2⁻²⁰, which could hide a difference.
constexpr double kMostRange = 2199023255552.0;  // 2⁴¹

std::uint64_t bits_of(double p) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &p, sizeof bits);
  return bits;
}

// The logarithm, floored; neighbouring beliefs are often equal, and logarithms are expensive.
class LastLog {
 public:
  double operator()(double p) {
    if (p != p_) {
      p_ = p;
      log_ = std::log(std::max(p, kFloor));
    }
    return log_;
  }

 private:
  double p_ = 1;
  double log_ = 0;
};

// Adds the losses of one set of beliefs: scale · (log best − log p), which is 0 where a position is uniform.
void add_belief_losses(const Problem& problem, const Beliefs& beliefs, int stride, double scale,
                       std::vector<std::int64_t>& row) {
  LastLog log_of_best, log_of_other;
  double last_best = -1;
  double last = -1;
  std::int64_t loss = 0;
  for (int i = 0; i < problem.real; ++i) {
    const int begin = problem.value_begin[i];
    const int count = problem.value_begin[i + 1] - begin;
    const double* p = beliefs.data() + static_cast<std::ptrdiff_t>(i) * stride;
    // Most positions are uniform: their bits are compared first, which is quick.
    std::uint64_t differing = 0;
    for (int s = 0; s < count; ++s) differing |= bits_of(p[s]) ^ bits_of(p[0]);
    const int checked = differing == 0 ? 1 : count;
    for (int s = 0; s < checked; ++s) {
      AS2_REQUIRE(p[s] >= 0 && std::isfinite(p[s]), "a belief is negative or not finite");
    }
    if (differing == 0) continue;
    const double best = *std::max_element(p, p + count);
    for (int s = 0; s < count; ++s) {
      if (p[s] == best) continue;
      if (best != last_best || p[s] != last) {
        last_best = best;
        last = p[s];
        loss = std::llround((log_of_best(best) - log_of_other(last)) * scale);
      }
      row[begin + s] += loss;
    }
  }
}

void add_cost(const Problem& problem, int literal, std::int64_t loss, std::vector<std::int64_t>& row) {
  const int position = problem.position_of_literal(literal);
  for (int v = problem.value_begin[position]; v < problem.value_begin[position + 1]; ++v) {
    if (problem.literal_has(literal, v)) row[v] += loss;
  }
}

void bring_least_to_zero(const Problem& problem, std::vector<std::int64_t>& row) {
  for (int i = 0; i < problem.positions; ++i) {
    const auto begin = row.begin() + problem.value_begin[i];
    const auto end = row.begin() + problem.value_begin[i + 1];
    const std::int64_t least = *std::min_element(begin, end);
    for (auto it = begin; it != end; ++it) *it -= least;
  }
}

double weight_of(const DecodeOptions& options, int level) {
  const auto index = static_cast<std::size_t>(level);
  return index < options.objective_weights.size() ? options.objective_weights[index] : 1.0;
}

}  // namespace

std::vector<double> fill_losses(const Problem& problem, const Query& query, int stride,
                                const DecodeOptions& options,
                                std::vector<std::vector<std::int64_t>>& losses) {
  const std::size_t levels = options.objective_first ? problem.constant_cost.size() : 0;
  losses.resize(levels + 1 + (query.guide.empty() ? 0 : 1));
  for (auto& row : losses) row.assign(static_cast<std::size_t>(problem.values), 0);

  // Sums must stay well within 64 bits, and log p must not vanish in rounding.
  double range = -std::log(kFloor) * std::max(1, problem.real);
  for (const CostLiteral& cost : problem.costs) {
    if (options.objective_first) break;
    range += std::abs(weight_of(options, cost.level) * static_cast<double>(cost.weight));
  }
  if (!(range < kMostRange)) {
    throw InputError("the objectives, times their weights, are too large to be weighed against log p",
                     {"give them smaller weights (--objective-weight), or let them decide before log p "
                      "(--objective-first)"});
  }
  const double scale = std::exp2(std::min(40.0, 61.0 - std::ceil(std::log2(range))));

  add_belief_losses(problem, query.beliefs, stride, scale, losses[levels]);
  for (const CostLiteral& cost : problem.costs) {
    if (options.objective_first) {
      add_cost(problem, cost.literal, cost.weight, losses[cost.level]);
    } else {
      const double loss = weight_of(options, cost.level) * static_cast<double>(cost.weight) * scale;
      add_cost(problem, cost.literal, std::llround(loss), losses[0]);
    }
  }
  if (!problem.costs.empty()) {
    for (auto& row : losses) bring_least_to_zero(problem, row);
  }
  if (!query.guide.empty()) add_belief_losses(problem, query.guide, stride, scale, losses.back());
  std::vector<double> units(losses.size(), scale);
  std::fill_n(units.begin(), levels, 1.0);
  return units;
}

double log_probability(const Beliefs& beliefs, int stride, const compile::Assignment& assignment) {
  double sum = 0;
  LastLog log_of;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    sum += log_of(beliefs[i * static_cast<std::size_t>(stride) + static_cast<std::size_t>(assignment[i])]);
  }
  return sum;
}

}  // namespace as2::decode
