#include "bench/bench.h"

#include <algorithm>
#include <chrono>

namespace as2::bench {

using Json = nlohmann::ordered_json;

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> list = {
      {"decode", "The decoder beside clingo: boards per second, hard boards, large boards", measure_decode},
      {"misreading", "When as2 solve calls a board impossible: true boards refused, forged ones corrected",
       measure_misreading},
      {"photos", "Drawn photos that as2 solve gets right, by turn, perspective, light, size and typeface",
       measure_photos},
      {"prob",
       "Exact probabilities: tuned kernels against LibTorch operations, growth, each program's circuit",
       measure_prob},
      {"solve", "Pictures of boards to answers: boards per second, share of each step, time to the first",
       measure_solve},
      {"tp", "Soft T_P: tuned kernels against LibTorch operations, growth, memory; on CUDA: beside a copy",
       measure_tp},
      {"train",
       "Training steps: boards per second, what each stage takes, growth with batch, passes and program",
       measure_train},
  };
  return list;
}

Json row(const std::string& name, double value, const std::string& unit, const std::string& target, bool ok) {
  Json row{{"name", name}, {"value", value}, {"unit", unit}};
  if (!target.empty()) {
    row["target"] = target;
    row["ok"] = ok;
  }
  return row;
}

compile::ConstraintProgram board_program(int box, int families, int boards, int extra_symbols) {
  const int side = box * box, symbols = side + extra_symbols;
  compile::ConstraintProgram program;
  program.families.resize(static_cast<std::size_t>(families));
  compile::Position position;
  for (int s = 0; s < symbols; ++s) position.symbols.push_back(std::to_string(s));
  program.positions.assign(static_cast<std::size_t>(boards * side * side), position);
  for (int unit = 0; unit < families * boards * side; ++unit) {
    compile::Group group;
    group.family = unit / (boards * side);
    const int first = unit / side % boards * side * side;  // of its board
    compile::Slots slots(static_cast<std::size_t>(symbols));
    const int n = unit % side;
    for (int k = 0; k < side; ++k) {
      const int boxed = (n / box * box + k / box) * side + n % box * box + k % box;
      const int cell = first + (group.family == 0 ? n * side + k : group.family == 1 ? k * side + n : boxed);
      group.positions.push_back(cell);
      for (int s = 0; s < symbols; ++s) slots[s].members.push_back({cell, {s}});
    }
    group.content = std::move(slots);
    program.groups.push_back(std::move(group));
  }
  return program;
}

double best_seconds(const std::function<void()>& call, double enough) {
  using Clock = std::chrono::steady_clock;
  call();
  double best = 0, total = 0;
  for (int calls = 0; calls < 5 || (total < enough && calls < 100); ++calls) {
    const auto start = Clock::now();
    call();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = calls == 0 ? seconds : std::min(best, seconds);
    total += seconds;
  }
  return best;
}

}  // namespace as2::bench
