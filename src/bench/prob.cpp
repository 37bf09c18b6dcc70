// Exact probabilities: the tuned evaluation against the same circuit composed of LibTorch operations, how
// addition by columns grows with its digits, what each shipped program's circuit costs, and how far soft T_P
// is from the circuit where it is not exact.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include "as2/circuit_operator.h"
#include "as2/compile.h"
#include "as2/probability.h"
#include "as2/resources.h"
#include "as2/soft_tp.h"
#include "bench/bench.h"
#include "compile/support.h"
#include "task/config.h"

namespace as2::bench {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;
using prob_tensor::CircuitOperator;
using prob_tensor::Evaluation;

constexpr double kAskedCircuitSpeedup = 5;
constexpr double kAskedCircuitGrowth = 2.1;  // for twice the digits
constexpr double kProgramSeconds = 5;        // budget of a shipped program's circuit
constexpr int kErrorRows = 32;

// x + y = z, column by column with carries, as programs/multi_digit_addition.lp compiles. Built here, so that
// a measurement needs no grounder.
ConstraintProgram addition_by_columns(int digits) {
  ConstraintProgram program;
  program.families.resize(2);
  const auto add = [&](int symbols) {
    compile::Position position;
    for (int s = 0; s < symbols; ++s) position.symbols.push_back(std::to_string(s));
    program.positions.push_back(std::move(position));
    return static_cast<int>(program.positions.size()) - 1;
  };
  int carry = add(2);
  compile::Group first;
  first.positions = {carry};
  first.content = compile::Nogoods{{{{carry, {1}}}}};
  program.groups.push_back(std::move(first));
  for (int column = 0; column < digits; ++column) {
    const int x = add(10), y = add(10), z = add(10), next = add(2);
    compile::Aggregate aggregate;
    aggregate.positions = {carry, x, y, z, next};
    const std::vector<std::int64_t> up = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    std::vector<std::int64_t> down;
    for (const std::int64_t value : up) down.push_back(-value);
    aggregate.values = {{0, 1}, up, up, down, {0, -10}};
    aggregate.min = -19;
    aggregate.max = 19;
    compile::Group group;
    group.family = 1;
    group.positions = aggregate.positions;
    group.content = compile::Linears{{static_cast<int>(program.aggregates.size()), -1, {{{{0, 0}}}}}};
    program.aggregates.push_back(std::move(aggregate));
    program.groups.push_back(std::move(group));
    carry = next;
  }
  return program;
}

torch::Tensor some_weights(const prob::Circuit& circuit, std::int64_t batch) {
  return (torch::sin(torch::arange(batch * circuit.inputs()) * 1.37) * 0.45 + 0.5)
      .view({batch, circuit.inputs()});
}

struct CircuitStep {
  torch::Tensor values, gradient;
};

CircuitStep step(const CircuitOperator& function, const torch::Tensor& weights) {
  const torch::Tensor w = weights.detach().requires_grad_(true);
  const torch::Tensor values = function.log_value(w);
  return {values.detach(), torch::autograd::grad({values.sum()}, {w})[0]};
}

void require_same(const CircuitStep& a, const CircuitStep& b) {
  if (!torch::allclose(a.values, b.values.to(a.values.device()), 1e-4, 1e-4) ||
      !torch::allclose(a.gradient, b.gradient.to(a.gradient.device()), 1e-3, 1e-4)) {
    throw std::runtime_error("bench prob: two evaluations of one circuit differ");
  }
}

void add_evaluation_rows(torch::Device device, Json& rows) {
  const ConstraintProgram program = addition_by_columns(15);
  const prob::Circuit circuit = prob::compile_circuit(program);
  const CircuitOperator fused(circuit, program), composed(circuit, program, {}, Evaluation::kComposed);
  const torch::Tensor weights = some_weights(circuit, 256).to(device);
  require_same(step(fused, weights), step(composed, weights));
  require_same(step(fused, weights.cpu()), step(fused, weights));
  const auto timed = [&](const CircuitOperator& function) {
    return best_seconds([&] {
      step(function, weights);
      if (device.is_cuda()) torch::cuda::synchronize(device.index());
    });
  };
  const double tuned = timed(fused), plain = timed(composed);
  rows.push_back(row("addition, 15 digits, batch 256: LibTorch operations / tuned", plain / tuned, "x",
                     "at least 5", plain / tuned >= kAskedCircuitSpeedup));
  rows.push_back(row("addition, 15 digits, batch 256: tuned, value and gradient", tuned * 1e3, "ms"));
}

void add_growth_rows(Json& rows) {
  double edges[2], seconds[2];
  for (const int twice : {0, 1}) {
    const ConstraintProgram program = addition_by_columns(twice ? 100 : 50);
    const prob::Circuit circuit = prob::compile_circuit(program);
    // Every pair of numbers has one sum.
    if (prob::count_answers(circuit) != "1" + std::string(twice ? 200 : 100, '0'))
      throw std::runtime_error("bench prob: wrong number of additions");
    const CircuitOperator fused(circuit, program);
    const torch::Tensor weights = some_weights(circuit, 64);
    edges[twice] = static_cast<double>(circuit.children.size());
    seconds[twice] = best_seconds([&] { step(fused, weights); }, 0.3);
  }
  rows.push_back(row("addition, 100 digits: edges", edges[1], "edges"));
  rows.push_back(row("addition, 100 digits against 50: edges", edges[1] / edges[0], "x", "at most 2.1",
                     edges[1] / edges[0] <= kAskedCircuitGrowth));
  rows.push_back(row("addition, 100 digits against 50: time", seconds[1] / seconds[0], "x"));
}

std::vector<std::filesystem::path> shipped_programs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir() / "programs")) {
    if (entry.path().extension() == ".as2c") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The patterns of what the shipped tasks observe, per compiled program.
std::map<std::string, std::set<std::string>> observed_patterns() {
  std::map<std::string, std::set<std::string>> patterns;
  for (const auto& folder : std::filesystem::directory_iterator(data_dir() / "tasks")) {
    const std::string name = folder.path().filename().string();
    if (!folder.is_directory() || !std::filesystem::exists(data_dir() / "tasks" / (name + ".toml"))) continue;
    for (const auto& preset : std::filesystem::directory_iterator(folder)) {
      if (preset.path().extension() != ".toml") continue;
      task::Settings settings = task::layered_settings(name, preset.path().stem().string(), {});
      const std::filesystem::path compiled = settings.text("program.compiled", "");
      for (const std::string& pattern : settings.texts("labels.observed", {}))
        patterns[compiled.stem().string()].insert(pattern);
    }
  }
  return patterns;
}

void add_program_rows(const std::string& name, const ConstraintProgram& program,
                      const std::set<std::string>& observed, Json& rows) {
  std::vector<int> nodes;
  for (const std::string& pattern : observed) {
    if (pattern.find('*') != std::string::npos) continue;  // positions, which need no indicator
    for (const auto& [atom, about] : prob::matching_atoms(program, pattern))
      prob::collect_nodes(about, nodes);
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    prob::Budget budget;
    budget.seconds = kProgramSeconds;
    const prob::Circuit circuit = prob::compile_circuit(program, nodes, budget);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    rows.push_back(row(name + ": compiled in", seconds * 1e3, "ms"));
    rows.push_back(row(name + ": circuit", static_cast<double>(circuit.children.size()), "edges"));
  } catch (const prob::CircuitTooLarge&) {
    rows.push_back(row(name + ": no circuit within", kProgramSeconds, "s"));
  }
}

// Soft T_P's factor P(holds | position = symbol) of one derived constraint against the circuit's, at beliefs
// from near uniform to near certain.
void add_errors(ConstraintProgram program, const compile::Group& group, const compile::DerivedNogood& nogood,
                std::vector<double>& errors) {
  compile::Group alone = group;
  alone.positions = compile::SupportFinder(program).positions_of(nogood.body);
  alone.content = compile::DerivedNogoods{nogood};
  program.groups = {alone};
  program.objectives.clear();
  const tp::SoftTp soft(program);
  const prob::Circuit circuit = prob::compile_circuit(program);
  const auto options = torch::TensorOptions(torch::kFloat64);
  const torch::Tensor logits =
      torch::sin(torch::arange(kErrorRows * soft.positions() * soft.symbols(), options) * 1.37)
          .view({kErrorRows, soft.positions(), soft.symbols()}) *
      torch::linspace(0.1, 6, kErrorRows, options).view({kErrorRows, 1, 1});
  const torch::Tensor beliefs = logits.masked_fill(soft.mask(logits).logical_not(), -1e9).softmax(-1);
  const torch::Tensor factors = soft.leave_one_out(beliefs).select(1, alone.family).contiguous();
  for (int b = 0; b < kErrorRows; ++b) {
    const double* p = beliefs[b].data_ptr<double>();
    const prob::Weights weights(p, p + soft.positions() * soft.symbols());
    const prob::Evaluated exact = prob::evaluate(circuit, {weights});
    for (const int position : alone.positions) {
      for (std::size_t s = 0; s < program.positions[position].symbols.size(); ++s) {
        const int input = circuit.input(position, static_cast<int>(s));
        const double truth = std::exp(exact.log_derivative[input]);
        errors.push_back(std::abs(factors[b].data_ptr<double>()[input] - truth));
      }
    }
  }
}

void add_soft_tp_rows(const std::string& name, const ConstraintProgram& program, Json& rows) {
  std::vector<std::vector<double>> errors(program.families.size());
  for (const compile::Group& group : program.groups) {
    const auto* nogoods = std::get_if<compile::DerivedNogoods>(&group.content);
    if (!nogoods) continue;
    for (const compile::DerivedNogood& nogood : *nogoods)
      add_errors(program, group, nogood, errors[group.family]);
  }
  for (std::size_t f = 0; f < errors.size(); ++f) {
    if (errors[f].empty()) continue;
    double sum = 0;
    for (const double error : errors[f]) sum += error;
    const std::string which = "soft T_P, " + name + ", " + program.families[f].name + ": ";
    rows.push_back(row(which + "mean error", sum / static_cast<double>(errors[f].size()), "p"));
    rows.push_back(row(which + "greatest error", *std::max_element(errors[f].begin(), errors[f].end()), "p"));
  }
}

}  // namespace

Json measure_prob(const Options& options, const ReportStep&) {
  const torch::Device device = options.device;
  Json rows = Json::array();
  add_evaluation_rows(device, rows);
  add_growth_rows(rows);
  std::vector<std::pair<std::string, ConstraintProgram>> programs;
  for (const auto& file : shipped_programs()) {
    programs.emplace_back(file.stem().string(), compile::compile_files({file.string()}).program);
  }
  auto observed = observed_patterns();
  for (const auto& [name, program] : programs) add_program_rows(name, program, observed[name], rows);
  for (const auto& [name, program] : programs) add_soft_tp_rows(name, program, rows);
  return {{"threads", at::get_num_threads()}, {"device", device.str()}, {"rows", rows}};
}

}  // namespace as2::bench
