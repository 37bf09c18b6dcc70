// How probabilities are computed, the same for every verb that gives them: by a circuit within a budget, or
// by an approximation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "as2/probability.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace as2::cli {

struct CircuitOptions {
  std::string approx;   // empty: exact
  int approx_size = 0;  // 0: the default of the approximation
  double time_budget = 60;
  std::int64_t memory_budget = 2048;  // MiB
  const CLI::Option *time_option = nullptr, *memory_option = nullptr;

  void declare(CLI::App& command);
  // Refuses options that would have no effect.
  void check_usage() const;
  bool exact() const { return approx.empty(); }
  prob::Budget budget() const { return {time_budget, memory_budget << 20}; }
  // The approximation that was asked for; the seed is that of drawn assignments.
  prob::Approximation approximate(const compile::ConstraintProgram& program, const decode::Beliefs& beliefs,
                                  const std::vector<char>& believed,
                                  const std::vector<prob::Observation>& queries, std::uint64_t seed) const;
  // The search for the best answers found none in time.
  [[noreturn]] void refuse_nothing_found() const;
  // How far off the approximation's probabilities may be, in a sentence.
  std::string text_of_bound(double bound) const;
};

}  // namespace as2::cli
