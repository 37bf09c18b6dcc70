// What runs the networks: our own kernels, which every program has, or LibTorch, which as2-tensor has.
#pragma once

#include <string>
#include <vector>

#include "boards/boards.h"
#include "cli/run.h"

namespace as2::cli {

struct EngineChoice {
  std::string name = "native";
  int threads = 0;              // 0: one per core
  infer::SolverOptions solver;  // but for its threads, which are these
  int megabytes = 0;            // that networks may take beyond their weights; 0: as many as they like to
  std::string device;           // of LibTorch; empty: a GPU where there is one
};

struct Engine {
  const char* name;
  infer::PerceiverAndGuide (*open)(const EngineChoice& options, const infer::Card& card,
                                   std::shared_ptr<const compile::ConstraintProgram> program);
};
extern const Engine kNativeEngine;
extern const Engine kTorchEngine;  // in as2_cli_tensor

// Declares --engine, --threads, --memory and --device.
void declare_engine(CLI::App& command, EngineChoice& options);
// The engine that the options name; null where this program lacks it, so that the verb has to be handed to
// as2-tensor, which has it.
const Engine* find_engine(const std::vector<Engine>& engines, const EngineChoice& options);
infer::Solver open_solver(const Engine& engine, const EngineChoice& options, const infer::Card& card,
                          std::shared_ptr<const compile::ConstraintProgram> program, bool with_guide = true);
boards::OpenSolver opener(const Engine& engine, const EngineChoice& options);

// The verbs on these engines; any other is left to as2-tensor.
Action declare_demo_on(CLI::App& command, const std::vector<Engine>& engines);
Action declare_eval_on(CLI::App& command, const std::vector<Engine>& engines);
Action declare_predict_on(CLI::App& command, const std::vector<Engine>& engines);
Action declare_solve_on(CLI::App& command, const std::vector<Engine>& engines);

}  // namespace as2::cli
