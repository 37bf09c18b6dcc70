// as2 eval: the tables of the paper, measured on boards or tuples that training never saw.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "as2/error.h"
#include "cli/engines.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "eval/evaluate.h"
#include "eval/trained.h"
#include "infer/card.h"
#include "infer/open.h"
#include "json_text.h"
#include "task/drawing.h"
#include "task/sources.h"

namespace as2::cli {
namespace {

using nlohmann::json;

struct EvalArguments {
  std::string task, model, boards, clues, data_dir;
  std::vector<std::string> settings;
  EngineChoice engine;
  std::optional<std::int64_t> count;
  std::optional<std::uint64_t> seed;
  std::optional<int> refine, passes;
  int restarts = 1;
  GroundingLimits grounding;
  bool no_clingo = false, pipeline = false, as_json = false, quiet = false, validation = false;
};

// `36` or `22-30`.
std::pair<int, int> parse_range(const std::string& text) {
  int low = 0, high = 0, used = 0;
  if (std::sscanf(text.c_str(), "%d-%d%n", &low, &high, &used) == 2 &&
      used == static_cast<int>(text.size()) && 0 <= low && low <= high) {
    return {low, high};
  }
  if (std::sscanf(text.c_str(), "%d%n", &low, &used) == 1 && used == static_cast<int>(text.size()) &&
      low >= 0)
    return {low, low};
  throw UsageError("--clues " + text + ": expected a number or a range like 22-30");
}

// Flags that the task's examples have no use for are mistakes, not wishes.
void refuse_flags(const EvalArguments& a, const task::Task& task, const infer::PerceiverAndGuide& networks) {
  const task::Source& source = task::source_of(task.config().data.source);
  const auto refuse = [&](const std::string& flag, const std::string& why) {
    throw UsageError(flag + " does not apply: " + why);
  };
  if (!a.data_dir.empty() && !task::reads_mnist(task.config()))
    refuse("--data-dir", "the task '" + a.task + "' reads no picture of MNIST");
  const std::string kind = "examples of the task '" + a.task + "' are " + source.name;
  if (a.pipeline && !networks.perceiver) refuse("--pipeline", "the model has no perception");
  if (a.restarts > 1 && !networks.guide) refuse("--restarts", "the model has no reasoner");
  if (source.figures == task::Figures::kBoards) return;
  if (a.restarts > 1) refuse("--restarts", kind + ", of which no figures of restarts are given");
  if (a.pipeline) refuse("--pipeline", kind + ", which clingo does not complete");
  if (a.refine) refuse("--refine", kind + ", of which no refined figures are given");
  if (a.no_clingo) refuse("--no-clingo", kind + ", whose figures clingo does not certify");
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
    if (!value.is_object()) std::printf("%s: %s\n", key.c_str(), json_text(value).c_str());
  }
}

// Before --clues becomes settings that nobody wrote.
void refuse_clues(const EvalArguments& a, const std::filesystem::path& weights) {
  const std::filesystem::path file = infer::settings_path(weights);
  if (std::error_code none; !std::filesystem::exists(file, none)) return;
  task::Settings settings;
  settings.add_file(file.string());
  for (const std::string& setting : a.settings) settings.add_override(setting);
  const std::string source = settings.choice("data.source", "boards", task::source_names());
  if (!task::source_of(source).uses("min_clues"))
    throw UsageError("--clues does not apply: examples of the task '" + a.task + "' are " + source);
}

// Whose pictures were read.
const char* pictures_of(const EvalArguments& a, const task::TaskConfig& config) {
  if (config.images.source == task::kNamedPictures) return a.boards.empty() ? "validation" : "listed";
  return a.validation ? "validation" : "test";
}

int evaluate(const EvalArguments& a, const Engine& engine) {
  constexpr std::int64_t kCount = 1000;
  const std::string name = task::name_of_task(a.task);
  const std::filesystem::path file =
      a.model.empty() ? infer::default_model(name) : infer::find_model(a.model);
  std::vector<std::string> settings = a.settings;
  for (const std::string& setting : settings) {
    if (setting.rfind("model.reasoner.eval_passes=", 0) == 0)
      throw UsageError("--set model.reasoner.eval_passes: of a trained model the passes are --passes N");
  }
  task::ListOptions list;
  list.count = a.count.value_or(kCount);
  if (!a.clues.empty()) {
    refuse_clues(a, file);
    const auto [low, high] = parse_range(a.clues);
    list.min_clues = low;
    list.max_clues = high;
    settings.push_back("data.min_clues=" + std::to_string(low));
    settings.push_back("data.max_clues=" + std::to_string(high));
  }
  if (a.passes) settings.push_back("model.reasoner.eval_passes=" + std::to_string(*a.passes));
  task::TaskOptions task_options;
  task_options.data_dir = a.data_dir;
  task_options.grounding = a.grounding.options();
  eval::EvaluateOptions options;
  if (!a.quiet)
    options.report = task_options.report = [](const std::string& text) { std::cerr << text << '\n'; };
  const eval::Trained trained = eval::load_trained(file, name, settings, task_options);
  if (!trained.warning.empty()) std::cerr << "warning: " << trained.warning << '\n';
  const task::Task& task = *trained.task;
  infer::PerceiverAndGuide networks = engine.open(a.engine, trained.card, task.shared_program());
  refuse_flags(a, task, networks);
  infer::check_restarts(trained.card, networks.guide.get(), a.restarts);
  if (a.refine) options.refine_steps = *a.refine;
  options.restarts = a.restarts;
  options.certify = !a.no_clingo;
  options.pipeline = a.pipeline || trained.card.preset == "pipeline";
  options.seed = a.seed.value_or(0);
  options.threads = a.engine.threads;
  options.part = list.part = a.validation ? task::Part::kValidation : task::Part::kTest;
  task::Instances instances =
      a.boards.empty()
          ? task.instances(options.part, list.count)
          : task.supervised(task::source_of(task.config().data.source).read(task, a.boards, list),
                            options.part);
  if (a.count && *a.count < instances.size()) instances = instances.slice(0, *a.count);
  if (a.seed && !(networks.perceiver && task::draws_pictures(instances, task.pictures())))
    throw UsageError("--seed does not apply: no picture is drawn, each example names its own or has none");
  json result = eval::evaluate(networks, task, instances, options);
  result["task"] = trained.card.task;
  result["preset"] = trained.card.preset;
  result["model"] = file.string();
  result["pictures"] = pictures_of(a, task.config());
  if (a.as_json)
    print_document(result);
  else
    print_table(result);
  return kDone;
}

}  // namespace

