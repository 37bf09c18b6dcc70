// Every verb, one declaration each; the definition of `declare_X` is in X.cpp.
#pragma once

#include "cli/run.h"

namespace as2::cli {

Action declare_bench(CLI::App& command);
Action declare_check(CLI::App& command);
Action declare_check_shortcuts(CLI::App& command);  // shortcuts.cpp: as2-tensor's part of `check`
Action declare_data(CLI::App& command);
Action declare_decode(CLI::App& command);
Action declare_predict(CLI::App& command);
Action declare_predict_with_torch(CLI::App& command);  // torch_engine.cpp
Action declare_prob(CLI::App& command);
Action declare_serve(CLI::App& command);
Action declare_solve(CLI::App& command);
Action declare_solve_with_torch(CLI::App& command);  // torch_engine.cpp
Action declare_tp(CLI::App& command);
Action declare_verify(CLI::App& command);
Action declare_demo(CLI::App& command);
Action declare_demo_with_torch(CLI::App& command);  // torch_engine.cpp
Action declare_eval(CLI::App& command);
Action declare_eval_with_torch(CLI::App& command);  // torch_engine.cpp
Action declare_train(CLI::App& command);

}  // namespace as2::cli
