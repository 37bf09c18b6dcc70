// Where no circuit fits: the best answers from the decoder, with a bound on what is missing, or drawn ones.
#include <algorithm>
#include <cmath>
#include <limits>

#include "as2/probability.h"
#include "prob/log_space.h"
#include "prob/observation.h"
#include "random.h"

namespace as2::prob {
namespace {

using compile::Assignment;
using compile::ConstraintProgram;

double log_weight(const decode::Beliefs& weights, std::size_t stride, const Assignment& assignment) {
  double sum = 0;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    sum += std::log(weights[i * stride + static_cast<std::size_t>(assignment[i])]);
  }
  return sum;
}

// The beliefs, with weight 1 for positions that have none.
decode::Beliefs weights_of(const ConstraintProgram& program, decode::Beliefs beliefs,
                           const std::vector<char>& believed) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    if (believed.empty() ? !program.positions[i].guess : believed[i] != 0) continue;
    std::fill_n(beliefs.begin() + static_cast<std::ptrdiff_t>(i * stride),
                program.positions[i].symbols.size(), 1.0);
  }
  return beliefs;
}

// log of the weight of all assignments, answer sets or not, and of their number.
std::pair<double, double> log_totals(const ConstraintProgram& program, const decode::Beliefs& weights) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  std::pair<double, double> totals{0, 0};
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    double sum = 0;
    for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s) sum += weights[i * stride + s];
    totals.first += std::log(sum);
    totals.second += std::log(static_cast<double>(program.positions[i].symbols.size()));
  }
  return totals;
}

}  // namespace

Approximation sum_best(const ConstraintProgram& program, const decode::Beliefs& beliefs,
                       const std::vector<char>& believed, const std::vector<Observation>& queries, int most,
                       double seconds) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const decode::Beliefs weights = weights_of(program, beliefs, believed);
  decode::DecodeOptions options;
  options.models = most;
  options.minimal_conflict = false;
  options.time_budget_seconds = seconds;
  options.objective_weights.assign(program.objectives.size(), 0.0);
  const decode::Decoded decoded = decode::Decoder(program).decode({weights, {}, {}, {}}, options);

  // Everything relative to the best answer, so that nothing underflows.
  Approximation result;
  result.queries.assign(queries.size(), 0.0);
  result.log_p_program = kNothing;
  double best = kNothing;
  double found = 0;
  double least = kNothing;
  for (const decode::Model& model : decoded.models) {
    const double weight = log_weight(weights, stride, model.assignment);
    if (weight == kNothing) continue;
    if (found == 0) best = weight;
    least = weight;
    const std::vector<char> truth = compile::evaluate_nodes(program, model.assignment);
    const double relative = std::exp(weight - best);
    found += relative;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      if (holds(queries[q], model.assignment, truth)) result.queries[q] += relative;
    }
  }
  if (found == 0) return result;
  for (double& query : result.queries) query /= found;
  result.log_p_program = best + std::log(found);
  const bool complete =
      decoded.status == decode::Status::kOptimal && decoded.models.size() < static_cast<std::size_t>(most);
  if (complete) return result;
  // What is missing weighs no more than all other assignments; in order, none more than the last one found.
  const auto [log_mass, log_count] = log_totals(program, weights);
  double missing = std::max(0.0, std::exp(log_mass - best) - found);
  if (decoded.status == decode::Status::kOptimal && decoded.models.size() == static_cast<std::size_t>(most)) {
    const bool all_weigh = least == log_weight(weights, stride, decoded.models.back().assignment);
    missing = all_weigh ? std::min(missing, std::exp(least - best + log_count)) : 0;
  }
  result.bound = missing / (found + missing);
  return result;
}

Approximation sum_drawn(const ConstraintProgram& program, const decode::Beliefs& beliefs,
                        const std::vector<char>& believed, const std::vector<Observation>& queries, int count,
                        std::uint64_t seed) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const decode::Beliefs weights = weights_of(program, beliefs, believed);
  Approximation result;
  result.queries.assign(queries.size(), 0.0);
  Random random(seed);
  int kept = 0;
  Assignment assignment(program.positions.size());
  for (int k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < assignment.size(); ++i) {
      const std::size_t size = program.positions[i].symbols.size();
      const double* row = weights.data() + i * stride;
      double left = 0;
      for (std::size_t s = 0; s < size; ++s) left += row[s];
      left *= random.unit();
      std::size_t chosen = 0;
      for (std::size_t s = 0; s < size; ++s) {
        if (row[s] <= 0) continue;
        chosen = s;
        left -= row[s];
        if (left < 0) break;
      }
      assignment[i] = static_cast<int>(chosen);
    }
    if (!compile::violated_groups(program, assignment).empty()) continue;
    ++kept;
    const std::vector<char> truth = compile::evaluate_nodes(program, assignment);
    for (std::size_t q = 0; q < queries.size(); ++q)
      result.queries[q] += holds(queries[q], assignment, truth);
  }
  if (kept == 0) {
    throw InputError("none of " + std::to_string(count) + " drawn assignments is an answer set",
                     {"`--approx top-k` finds answers however rare they are"});
  }
  for (double& query : result.queries) query /= kept;
  result.log_p_program = log_totals(program, weights).first + std::log(static_cast<double>(kept) / count);
  result.bound = std::sqrt(std::log(2 / 0.05) / (2.0 * kept));  // Hoeffding
  return result;
}

}  // namespace as2::prob
