#include "infer/open.h"

#include <algorithm>
#include <cmath>

#include "as2/error.h"

namespace as2::infer {

void check_restarts(const Card& card, const Guide* guide, int restarts) {
  if (restarts <= 1 || (guide && guide->has_trajectories())) return;
  throw InputError({card.weights.string()},
                   "restarts have no effect on this model: without noise every trajectory is the same",
                   {"give --model a model that was trained with noise (model.reasoner.state_noise or "
                    "path_noise above 0), as preset hard does"});
}

Solver make_solver(const Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                   PerceiverAndGuide networks, bool with_guide, const SolverOptions& options) {
  if (!networks.perceiver) {
    throw InputError({card.weights.string()}, "the model has no perception, so it reads no pictures",
                     {"give --model a model of pictures, as `as2 train` writes it"});
  }
  if (!with_guide) networks.guide.reset();
  check_restarts(card, networks.guide.get(), options.restarts);
  return {std::move(program), std::move(networks.perceiver), std::move(networks.guide), options};
}

void require_finite(const std::vector<double>& beliefs, const std::filesystem::path& weights) {
  if (std::all_of(beliefs.begin(), beliefs.end(), [](double p) { return std::isfinite(p); })) return;
  throw InputError({weights.string()}, "with these weights the network gives something that is not a number",
                   {"the file is damaged, or training diverged"});
}

}  // namespace as2::infer
