// LibTorch as an engine, and the verbs that offer it beside ours.
#include <ATen/Parallel.h>

#include "cli/device.h"
#include "cli/engines.h"
#include "cli/verbs.h"
#include "infer/tensor/open.h"

namespace as2::cli {
namespace {

infer::PerceiverAndGuide open_torch(const EngineChoice& options, const infer::Card& card,
                                    std::shared_ptr<const compile::ConstraintProgram> program) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  return infer::perceiver_and_guide(card, std::move(program),
                                    parse_device(options.device.empty() ? "auto" : options.device));
}

}  // namespace

const Engine kTorchEngine{"torch", open_torch};

Action declare_demo_with_torch(CLI::App& command) {
  return declare_demo_on(command, {kNativeEngine, kTorchEngine});
}

Action declare_eval_with_torch(CLI::App& command) {
  return declare_eval_on(command, {kNativeEngine, kTorchEngine});
}

Action declare_predict_with_torch(CLI::App& command) {
  return declare_predict_on(command, {kNativeEngine, kTorchEngine});
}

Action declare_solve_with_torch(CLI::App& command) {
  return declare_solve_on(command, {kNativeEngine, kTorchEngine});
}

}  // namespace as2::cli
