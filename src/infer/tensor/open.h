// The networks of a weights file on LibTorch, as a solver's Perceiver and Guide.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "as2/solver.h"
#include "infer/card.h"
#include "infer/pictures.h"
#include "nn/model.h"

namespace as2::infer {

// Those that the model has, on a device, for `program` with pictures at the positions of `map`. `weights`:
// the file they are of, which messages name.
PerceiverAndGuide perceiver_and_guide(std::shared_ptr<nn::Model> model,
                                      std::shared_ptr<const compile::ConstraintProgram> program,
                                      const PictureMap& map, torch::Device device,
                                      const std::filesystem::path& weights = {});
// Those of a card. InputError where the weights do not fit the program, or are not those of the card.
PerceiverAndGuide perceiver_and_guide(const Card& card,
                                      std::shared_ptr<const compile::ConstraintProgram> program,
                                      torch::Device device);

// Answers on the CPU for `program`, which need not be the card's own where the network allows it. Without
// `with_guide` the reasoner is left out. InputError also where the weights read no pictures.
Solver open_solver(const Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                   bool with_guide = true, const SolverOptions& options = {});

}  // namespace as2::infer
