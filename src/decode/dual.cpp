// Lagrangian duality. Each exactly-one row e gets a potential v_e; loss'(x) = loss(x) − Σ_{e∋x} v_e and
//   L(v) = Σ_e v_e + Σ_i min_x loss'(i, x)
// is a lower bound for every v, because a satisfying assignment takes exactly one value of each row: its loss
// is Σ_e v_e + Σ loss' whatever v is. L is concave; its subgradient at e is 1 − (how many positions' best
// value lies in e), and ascending along it with shrinking steps comes close to the bound of the linear
// relaxation. Rejected: one exact assignment (Hungarian method) per group, which stops at a corner where no
// single group can improve. Potentials are rounded to integers, so the shift is exact.
#include "decode/dual.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace as2::decode {
namespace {

constexpr int kSteps = 600;
constexpr double kShrink = 0.99;

struct Ascent {
  const State& state;
  const Problem& problem;
  std::vector<double> reduced;    // per value
  std::vector<double> potential;  // per row
  std::vector<int> taken;         // per row: positions whose best value lies in it

  // L(v); fills `taken`.
  double evaluate() {
    double bound = 0;
    for (const double v : potential) bound += v;
    std::fill(taken.begin(), taken.end(), 0);
    for (int i = 0; i < problem.positions; ++i) {
      int best = state.first_value(i);
      for (int v = best; v >= 0; v = state.next_value(i, v)) best = reduced[v] < reduced[best] ? v : best;
      bound += reduced[best];
      for (const int* e = problem.exact_of_value.first(best); e != problem.exact_of_value.last(best); ++e) {
        ++taken[*e];
      }
    }
    return bound;
  }

  void step(double length) {
    for (std::size_t e = 0; e < potential.size(); ++e) {
      const double delta = length * (1 - taken[e]);
      if (delta == 0) continue;
      potential[e] += delta;
      const int row = static_cast<int>(e);
      for (const int* v = problem.exact.first(row); v != problem.exact.last(row); ++v) reduced[*v] -= delta;
    }
  }
};

}  // namespace

std::int64_t shift_losses(const State& state, const std::vector<std::int64_t>& losses,
                          std::vector<std::int64_t>& shifted) {
  const Problem& problem = state.problem();
  const std::size_t rows = static_cast<std::size_t>(problem.exact.rows());
  Ascent ascent{state, problem, {}, std::vector<double>(rows, 0), std::vector<int>(rows, 0)};
  ascent.reduced.assign(losses.begin(), losses.end());
  double spread = 0;  // a typical loss, to scale the steps
  for (const std::int64_t loss : losses) spread += static_cast<double>(loss);
  double length = 0.2 * spread / std::max<double>(1, static_cast<double>(losses.size()));
  std::vector<double> best_potential = ascent.potential;
  double best = -std::numeric_limits<double>::infinity();
  for (int k = 0; k < kSteps; ++k, length *= kShrink) {
    const double bound = ascent.evaluate();
    if (bound > best) {
      best = bound;
      best_potential = ascent.potential;
    }
    ascent.step(length);
  }

  std::int64_t constant = 0;
  shifted = losses;
  for (std::size_t e = 0; e < rows; ++e) {
    const std::int64_t v = std::llround(best_potential[e]);
    constant += v;
    const int row = static_cast<int>(e);
    for (const int* x = problem.exact.first(row); x != problem.exact.last(row); ++x) shifted[*x] -= v;
  }
  for (int i = 0; i < problem.positions; ++i) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int v = state.first_value(i); v >= 0; v = state.next_value(i, v))
      least = std::min(least, shifted[v]);
    for (int v = problem.value_begin[i]; v < problem.value_begin[i + 1]; ++v) {
      // A value that a pin removed may be cheaper than the cheapest one left, but losses must not be
      // negative.
      shifted[v] = std::max<std::int64_t>(0, shifted[v] - least);
    }
    constant += least;
  }
  return constant;
}

}  // namespace as2::decode
