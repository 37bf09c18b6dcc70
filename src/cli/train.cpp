// as2 train: one run per seed, each in its own folder.
#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "as2/error.h"
#include "cli/device.h"
#include "cli/interrupt.h"
#include "cli/local_workers.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/seeds.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "files.h"
#include "json_text.h"
#include "peak_memory.h"
#include "text.h"
#include "train/device_memory.h"
#include "train/folder_lock.h"
#include "train/shortcuts.h"
#include "train/trainer.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct TrainArguments {
  std::string task, preset, device = "auto", out, resume, data_dir, seeds, perception, reasoner, start;
  std::vector<std::string> settings;
  std::optional<double> time_budget, rate;
  std::optional<std::int64_t> seed, epochs, batch;
  int workers = 1;
  GroundingLimits grounding;
  bool quiet = false, as_json = false, no_graph = false, tensorboard = false;
};

std::string clock_time(double seconds) {
  char text[32];
  const long whole = std::lround(seconds);
  std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

// Shows a bar on a terminal; elsewhere one line per validation.
class Report {
 public:
  explicit Report(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

  void progress(const train::Progress& p) const {
    if (quiet_ || !terminal_) return;
    constexpr int width = 24;
    const int filled = static_cast<int>(width * p.fraction);
    std::string bar;
    for (int n = 0; n < width; ++n) bar += n < filled ? "█" : "·";
    const double left = p.fraction > 0 ? p.seconds * (1 - p.fraction) / p.fraction : 0;
    std::fprintf(stderr, "\r%s %3.0f%%  epoch %lld  loss %.4f  score %.4f  %.0f/s  %s left \033[K",
                 bar.c_str(), 100 * p.fraction, static_cast<long long>(p.epoch), p.loss, p.score,
                 p.examples_per_second, clock_time(left).c_str());
  }

  void record(const json& line) const {
    if (quiet_) return;
    const std::string scored = line["validation"]["scored"];
    std::fprintf(
        stderr, "%sepoch %lld  step %lld  %s  loss %.5f  rate %.2e  %.0f/s  score %.4f%s%s\n",
        terminal_ ? "\r\033[K" : "", line["epoch"].get<long long>(), line["step"].get<long long>(),
        clock_time(line["seconds"]).c_str(), line["loss"].get<double>(), line["learning_rate"].get<double>(),
        line["examples_per_second"].get<double>(), line["validation"]["score"].get<double>(),
        scored == "labels" ? "" : (" (" + scored + ")").c_str(), line.contains("best") ? "  best" : "");
  }

  // `all`: examples kept for validation, of which a time budget may leave room for fewer.
  void validation(std::int64_t done, std::int64_t of, std::int64_t all) {
    if (quiet_) return;
    if (terminal_) {
      std::fprintf(stderr, "\rvalidating %lld/%lld \033[K", static_cast<long long>(done),
                   static_cast<long long>(of));
    }
    if (done < of || of >= all || sized_) return;
    sized_ = true;
    say("validating on " + std::to_string(of) + " of " + std::to_string(all) +
        " examples: what a tenth of the time budget has room for");
  }

  void say(const std::string& text) const {
    if (!quiet_) warn(text);
  }

  // Whatever is quiet: what a user must not miss.
  void warn(const std::string& text) const { std::cerr << (terminal_ ? "\r\033[K" : "") << text << '\n'; }

 private:
  bool quiet_, terminal_, sized_ = false;
};

std::string ended_text(train::Ended ended) {
  switch (ended) {
    case train::Ended::kEpochs:
      return "done, all epochs trained: ";
    case train::Ended::kTimeBudget:
      return "done, the time budget is spent: ";
    case train::Ended::kStopAt:
      return "done, validation reached train.stop_at: ";
    case train::Ended::kInterrupted:
      return "stopped; continue with: as2 train --resume ";
  }
  return "";
}

// As a shell would have to be given it.
std::string quoted(const std::string& word) {
  const bool plain = word.find_first_of(" \t\"'\\$`*?[]{}()<>|&;#~!") == std::string::npos;
  return plain ? word : "'" + word + "'";
}

std::string command_line(const TrainArguments& a) {
  std::string text = a.resume.empty() ? "as2 train " + a.task : "as2 train --resume " + quoted(a.resume);
  if (!a.preset.empty()) text += " --preset " + a.preset;
  if (a.resume.empty()) text += " --seed " + std::to_string(a.seed.value_or(0));
  if (a.time_budget) text += " --time-budget " + json_text(json(*a.time_budget));
  if (a.rate) text += " --lr " + json_text(json(*a.rate));
  if (a.epochs) text += " --epochs " + std::to_string(*a.epochs);
  if (a.batch) text += " --batch " + std::to_string(*a.batch);
  if (!a.perception.empty()) text += " --perception " + fs::path(a.perception).filename().string();
  if (!a.reasoner.empty()) text += " --reasoner " + fs::path(a.reasoner).filename().string();
  if (!a.start.empty()) text += " --start " + fs::path(a.start).filename().string();
  for (const std::string& setting : a.settings) text += " --set " + quoted(setting);
  return text;
}

// The settings given on the command line.
std::vector<std::string> overrides_of(const TrainArguments& a) {
  std::vector<std::string> overrides;
  if (a.time_budget) overrides.push_back("train.time_budget=" + json_text(json(*a.time_budget)));
  if (a.rate) overrides.push_back("train.rate=" + json_text(json(*a.rate)));
  if (a.epochs) overrides.push_back("train.epochs=" + std::to_string(*a.epochs));
  if (a.batch) overrides.push_back("train.batch=" + std::to_string(*a.batch));
  if (!a.perception.empty())
    overrides.push_back("perception_from=\"" + fs::absolute(a.perception).string() + "\"");
  if (!a.reasoner.empty()) overrides.push_back("reasoner_from=\"" + fs::absolute(a.reasoner).string() + "\"");
  if (!a.start.empty()) overrides.push_back("start_from=\"" + fs::absolute(a.start).string() + "\"");
  if (a.no_graph) overrides.emplace_back("train.graph=false");
  if (a.seed) overrides.push_back("seed=" + std::to_string(*a.seed));
  overrides.insert(overrides.end(), a.settings.begin(), a.settings.end());
  return overrides;
}

fs::path config_file(const TrainArguments& a) {
  return fs::path(a.resume) / "config.toml";
}

// The configuration of the run to be resumed.
std::string read_resumed(const TrainArguments& a) {
  if (std::error_code none; !fs::exists(a.resume, none)) {
    throw InputError({a.resume}, "there is no such folder",
                     {"--resume continues the run in the folder it names"});
  }
  if (!fs::is_regular_file(config_file(a)) ||
      !fs::is_regular_file(fs::path(a.resume) / "state.safetensors")) {
    throw InputError({a.resume}, "is not the folder of a run: it needs config.toml and state.safetensors",
                     {"`as2 train TASK --out FOLDER` starts a run; its state is saved every minute and at "
                      "the end"});
  }
  return read_file(config_file(a));
}

// The settings of a run's configuration, with the command line's over them.
train::Settings resumed_settings(const TrainArguments& a, const std::string& configuration) {
  const std::string file = config_file(a).string();
  train::Settings settings;
  settings.add_text(configuration, file);
  const auto name = [&] { return settings.text("name", ""); };
  const auto preset = [&] { return settings.text("preset", ""); };
  const auto seed = [&] { return std::to_string(settings.integer("seed", 0, 0, INT64_MAX)); };
  const std::string was_name = name(), was_preset = preset(), was_seed = seed();
  for (const char* source : {"perception_from", "reasoner_from", "start_from"})
    settings.set(source, "");  // the resumed state holds the weights already
  for (const std::string& setting : overrides_of(a)) settings.add_override(setting);
  // Repeating what the run was started with is allowed; changing it is not.
  const auto same = [&](const std::string& option, const std::string& said, const std::string& was) {
    if (!said.empty() && said != was)
      throw InputError({file}, "the run's " + option + " is " + was + ", not " + said,
                       {"start a new run for another " + option});
  };
  same("task", fs::path(a.task).stem().string(), was_name);
  same("task", name(), was_name);
  same("preset", fs::path(a.preset).stem().string(), was_preset);
  same("preset", preset(), was_preset);
  same("seed", seed(), was_seed);
  return settings;
}

// Fails before the work if the folder cannot be made, not after it.
void require_folder(fs::path folder) {
  folder = fs::absolute(folder);
  std::error_code none;
  while (!fs::exists(folder, none)) folder = folder.parent_path();
  if (!fs::is_directory(folder) || access(folder.c_str(), W_OK) != 0)
    throw InputError({folder.string()}, "the run's folder cannot be made here",
                     {"give --out a folder that can be written to"});
}

// A run is hours of work: another run never replaces it unasked.
void refuse_to_replace(const fs::path& folder) {
  for (const char* kept : {"model.safetensors", "state.safetensors"}) {
    if (std::error_code none; !fs::exists(folder / kept, none)) continue;
    throw InputError({folder.string()}, "a run is here already",
                     {"`as2 train --resume " + folder.string() + "` goes on with it",
                      "to train again, give another --out or remove the folder"});
  }
  // A run has a state before it has metrics: these are somebody else's.
  if (std::error_code none; fs::exists(folder / "metrics.jsonl", none))
    throw InputError({(folder / "metrics.jsonl").string()}, "would be replaced, and belongs to no run",
                     {"give another --out, or move the file"});
}

void refuse_to_overwrite_inputs(const train::Settings& settings, const train::Config& config,
                                const fs::path& folder) {
  std::vector<std::string> inputs = settings.files();
  inputs.insert(inputs.end(), {config.program.file, config.program.compiled, config.data.path,
                               config.perception_from, config.reasoner_from, config.start_from});
  for (const char* written : {"config.toml", "metrics.jsonl", "curves.svg", "model.toml", "model.json"})
    refuse_to_overwrite(inputs, (folder / written).string());
}

struct Prepared {
  train::Config config;
  nn::ModelOptions model;
  std::unique_ptr<const train::Task> task;
  fs::path folder;
  std::unique_ptr<train::FolderLock> lock;  // of the process that writes
};

// The command that looks for the shortcuts of this run for as long as one likes.
std::string shortcuts_command(const TrainArguments& a) {
  // A run knows its task by name alone, but its configuration is whole: task and preset in one.
  const bool resumes = !a.resume.empty();
  const std::string whole = resumes ? config_file(a).string() : "";
  const std::string preset = resumes ? whole : a.preset;
  std::string text = "as2 check " + quoted(resumes ? whole : a.task);
  if (!preset.empty()) text += " --preset " + quoted(preset);
  text += " --shortcuts";
  for (const std::string& setting : a.settings) text += " --set " + quoted(setting);
  return text;
}

// What training cannot learn it should not be left to look for. The number of relabellings that it cannot
// tell apart; null: not known.
json warn_of_shortcuts(const TrainArguments& a, const train::Config& config, const train::Task& task,
                       const Report& report) {
  constexpr double kSeconds = 2;
  try {
    const auto found = train::find_shortcuts(config, task, kSeconds);
    if (!found) return nullptr;
    if (found->count > 1) report.warn("warning: " + found->text());
    if (found->count > 1 || found->complete) return found->count;
  } catch (const prob::CircuitTooLarge&) {
  }
  report.say("note: 2 seconds were too few to tell whether what is observed determines the classes; `" +
             shortcuts_command(a) + "` looks for longer");
  return nullptr;
}

// A reasoner that starts from weights for another size goes on taking means as these have learnt to
// (infer/sizes.h), unless the settings say otherwise.
void keep_sizes(train::Settings& settings, const train::Config& config, const train::Task& task,
                nn::ModelOptions& model, const Report& report) {
  const std::string& from = config.reasoner_from.empty() ? config.start_from : config.reasoner_from;
  if (from.empty() || model.kind != infer::ReasonerKind::kSoftTp || settings.has("model.reasoner.sizes"))
    return;
  const infer::Card card = infer::read_card(from);
  const std::vector<int> kept = card.trained_sizes().list(),
                         own = infer::ProgramShape::of(task.program()).sizes().list();
  // Weights for another number of families are refused when they are read.
  if (card.network.kind != infer::ReasonerKind::kSoftTp || kept == own || kept.size() != own.size()) return;
  model.soft_tp.sizes = settings.value("model.reasoner.sizes", kept).get<std::vector<int>>();
  report.say("note: " + from + " has learnt on another size, and goes on taking means as there " +
             "(model.reasoner.sizes = " + json(kept).dump() + ")");
}

// `resumed`: the configuration of the run to be resumed; empty for a new run.
Prepared prepare(const TrainArguments& a, const std::string& resumed, const Report& report, bool writes) {
  train::Settings settings = a.resume.empty() ? train::layered_settings(a.task, a.preset, overrides_of(a))
                                              : resumed_settings(a, resumed);
  Prepared prepared;
  train::Config& config = prepared.config = train::read_config(settings);
  if (!a.data_dir.empty() && !task::reads_mnist(config))
    throw UsageError("--data-dir does not apply: the task '" + config.task + "' reads no picture of MNIST");
  if (config.train.time_budget > 0 && settings.is_override("train.epochs")) {
    throw UsageError(
        (a.epochs ? "--epochs" : "--set train.epochs") + std::string(" does not apply: the time budget of ") +
        in_digits(config.train.time_budget) + " s ends the run; --time-budget 0 trains by epochs");
  }
  prepared.folder =
      !a.resume.empty() ? fs::path(a.resume)
      : !a.out.empty()
          ? fs::path(a.out)
          : fs::path("runs") / (config.task + "-" + config.preset + "-" + std::to_string(config.seed));
  if (writes) {
    require_folder(prepared.folder);
    prepared.lock = std::make_unique<train::FolderLock>(prepared.folder);
    if (resumed.empty()) refuse_to_replace(prepared.folder);
    refuse_to_overwrite_inputs(settings, config, prepared.folder);
  }
  train::TaskOptions task_options;
  task_options.data_dir = a.data_dir;
  task_options.grounding = a.grounding.options();
  task_options.stop = &stop_on_interrupt();
  task_options.report = [&](const std::string& text) { report.say(text); };
  if (writes) task_options.warn = [](const asp::Warning& warning) { print_warnings({warning}); };
  prepared.task = std::make_unique<train::Task>(config, task_options);
  prepared.model = train::read_model(settings, static_cast<std::int64_t>(prepared.task->classes().size()));
  if (writes) keep_sizes(settings, config, *prepared.task, prepared.model, report);
  if (const std::size_t sizes = prepared.model.soft_tp.sizes.size(),
      families = prepared.task->program().families.size();
      sizes > 0 && sizes != families + 1)
    settings.refuse("model.reasoner.sizes",
                    "the number of symbols and a group size for each of the program's " +
                        std::to_string(families) + " families");
  settings.refuse_unused();
  settings.amend("perception_from", fs::path(config.perception_from).filename().string());
  settings.amend("reasoner_from", fs::path(config.reasoner_from).filename().string());
  settings.amend("start_from", fs::path(config.start_from).filename().string());
  config.resolved = settings.resolved();
  return prepared;
}

json train_one(const TrainArguments& a, Report& report, torch::Device device, train::Workers& workers) {
  const bool resumes = !a.resume.empty();
  const std::string resumed = workers.broadcast(resumes && workers.writes() ? read_resumed(a) : "");
  Prepared prepared = workers.after_rank_zero([&] { return prepare(a, resumed, report, workers.writes()); });
  // Rank 0 alone reads the weights that the run starts from, and so what their means are taken over.
  std::vector<int>& sizes = prepared.model.soft_tp.sizes;
  const json told = json::parse(workers.broadcast(json(sizes).dump()));
  if (sizes.empty()) told.get_to(sizes);
  const train::Config& config = prepared.config;
  const fs::path& folder = prepared.folder;
  train::TrainHooks hooks;
  hooks.on_progress = [&](const train::Progress& p) { report.progress(p); };
  hooks.on_record = [&](const json& line) { report.record(line); };
  hooks.on_validation = [&](std::int64_t done, std::int64_t of) {
    report.validation(done, of, config.data.validation);
  };
  hooks.on_warning = [&](const std::string& text) { report.warn("warning: " + text); };
  hooks.stop = &stop_on_interrupt();
  hooks.command = command_line(a);
  hooks.tensorboard = a.tensorboard;
  const auto trainer = workers.after_rank_zero([&] {
    return std::make_unique<train::Trainer>(config, prepared.model, *prepared.task, folder, device, workers,
                                            hooks);
  });
  // Once everything else is known to be in order.
  const json shortcuts =
      workers.writes() ? warn_of_shortcuts(a, config, *prepared.task, report) : json(nullptr);
  if (resumes) {
    trainer->resume();
  }
  const train::TrainResult result = trainer->run();
  const bool goes_on = result.ended == train::Ended::kInterrupted;
  report.say(ended_text(result.ended) + (goes_on ? quoted(folder.string()) : folder.string()));
  json outcome = {{"task", config.task},
                  {"preset", config.preset},
                  {"seed", config.seed},
                  {"score", nullptr},
                  {"validation", result.validation},
                  {"steps", result.steps},
                  {"seconds", result.seconds},
                  {"memory", peak_memory()},
                  {"device_memory", device.is_cuda() ? json(train::peak_device_memory(device)) : json()},
                  {"interrupted", result.interrupted()},
                  {"folder", folder.string()},
                  {"model", nullptr},
                  {"workers", workers.world()},
                  {"backend", workers.backend()},
                  {"ended", train::name_of(result.ended)},
                  {"shortcuts", shortcuts}};
  if (!result.validation.is_null()) {  // else it was stopped before there was a model
    outcome["score"] = result.score;
    outcome["model"] = result.model.string();
  }
  return outcome;
}

// Workers on one machine take its GPUs in turn: a launcher may show each of them one of its own. Ours does
// not, and NCCL refuses two workers on one GPU.
torch::Device device_for(const std::string& name, const train::Launch& launch, int started_here) {
  const torch::Device device = parse_device(name);
  if (!device.is_cuda() || name.find(':') != std::string::npos) return device;
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (started_here > count) {
    throw InputError(
        std::to_string(started_here) + " workers, but this machine has GPUs for " + std::to_string(count),
        {"give --device cpu, or --workers " + std::to_string(count)});
  }
  const int index = launch.local_rank % count;
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

void print_results(const json& runs, bool as_json) {
  std::vector<double> scores;
  for (const json& run : runs) {
    if (!run["score"].is_null()) scores.push_back(run["score"]);
  }
  const auto n = static_cast<double>(scores.size());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / n;
  double squares = 0;
  for (const double score : scores) squares += (score - mean) * (score - mean);
  const double deviation = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  if (as_json) {
    json document = {{"runs", runs}, {"mean", nullptr}, {"std", nullptr}};
    if (n > 0) document.update({{"mean", mean}, {"std", deviation}});
    print_document(document);
    return;
  }
  for (const json& run : runs) {
    if (!run["score"].is_null())
      std::printf("%s  score %.4f\n", run["model"].get<std::string>().c_str(), run["score"].get<double>());
  }
  if (n > 1) std::printf("mean %.4f ± %.4f over %zu seeds\n", mean, deviation, scores.size());
}

using Seeds = std::vector<std::optional<std::int64_t>>;

int train_as_worker(TrainArguments a, const Seeds& seeds) {
  stop_on_interrupt();
  const train::Launch launch = train::launch_from_environment();
  const torch::Device device = device_for(a.device, launch, a.workers);
  const auto sets_graph = [](const std::string& setting) { return setting.rfind("train.graph=", 0) == 0; };
  const bool says_graph = std::any_of(a.settings.begin(), a.settings.end(), sets_graph);
  if ((a.no_graph || says_graph) && !device.is_cuda())
    throw UsageError(std::string(a.no_graph ? "--no-graph" : "--set train.graph") +
                     " does not apply: steps are captured on CUDA alone, and this run is on the CPU");
  const c10::DeviceGuard on_device(device);
  train::Workers workers(launch, device);
  Report report(a.quiet || !workers.writes());
  const std::string out = a.out;
  json runs = json::array();
  for (const std::optional<std::int64_t> seed : seeds) {
    a.seed = seed;
    if (seeds.size() > 1 && !out.empty()) a.out = (fs::path(out) / ("seed" + std::to_string(*seed))).string();
    runs.push_back(train_one(a, report, device, workers));
    if (runs.back()["interrupted"]) break;
  }
  if (workers.writes()) print_results(runs, a.as_json);
  return kDone;  // a requested stop is no fault; the JSON document says `interrupted`
}

int train_all(const TrainArguments& a) {
  if (a.task.empty() && a.resume.empty()) throw UsageError("name a task, or a run folder with --resume");
  Seeds seeds = {a.seed};
  if (!a.seeds.empty()) {
    const std::vector<std::int64_t> listed = parse_seeds(a.seeds);
    seeds.assign(listed.begin(), listed.end());
  }
  if (a.workers == 1) return train_as_worker(a, seeds);
  if (std::getenv("RANK") || std::getenv("WORLD_SIZE")) {
    throw UsageError(
        "--workers starts processes on this machine, but RANK or WORLD_SIZE is set: a launcher has started "
        "this one already");
  }
  if (const auto code = start_workers(a.workers)) return *code;
  try {
    return train_as_worker(a, seeds);
  } catch (const train::LostWorker&) {
    return kLostWorker;  // the process that started us says which worker failed
  }
}

}  // namespace

Action declare_train(CLI::App& command) {
  auto a = std::make_shared<TrainArguments>();
  command.add_option("task", a->task,
                     "a task that ships (sudoku, addition, greater, …) or a task's TOML file");
  command.add_option("--preset", a->preset, "a preset of the task, or a TOML file; default: the task's own");
  command.add_option("--set", a->settings, "any setting, as in --set train.rate=1e-3");
  command.add_option("--seed", a->seed, "seed of the weights and of the data order; default: 0")
      ->check(a_seed());
  command.add_option("--seeds", a->seeds, "several runs, 0..2 or 0,3,7: mean and deviation of their scores")
      ->excludes("--seed");
  command.add_option("--device", a->device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--out", a->out, "the run's folder; default: runs/TASK-PRESET-SEED");
  command
      .add_option("--resume", a->resume,
                  "continues the run in this folder; --epochs, --set and the like change its settings")
      ->excludes("--seeds", "--out");
  command
      .add_option(
          "--time-budget", a->time_budget,
          "seconds to train and validate, whatever the preset's epochs; the learning rate follows the time")
      ->check(number_between(0, 1e9));
  command.add_option("--epochs", a->epochs, "train.epochs");
  command.add_option("--batch", a->batch, "train.batch");
  command.add_option("--lr", a->rate, "train.rate")->check(number_between(0, 1e6));
  command.add_option("--start", a->start, "a model file whose weights to start from")->excludes("--resume");
  command.add_option("--perception", a->perception, "a model file whose perception to start from")
      ->excludes("--resume");
  command.add_option("--reasoner", a->reasoner, "a model file whose reasoner to start from")
      ->excludes("--resume");
  command.add_option("--data-dir", a->data_dir,
                     "folder of MNIST's idx files; default: $AS2_DATA, the cache, the network");
  command
      .add_option("--workers", a->workers,
                  "processes on this machine that share every batch, the threads and the GPUs")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  declare_grounding(command, a->grounding);
  command.add_flag("--no-graph", a->no_graph, "CUDA: do not capture the step");
  command.add_flag("--tensorboard", a->tensorboard,
                   "also writes event files into the run's folder, for TensorBoard");
  command.add_flag("--quiet", a->quiet, "no progress");
  command.add_flag("--json", a->as_json, "the result as one JSON document");
  return [a] { return train_all(*a); };
}

}  // namespace as2::cli
