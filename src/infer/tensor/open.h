// A Solver on LibTorch: the networks of a weights file as its Perceiver and its Guide.
#pragma once

#include <memory>

#include "as2/solver.h"
#include "infer/card.h"

namespace as2::infer {

// Answers on the CPU for `program`, which need not be the card's own where the network allows it. Without
// `with_guide` the reasoner is left out. InputError where the weights read no pictures, do not fit the
// program, or are not those of the card.
Solver open_solver(const Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                   bool with_guide = true, const SolverOptions& options = {});

}  // namespace as2::infer
