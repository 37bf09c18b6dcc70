// The networks of a weights file without LibTorch, as the solver's Perceiver and Guide.
#pragma once

#include <memory>

#include "as2/solver.h"
#include "infer/card.h"
#include "infer/pictures.h"
#include "native/perception.h"
#include "native/reasoner.h"

namespace as2::native {

struct EngineOptions {
  int threads = 0;  // 0: one per core
  std::size_t memory =
      std::size_t{256} * 1000000;             // bytes a call may take beyond weights, inputs and outputs
  const kernels::Version* version = nullptr;  // null: the fastest that this processor runs
};

// What a card's networks are for one program.
class Networks {
 public:
  // InputError where the weights are damaged, are not those of the card, or do not fit the program.
  Networks(const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
           const EngineOptions& options);

  const compile::ConstraintProgram& program() const { return *program_; }
  // Null where the card has none.
  const PerceptionNet* perception() const { return perception_.get(); }
  const Reasoner* reasoner() const { return reasoner_.get(); }
  Threads& threads() { return threads_; }
  std::size_t memory() const { return options_.memory; }

  // Perception's distribution over the symbols of each picture's position.
  std::vector<std::vector<double>> perceive(const std::vector<const infer::Picture*>& pictures);
  std::vector<infer::Guidance> guide(const std::vector<infer::Evidence>& instances,
                                     const ReasonerLimits& limits = {});

 private:
  std::filesystem::path path_;  // of the weights
  std::shared_ptr<const compile::ConstraintProgram> program_;
  EngineOptions options_;
  infer::PictureMap map_;
  std::unique_ptr<PerceptionNet> perception_;
  std::unique_ptr<Reasoner> reasoner_;
  Threads threads_;
};

// The networks as a solver takes them: its perceiver and its guide, each null where the card has none.
infer::PerceiverAndGuide perceiver_and_guide(std::shared_ptr<Networks> networks);

// Answers for `program`, which need not be the card's own where the network allows it. Without `with_guide`
// the reasoner is left out. InputError also where the weights read no pictures.
infer::Solver open_solver(const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                          bool with_guide = true, const infer::SolverOptions& solver = {},
                          const EngineOptions& engine = {});

}  // namespace as2::native
