#include "cli/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>

#include "cli/verbs.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<BenchSubject> kSubjects = {
    {"decode", "The decoder beside clingo: boards a second, hard boards, large boards", bench_decode},
    {"misreading", "When as2 solve calls a board impossible: true boards refused, forged ones corrected",
     bench_misreading},
    {"solve", "Pictures of boards to answers: boards a second, share of each step, time to the first",
     bench_solve},
    {"tp", "Soft T_P: tuned kernels against LibTorch operations, growth, memory; on CUDA: beside a copy",
     bench_tp},
    {"train", "Training steps: boards a second, what each stage takes, growth with batch, passes and program",
     bench_train},
};

void print_table(const Json& result, std::ostream& out) {
  for (const auto& row : result["rows"]) {
    out << "  " << std::left << std::setw(58) << row["name"].get<std::string>() << std::right << std::setw(10)
        << std::setprecision(4) << row["value"].get<double>() << ' ' << std::left << std::setw(6)
        << row["unit"].get<std::string>();
    if (row.contains("target")) {
      out << (row["ok"].get<bool>() ? " ok, " : " NOT MET, ") << row["target"].get<std::string>();
    }
    out << '\n';
  }
}

}  // namespace

Json bench_row(const std::string& name, double value, const std::string& unit, const std::string& target,
               bool ok) {
  Json row{{"name", name}, {"value", value}, {"unit", unit}};
  if (!target.empty()) {
    row["target"] = target;
    row["ok"] = ok;
  }
  return row;
}

compile::ConstraintProgram bench_board(int box, int families, int boards, int extra_symbols) {
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

Action declare_bench(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> subjects;
    BenchOptions options;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  std::vector<std::string> names;
  std::string summary;
  for (const BenchSubject& subject : kSubjects) {
    names.emplace_back(subject.name);
    summary += std::string("  ") + subject.name + ": " + subject.summary + "\n";
  }
  command.add_option("subjects", arguments->subjects, "What to measure; all if none is named")
      ->check(CLI::IsMember(names))
      ->type_name("SUBJECT");
  command
      .add_option("--device", arguments->options.device,
                  "Where soft T_P and training run: auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command.add_flag("--json", arguments->json, "One JSON document");
  command.footer(summary);
  return [arguments] {
    Json results = Json::object();
    for (const BenchSubject& subject : kSubjects) {
      const auto& wanted = arguments->subjects;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), subject.name) == wanted.end()) continue;
      results[subject.name] = subject.measure(arguments->options);
      if (arguments->json) continue;
      std::cout << subject.name << '\n';
      print_table(results[subject.name], std::cout);
    }
    if (arguments->json) std::cout << results.dump() << '\n';
    return kDone;
  };
}

}  // namespace as2::cli
