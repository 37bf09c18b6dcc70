#include "cli/circuit_options.h"

#include <CLI/CLI.hpp>

#include "cli/validators.h"
#include "cli/verbs.h"
#include "text.h"

namespace as2::cli {
namespace {

constexpr int kBestByDefault = 1000;
constexpr int kDrawnByDefault = 100000;

}  // namespace

void CircuitOptions::declare(CLI::App& command) {
  command
      .add_option("--approx", approx,
                  "Probabilities without a circuit. top-k: the K best answers, a lower bound with a bound on "
                  "what is missing; sample: assignments drawn from the beliefs")
      ->check(CLI::IsMember({"top-k", "sample"}));
  command
      .add_option("--approx-size", approx_size,
                  "How many best answers (1000 by default) or drawn assignments (100000)")
      ->check(CLI::Range(1, 100000000))
      ->type_name("N");
  time_option =
      command
          .add_option("--time-budget", time_budget,
                      "Seconds for compiling the circuit, or for searching the best answers; 0: no limit")
          ->check(number_between(0, 1e9))
          ->capture_default_str();
  memory_option =
      command.add_option("--memory-budget", memory_budget, "MiB for compiling the circuit; 0: no limit")
          ->check(number_between(0, 1e9))
          ->capture_default_str();
}

void CircuitOptions::check_usage() const {
  if (approx_size > 0 && exact()) throw UsageError("--approx-size needs --approx");
  if (approx == "sample" && time_option->count() > 0)
    throw UsageError(
        "--time-budget has no effect with --approx sample; --approx-size says how many are drawn");
  if (!exact() && memory_option->count() > 0)
    throw UsageError("--memory-budget has no effect with --approx, which compiles no circuit");
}

prob::Approximation CircuitOptions::approximate(const compile::ConstraintProgram& program,
                                                const decode::Beliefs& beliefs,
                                                const std::vector<char>& believed,
                                                const std::vector<prob::Observation>& queries,
                                                std::uint64_t seed) const {
  const auto size = [&](int usual) { return approx_size > 0 ? approx_size : usual; };
  if (approx == "top-k")
    return prob::sum_best(program, beliefs, believed, queries, size(kBestByDefault), time_budget);
  return prob::sum_drawn(program, beliefs, believed, queries, size(kDrawnByDefault), seed);
}

void CircuitOptions::refuse_nothing_found() const {
  throw InputError("no answer set was found within the " + in_digits(time_budget) + " s of --time-budget",
                   {"--time-budget allows more; 0: no limit"});
}

std::string CircuitOptions::text_of_bound(double bound) const {
  if (approx == "sample")
    return "each probability is off by at most " + in_digits(bound) + ", with 95 % confidence";
  if (bound >= 1) {
    return "this says nothing of any probability: what was found in time weighs too little of all that may "
           "be; "
           "--time-budget and --approx-size allow more";
  }
  return "no probability is off by more than " + in_digits(bound);
}

}  // namespace as2::cli
