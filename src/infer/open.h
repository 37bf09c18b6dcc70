// A Solver from the networks of a card, whatever runs them.
#pragma once

#include <memory>

#include "as2/solver.h"
#include "infer/card.h"

namespace as2::infer {

// Without `with_guide` the guide is left out. InputError where the weights read no pictures, and where
// restarts would have no effect.
Solver make_solver(const Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                   PerceiverAndGuide networks, bool with_guide, const SolverOptions& options);

// InputError unless `guide`, which may be null, has the trajectories that `restarts` asks for.
void check_restarts(const Card& card, const Guide* guide, int restarts);

// InputError that names the weights where their network gave something else than numbers, as finite weights
// that are far too large do.
void require_finite(const std::vector<double>& beliefs, const std::filesystem::path& weights);

}  // namespace as2::infer