Action declare_eval(CLI::App& command) {
  return declare_eval_on(command, {kNativeEngine});
}

Action declare_eval_on(CLI::App& command, const std::vector<Engine>& engines) {
  auto a = std::make_shared<EvalArguments>();
  command.add_option("task", a->task, "sudoku, addition, digits, … or a task's TOML file or the name in it")
      ->required();
  command.add_option("--model", a->model,
                     "weights (.safetensors, with the card beside it), the folder of a run, or the name of a "
                     "shipped model; default: the shipped ones");
  command.add_option("--boards,--list", a->boards,
                     "a list of boards, tuples or examples; default: generated ones");
  command.add_option("--clues", a->clues, "boards with this many clues: 36, or 22-30");
  command.add_option("--count", a->count, "examples at most; default: 1000, or all of a list of lines")
      ->check(CLI::Range(1, 10000000));
  command.add_option("--seed", a->seed, "seed of the pictures drawn; default: 0")->check(a_seed());
  command.add_option("--refine", a->refine, "steps of refinement; default: 10")->check(CLI::Range(0, 10000));
  command
      .add_option("--passes", a->passes, "the most passes of the reasoner; default: eval_passes of its card")
      ->check(CLI::Range(1, 1000000));
  command
      .add_option(
          "--restarts", a->restarts,
          "the most trajectories of the reasoner, from different noise; the one that the rules object "
          "to least answers")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command.add_option("--set", a->settings,
                     "a setting of the task's program, images, labels or data, or of the network "
                     "model.reasoner.residual_tolerance and decided");
  declare_engine(command, a->engine);
  command.add_option("--data-dir", a->data_dir,
                     "folder of MNIST's idx files; default: $AS2_DATA, the cache, the network");
  declare_grounding(command, a->grounding);
  command.add_flag("--validation", a->validation,
                   "use the pictures kept out of training instead of the test set, to choose between models");
  command.add_flag("--no-clingo", a->no_clingo, "leave out clingo's certificate");
  command.add_flag("--pipeline", a->pipeline,
                   "also let clingo complete the boards from perception's argmax clues");
  command.add_flag("--quiet", a->quiet, "no progress");
  command.add_flag("--json", a->as_json, "one JSON document");
  command.footer("docs/TASKS.md says what each figure is (\"What eval measures\").");
  return [a, engines] {
    const Engine* engine = find_engine(engines, a->engine);
    return engine ? evaluate(*a, *engine) : continue_in_tensor_program();
  };
}

}  // namespace as2::cli
