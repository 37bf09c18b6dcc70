// LibTorch as an engine, and the verbs that offer it beside ours.
#include <ATen/Parallel.h>

#include "cli/engines.h"
#include "cli/verbs.h"
#include "infer/tensor/open.h"

namespace as2::cli {
namespace {

infer::Solver open_torch(const EngineOptions& options, const infer::Card& card,
                         std::shared_ptr<const compile::ConstraintProgram> program, bool with_guide) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  infer::SolverOptions solver = options.solver;
  solver.threads = options.threads;
  return infer::open_solver(card, std::move(program), with_guide, solver);
}

}  // namespace

const Engine kTorchEngine{"torch", open_torch};

Action declare_predict_with_torch(CLI::App& command) {
  return declare_predict_on(command, {kNativeEngine, kTorchEngine});
}

Action declare_solve_with_torch(CLI::App& command) {
  return declare_solve_on(command, {kNativeEngine, kTorchEngine});
}

}  // namespace as2::cli
