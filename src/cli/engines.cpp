#include "cli/engines.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "as2/error.h"
#include "infer/open.h"
#include "native/networks.h"

namespace as2::cli {
namespace {

infer::PerceiverAndGuide open_native(const EngineChoice& options, const infer::Card& card,
                                     std::shared_ptr<const compile::ConstraintProgram> program) {
  native::EngineOptions engine;
  engine.threads = options.threads;
  if (options.megabytes > 0) engine.memory = static_cast<std::size_t>(options.megabytes) * 1000000;
  return native::perceiver_and_guide(std::make_shared<native::Networks>(card, std::move(program), engine));
}

}  // namespace

const Engine kNativeEngine{"native", open_native};

void declare_engine(CLI::App& command, EngineChoice& options) {
  command
      .add_option("--engine", options.name,
                  "What runs the networks: native, or torch (LibTorch) for comparison")
      ->check(CLI::IsMember({"native", "torch"}))
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Threads to use; all cores if not given")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command
      .add_option("--memory", options.megabytes,
                  "Megabytes the networks may take beyond their weights (engine native)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("MB");
  command.add_option("--device", options.device, "auto, cpu, cuda or cuda:N (engine torch)");
}

const Engine* find_engine(const std::vector<Engine>& engines, const EngineChoice& options) {
  if (options.megabytes > 0 && options.name != kNativeEngine.name)
    throw UsageError("--memory bounds the native engine, not LibTorch");
  if (!options.device.empty() && options.name == kNativeEngine.name)
    throw UsageError("--device says where LibTorch runs the networks; add --engine torch");
  const auto found = std::find_if(engines.begin(), engines.end(),
                                  [&](const Engine& engine) { return engine.name == options.name; });
  return found == engines.end() ? nullptr : &*found;
}

infer::Solver open_solver(const Engine& engine, const EngineChoice& options, const infer::Card& card,
                          std::shared_ptr<const compile::ConstraintProgram> program, bool with_guide) {
  infer::SolverOptions solver = options.solver;
  solver.threads = options.threads;
  return infer::make_solver(card, program, engine.open(options, card, program), with_guide, solver);
}

boards::OpenSolver opener(const Engine& engine, const EngineChoice& options) {
  return [=](const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program) {
    return open_solver(engine, options, card, std::move(program));
  };
}

}  // namespace as2::cli
