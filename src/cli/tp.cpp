// as2 tp: soft T_P's image, residual, loss and gradient at given beliefs, in float64.
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "as2/compile.h"
#include "as2/soft_tp.h"
#include "cli/beliefs.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "text.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;

struct TpArguments {
  std::shared_ptr<ProgramOptions> program;
  std::string beliefs;
  std::string reduction = "mean";
  int refine = 0;
  bool json = false;
};

// `values` is [positions, symbols].
Json by_position(const ConstraintProgram& program, const torch::Tensor& values) {
  const torch::Tensor flat = values.detach().contiguous();
  const double* entry = flat.data_ptr<double>();
  Json json = Json::object();
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    Json& row = json[program.positions[i].name] = Json::object();
    for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s) {
      row[program.positions[i].symbols[s]] = entry[i * static_cast<std::size_t>(flat.size(1)) + s];
    }
  }
  return json;
}

// `values` is [families, positions, symbols].
Json by_family(const ConstraintProgram& program, const torch::Tensor& values) {
  Json json = Json::object();
  for (std::size_t f = 0; f < program.families.size(); ++f) {
    json[program.families[f].name] = by_position(program, values[static_cast<std::int64_t>(f)]);
  }
  return json;
}

Json answer(const ConstraintProgram& program, const tp::SoftTp& soft, const decode::Beliefs& beliefs,
            const TpArguments& arguments) {
  torch::Tensor p = torch::tensor(beliefs, torch::kFloat64).view({1, soft.positions(), soft.symbols()});
  p.set_requires_grad(true);
  const torch::Tensor loss =
      soft.loss(p, arguments.reduction == "sum" ? tp::Reduction::kSum : tp::Reduction::kMean);
  if (loss.requires_grad()) loss.backward();
  const torch::Tensor gradient = p.grad().defined() ? p.grad()[0] : torch::zeros_like(p[0]);
  const torch::NoGradGuard no_gradient;
  Json json{{"loss", loss.item<double>()},
            {"reduction", arguments.reduction},
            {"max_residual", soft.max_residual(p).item<double>()},
            {"image", by_family(program, soft.image(p)[0])},
            {"residual", by_family(program, soft.residual(p)[0])},
            {"gradient", by_position(program, gradient)}};
  if (!program.objectives.empty()) {
    const torch::Tensor cost = soft.expected_cost(p)[0].contiguous();
    json["expected_cost"] =
        std::vector<double>(cost.data_ptr<double>(), cost.data_ptr<double>() + cost.numel());
  }
  if (arguments.refine > 0) json["refined"] = by_position(program, soft.refine(p, arguments.refine)[0]);
  return json;
}

// Prints the loss and, for each family, the position and symbol with the largest residual.
void print_answer(const Json& json, std::ostream& out) {
  if (json.contains("error")) {
    out << json["error"].get<std::string>() << '\n';
    return;
  }
  out << "loss " << in_digits(json["loss"]) << " (" << json["reduction"].get<std::string>()
      << "), largest residual " << in_digits(json["max_residual"]) << '\n';
  for (const auto& [family, positions] : json["residual"].items()) {
    double largest = 0;
    std::string where;
    for (const auto& [position, symbols] : positions.items()) {
      for (const auto& [symbol, value] : symbols.items()) {
        if (value.get<double>() <= largest) continue;
        largest = value.get<double>();
        where = position + " = " + symbol;
      }
    }
    out << "  " << family << ": " << (where.empty() ? "0" : std::to_string(largest) + " at " + where) << '\n';
  }
  if (!json.contains("refined")) return;
  out << "refined:\n";
  for (const auto& [position, symbols] : json["refined"].items()) {
    double best = -1;
    std::string read;
    for (const auto& [symbol, value] : symbols.items()) {
      if (value.get<double>() > best) {
        best = value.get<double>();
        read = symbol;
      }
    }
    out << "  " << position << " = " << read << " (p = " << best << ")\n";
  }
}

// A residual stands at a position. Without any, it could not say that the program is violated, and a loss of
// 0 would say the opposite.
void refuse_silent_violation(const ConstraintProgram& program) {
  if (!program.positions.empty() || program.groups.empty()) return;
  const compile::Family& family = program.families[static_cast<std::size_t>(program.groups.front().family)];
  throw InputError(family.location,
                   "`" + family.name + "` is violated, and nothing is chosen that a residual could stand at",
                   {"a choice, such as `{ a; b } = 1.`, gives the program positions"});
}

int evaluate(const TpArguments& arguments) {
  const ConstraintProgram program = arguments.program->compile(arguments.beliefs).program;
  refuse_silent_violation(program);
  const tp::SoftTp soft(program);
  int code = kDone;
  BeliefsReader reader(arguments.beliefs, program);
  for (auto entries = reader.some(); !entries.empty(); entries = reader.some()) {
    for (const BeliefsEntry& entry : entries) {
      for (const std::string& warning : entry.warnings) std::cerr << warning << '\n';
      const bool good = entry.error.empty();
      const Json json = good ? answer(program, soft, entry.beliefs, arguments) : Json{{"error", entry.error}};
      if (!good) code = kInputAtFault;
      if (arguments.json) {
        print_document(json);
      } else {
        print_answer(json, std::cout);
      }
    }
    flush_output();
  }
  return code;
}

}  // namespace

Action declare_tp(CLI::App& command) {
  auto arguments = std::make_shared<TpArguments>();
  arguments->program = declare_program(command);
  declare_beliefs(command, arguments->beliefs);
  command.add_option("--refine", arguments->refine, "Also refine the beliefs, at most K times (Eq. 6)")
      ->check(whole_number_from(0))
      ->type_name("K");
  command
      .add_option("--reduction", arguments->reduction,
                  "mean: over residual terms; sum: the paper's literal form")
      ->check(CLI::IsMember({"mean", "sum"}))
      ->capture_default_str();
  command.add_flag("--json", arguments->json, "One JSON document per input document, one per line");
  return [arguments] { return evaluate(*arguments); };
}

}  // namespace as2::cli
