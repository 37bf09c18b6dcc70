#include "cli/engines.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "as2/error.h"
#include "native/networks.h"

namespace as2::cli {
namespace {

infer::Solver open_native(const EngineOptions& options, const infer::Card& card,
                          std::shared_ptr<const compile::ConstraintProgram> program, bool with_guide) {
  infer::SolverOptions solver = options.solver;
  solver.threads = options.threads;
  native::EngineOptions engine;
  engine.threads = options.threads;
  if (options.megabytes > 0) engine.memory = static_cast<std::size_t>(options.megabytes) * 1000000;
  return native::open_solver(card, std::move(program), with_guide, solver, engine);
}

}  // namespace

const Engine kNativeEngine{"native", open_native};

void declare_engine(CLI::App& command, EngineOptions& options) {
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
}

const Engine* find_engine(const std::vector<Engine>& engines, const EngineOptions& options) {
  if (options.megabytes > 0 && options.name != kNativeEngine.name)
    throw UsageError("--memory bounds the native engine, not LibTorch");
  const auto found = std::find_if(engines.begin(), engines.end(),
                                  [&](const Engine& engine) { return engine.name == options.name; });
  return found == engines.end() ? nullptr : &*found;
}

boards::OpenSolver opener(const Engine& engine, const EngineOptions& options, bool with_guide) {
  return [=](const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program) {
    return engine.open(options, card, std::move(program), with_guide);
  };
}

}  // namespace as2::cli
