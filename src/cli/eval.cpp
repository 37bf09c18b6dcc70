// as2 eval: the tables of the paper, measured on boards or tuples that training never saw.
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "as2/error.h"
#include "cli/device.h"
#include "cli/verbs.h"
#include "eval/evaluate.h"
#include "eval/trained.h"
#include "sudoku/board_list.h"

namespace as2::cli {
namespace {

using nlohmann::json;

struct EvalArguments {
  std::string task, model, boards, clues, device = "auto", data_dir;
  std::vector<std::string> settings;
  std::int64_t count = 1000;
  std::uint64_t seed = 0;
  int refine = 10;
  bool no_clingo = false, pipeline = false, as_json = false, quiet = false, validation = false;
};

// `36` or `22-30`.
std::pair<int, int> parse_range(const std::string& text) {
  int low = 0, high = 0, used = 0;
  if (std::sscanf(text.c_str(), "%d-%d%n", &low, &high, &used) == 2 &&
      used == static_cast<int>(text.size()) && low <= high) {
    return {low, high};
  }
  if (std::sscanf(text.c_str(), "%d%n", &low, &used) == 1 && used == static_cast<int>(text.size()))
    return {low, low};
  throw UsageError("--clues " + text + ": expected a number or a range like 22-30");
}

train::Instances listed_boards(const EvalArguments& a, const train::Task& task) {
  std::vector<sudoku::Board> boards = sudoku::read_boards(a.boards), chosen;
  std::pair<int, int> range{0, 256};
  if (!a.clues.empty()) range = parse_range(a.clues);
  for (sudoku::Board& board : boards) {
    const int clues = sudoku::clue_count(board.puzzle);
    if (clues < range.first || clues > range.second) continue;
    if (a.count > 0 && static_cast<std::int64_t>(chosen.size()) >= a.count) break;
    if (board.solution.empty()) {
      if (const int solutions = sudoku::count_solutions(board.puzzle); solutions != 1)
        throw InputError(
            {a.boards},
            std::string(solutions == 0 ? "a board has no solution: " : "a board has several solutions: ") +
                sudoku::grid_text(board.puzzle),
            {"leave it out, or write the solution that counts behind it, after a comma"});
      board.solution = *sudoku::solve(board.puzzle);
    }
    chosen.push_back(std::move(board));
  }
  if (chosen.empty()) throw InputError({a.boards}, "has no board with that many clues");
  return task.of_boards(chosen);
}

void print_table(const json& result) {
  for (const char* part : {"given_clues", "perceived_clues"}) {
    if (!result.contains(part)) continue;
    std::printf("%s\n  %-15s %8s %8s %8s %8s\n", part[0] == 'g' ? "given clues" : "perceived clues", "",
                "cell", "board", "csr", "vcsr");
    for (const auto& [method, row] : result[part].items()) {
      std::printf("  %-15s", method.c_str());
      for (const char* measure : {"cell", "board", "csr", "vcsr"}) {
        if (row[measure].is_null())
          std::printf(" %8s", "–");
        else
          std::printf(" %8.2f", 100 * row[measure].get<double>());
      }
      std::printf("\n");
    }
  }
  for (const auto& [key, value] : result.items()) {
    if (!value.is_object()) std::printf("%s: %s\n", key.c_str(), value.dump().c_str());
  }
}

int evaluate(const EvalArguments& a) {
  const std::filesystem::path file =
      a.model.empty() ? eval::default_model(a.task) : std::filesystem::path(a.model);
  std::vector<std::string> settings = a.settings;
  if (!a.clues.empty()) {
    const auto [low, high] = parse_range(a.clues);
    settings.push_back("data.min_clues=" + std::to_string(low));
    settings.push_back("data.max_clues=" + std::to_string(high));
  }
  train::TaskOptions task_options;
  task_options.data_dir = a.data_dir;
  eval::EvaluateOptions options;
  if (!a.quiet)
    options.report = task_options.report = [](const std::string& text) { std::cerr << text << '\n'; };
  const eval::Trained trained = eval::load_trained(file, a.task, settings, task_options);
  const train::Config& config = trained.config;
  const train::Task& task = *trained.task;
  nn::Model& model = *trained.model;
  options.refine_steps = a.refine;
  options.certify = !a.no_clingo;
  options.pipeline = a.pipeline || config.preset == "pipeline";
  options.seed = a.seed;
  const torch::Device device = parse_device(a.device);
  options.part = a.validation ? train::Part::kValidation : train::Part::kTest;
  const train::Instances instances = a.boards.empty()                 ? task.instances(options.part, a.count)
                                     : config.data.source == "boards" ? listed_boards(a, task)
                                     : config.data.source == "tuples"
                                         ? task.read_tuples(a.boards, options.part)
                                         : task.read_instances(a.boards);
  json result;
  if (config.data.source == "images")
    result = eval::evaluate_pictures(model, task, instances, device, options);
  else if (config.data.source == "tuples")
    result = eval::evaluate_tuples(model, task, config, instances, device, options);
  else
    result = eval::evaluate_boards(model, task, config, instances, device, options);
  result["task"] = config.task;
  result["preset"] = config.preset;
  result["model"] = file.string();
  result["pictures"] = a.validation ? "validation" : "test";
  if (a.as_json)
    std::cout << result.dump() << '\n';
  else
    print_table(result);
  return kDone;
}

}  // namespace

Action declare_eval(CLI::App& command) {
  auto a = std::make_shared<EvalArguments>();
  command.add_option("task", a->task, "sudoku, addition, digits, or the name in a task's TOML file")
      ->required();
  command.add_option("--model", a->model,
                     "weights (.safetensors, with the card beside it); default: the shipped ones");
  command.add_option("--boards,--list", a->boards,
                     "a list of boards, tuples or examples; default: generated ones");
  command.add_option("--clues", a->clues, "boards with this many clues: 36, or 22-30");
  command.add_option("--count", a->count, "examples")->capture_default_str()->check(CLI::Range(1, 10000000));
  command.add_option("--seed", a->seed, "of the pictures drawn")->capture_default_str();
  command.add_option("--refine", a->refine, "steps of refinement")
      ->capture_default_str()
      ->check(CLI::Range(0, 10000));
  command.add_option("--set", a->settings, "any setting of the task")->allow_extra_args(false);
  command.add_option("--device", a->device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--data-dir", a->data_dir,
                     "folder of MNIST's idx files; default: $AS2_DATA, the cache, the network");
  command.add_flag("--validation", a->validation,
                   "pictures kept out of training instead of the test set: to choose between models by");
  command.add_flag("--no-clingo", a->no_clingo, "leave out clingo's certificate");
  command.add_flag("--pipeline", a->pipeline,
                   "also let clingo complete the boards from perception's argmax clues");
  command.add_flag("--quiet", a->quiet, "no progress");
  command.add_flag("--json", a->as_json, "one JSON document");
  return [a] { return evaluate(*a); };
}

}  // namespace as2::cli
