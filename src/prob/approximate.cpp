// Where no circuit fits: the best answers from the decoder, with a bound on what is missing, or drawn ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "as2/probability.h"
#include "prob/log_space.h"
#include "prob/observation.h"
#include "random.h"
#include "stop.h"

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

// log of the weight of all assignments, answer sets or not, and of the number of those that weigh anything.
std::pair<double, double> log_totals(const ConstraintProgram& program, const decode::Beliefs& weights) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  std::pair<double, double> totals{0, 0};
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const double* row = weights.data() + i * stride;
    const std::size_t size = program.positions[i].symbols.size();
    totals.first += std::log(std::accumulate(row, row + size, 0.0));
    totals.second +=
        std::log(static_cast<double>(size) - static_cast<double>(std::count(row, row + size, 0.0)));
  }
  return totals;
}

// The program without the symbols that weigh 0: the decoder floors them, so an answer that has one could
// stand before others that weigh more. One group per position, after the program's own. The position that has
// no other symbol; -1: there is none.
int forbid_weightless(ConstraintProgram& program, const decode::Beliefs& weights) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const int family = static_cast<int>(program.families.size());
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const int position = static_cast<int>(i);
    compile::SetLiteral weightless{position, {}};
    for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s) {
      if (weights[i * stride + s] == 0) weightless.symbols.push_back(static_cast<int>(s));
    }
    if (weightless.symbols.empty()) continue;
    if (weightless.symbols.size() == program.positions[i].symbols.size()) return position;
    compile::Group group;
    group.family = family;
    group.positions = {position};
    group.content = compile::Nogoods{{{std::move(weightless)}}};
    program.groups.push_back(std::move(group));
  }
  program.families.push_back({"symbols that weigh nothing", {}, ""});
  return -1;
}

}  // namespace

Approximation sum_best(const ConstraintProgram& program, const decode::Beliefs& beliefs,
                       const std::vector<char>& believed, const std::vector<Observation>& queries, int most,
                       double seconds, const std::atomic<bool>* stop) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const decode::Beliefs weights = weights_of(program, beliefs, believed);
  Approximation result;
  result.queries.assign(queries.size(), 0.0);
  result.log_p_program = kNothing;
  ConstraintProgram possible = program;
  possible.objectives.clear();
  if (const int empty = forbid_weightless(possible, weights); empty >= 0) {
    result.contradicting = {empty};
    return result;
  }
  decode::DecodeOptions options;
  options.models = most;
  options.time_budget_seconds = seconds;
  options.stop = stop;
  const decode::Decoder decoder(std::move(possible));
  const decode::Decoded decoded = decoder.decode({weights, {}, {}, {}}, options);
  throw_if_stopped(stop, "the search for answers");
  const bool ordered = decoded.status == decode::Status::kOptimal;
  if (decoded.models.empty()) {
    result.bound = decoded.status == decode::Status::kUnsatisfiable ? 0 : 1;
    for (const int g : decoded.conflict.groups) {
      if (static_cast<std::size_t>(g) >= program.groups.size())
        result.contradicting.push_back(decoder.program().groups[static_cast<std::size_t>(g)].positions[0]);
    }
    return result;
  }

  // Everything relative to the heaviest answer, so that nothing overflows.
  std::vector<double> log_weights;
  for (const decode::Model& model : decoded.models)
    log_weights.push_back(log_weight(weights, stride, model.assignment));
  const double best = *std::max_element(log_weights.begin(), log_weights.end());
  double found = 0;
  for (std::size_t m = 0; m < decoded.models.size(); ++m) {
    const compile::Assignment& assignment = decoded.models[m].assignment;
    const std::vector<char> truth = compile::evaluate_nodes(program, assignment);
    const double relative = std::exp(log_weights[m] - best);
    found += relative;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      if (holds(queries[q], assignment, truth)) result.queries[q] += relative;
    }
  }
  for (double& query : result.queries) query /= found;
  result.log_p_program = best + std::log(found);
  if (ordered && decoded.models.size() < static_cast<std::size_t>(most)) return result;
  // What is missing weighs no more than all other assignments. Nor does one of them, where they came in
  // order, weigh more than the last one found would with its beliefs floored: floors only add weight.
  const auto [log_mass, log_count] = log_totals(program, weights);
  double missing = std::max(0.0, std::exp(log_mass - best) - found);
  if (ordered)
    missing = std::min(missing, std::exp(decoded.models.back().log_probability - best + log_count));
  result.bound = 1 / (1 + found / missing);  // missing may be 0, and infinite
  return result;
}

Approximation sum_drawn(const ConstraintProgram& program, const decode::Beliefs& beliefs,
                        const std::vector<char>& believed, const std::vector<Observation>& queries, int count,
                        std::uint64_t seed, const std::atomic<bool>* stop) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const decode::Beliefs weights = weights_of(program, beliefs, believed);
  Approximation result;
  result.queries.assign(queries.size(), 0.0);
  Random random(seed);
  int kept = 0;
  Assignment assignment(program.positions.size());
  for (int k = 0; k < count; ++k) {
    throw_if_stopped(stop, "drawing answers");
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
