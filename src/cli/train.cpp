// as2 train: one run a seed, each in its folder.
#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "as2/error.h"
#include "cli/device.h"
#include "cli/verbs.h"
#include "train/trainer.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct TrainArguments {
  std::string task, preset, device = "auto", out, resume, data_dir, seeds, perception, start;
  std::vector<std::string> settings;
  std::int64_t seed = 0;
  std::optional<double> time_budget, rate;
  std::optional<std::int64_t> epochs, batch;
  bool quiet = false, as_json = false, no_graph = false;
};

std::atomic<bool> interrupted{false};

// The first Ctrl-C asks for a clean stop; the second one is the system's.
void on_interrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

// `0..2` or `0,3,7`.
std::vector<std::int64_t> parse_seeds(const std::string& text) {
  std::vector<std::int64_t> seeds;
  try {
    if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
      const std::int64_t first = std::stoll(text.substr(0, dots)), last = std::stoll(text.substr(dots + 2));
      for (std::int64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
    } else {
      std::stringstream words(text);
      for (std::string word; std::getline(words, word, ',');) seeds.push_back(std::stoll(word));
    }
  } catch (const std::logic_error&) {
    seeds.clear();
  }
  if (seeds.empty())
    throw UsageError("--seeds " + text + ": expected a range like 0..2 or a list like 0,3,7");
  return seeds;
}

std::string clock_time(double seconds) {
  char text[32];
  const long whole = std::lround(seconds);
  std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

// A bar on a terminal; elsewhere one line a validation.
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
    std::fprintf(stderr, "%sepoch %lld  step %lld  %s  loss %.5f  rate %.2e  %.0f/s  score %.4f%s\n",
                 terminal_ ? "\r\033[K" : "", line["epoch"].get<long long>(), line["step"].get<long long>(),
                 clock_time(line["seconds"]).c_str(), line["loss"].get<double>(),
                 line["learning_rate"].get<double>(), line["examples_per_second"].get<double>(),
                 line["validation"]["score"].get<double>(), line.contains("best") ? "  best" : "");
  }

  void say(const std::string& text) const {
    if (!quiet_) std::cerr << text << '\n';
  }

 private:
  bool quiet_, terminal_;
};

std::string command_line(const TrainArguments& a) {
  std::string text = "as2 train " + a.task;
  if (!a.preset.empty()) text += " --preset " + a.preset;
  text += " --seed " + std::to_string(a.seed);
  if (a.time_budget) text += " --time-budget " + json(*a.time_budget).dump();
  if (!a.perception.empty()) text += " --perception " + fs::path(a.perception).filename().string();
  if (!a.start.empty()) text += " --start " + fs::path(a.start).filename().string();
  for (const std::string& setting : a.settings) text += " --set " + setting;
  return text;
}

json train_one(const TrainArguments& a, const Report& report) {
  train::Settings settings;
  if (a.resume.empty()) {
    std::vector<std::string> overrides;
    if (a.time_budget) overrides.push_back("train.time_budget=" + json(*a.time_budget).dump());
    if (a.rate) overrides.push_back("train.rate=" + json(*a.rate).dump());
    if (a.epochs) overrides.push_back("train.epochs=" + std::to_string(*a.epochs));
    if (a.batch) overrides.push_back("train.batch=" + std::to_string(*a.batch));
    if (!a.perception.empty())
      overrides.push_back("perception_from=\"" + fs::absolute(a.perception).string() + "\"");
    if (!a.start.empty()) overrides.push_back("start_from=\"" + fs::absolute(a.start).string() + "\"");
    if (a.no_graph) overrides.emplace_back("train.graph=false");
    overrides.push_back("seed=" + std::to_string(a.seed));
    overrides.insert(overrides.end(), a.settings.begin(), a.settings.end());
    settings = train::layered_settings(a.task, a.preset, overrides);
  } else {
    settings.add_file((fs::path(a.resume) / "config.toml").string());
    settings.set("perception_from", "");  // it is in the state
    settings.set("start_from", "");
    for (const std::string& setting : a.settings) settings.add_override(setting);
  }
  train::Config config = train::read_config(settings);
  train::TaskOptions task_options;
  task_options.data_dir = a.data_dir;
  task_options.report = [&](const std::string& text) { report.say(text); };
  const train::Task task(config, task_options);
  const nn::ModelOptions model =
      train::read_model(settings, static_cast<std::int64_t>(task.classes().size()));
  settings.refuse_unused();
  settings.amend("perception_from", fs::path(config.perception_from).filename().string());
  settings.amend("start_from", fs::path(config.start_from).filename().string());
  config.resolved = settings.resolved();

  const fs::path folder =
      !a.resume.empty() ? fs::path(a.resume)
      : !a.out.empty()
          ? fs::path(a.out)
          : fs::path("runs") / (config.task + "-" + config.preset + "-" + std::to_string(config.seed));
  if (a.resume.empty()) fs::remove(folder / "metrics.jsonl");
  train::TrainHooks hooks;
  hooks.on_progress = [&](const train::Progress& p) { report.progress(p); };
  hooks.on_record = [&](const json& line) { report.record(line); };
  hooks.stop = &interrupted;
  hooks.command = command_line(a);
  train::Trainer trainer(config, model, task, folder, parse_device(a.device), hooks);
  if (!a.resume.empty()) trainer.resume();
  const train::TrainResult result = trainer.run();
  report.say((result.interrupted ? "stopped; go on with: as2 train --resume " : "done: ") + folder.string());
  return {{"task", config.task},           {"preset", config.preset},           {"seed", config.seed},
          {"score", result.score},         {"validation", result.validation},   {"steps", result.steps},
          {"seconds", result.seconds},     {"interrupted", result.interrupted}, {"folder", folder.string()},
          {"model", result.model.string()}};
}

int train_all(TrainArguments a) {
  if (a.task.empty() && a.resume.empty()) throw UsageError("name a task, or a run folder with --resume");
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const Report report(a.quiet);
  std::vector<std::int64_t> seeds = {a.seed};
  if (!a.seeds.empty()) seeds = parse_seeds(a.seeds);
  const std::string out = a.out;
  json runs = json::array();
  double sum = 0, squares = 0;
  for (const std::int64_t seed : seeds) {
    a.seed = seed;
    if (seeds.size() > 1 && !out.empty()) a.out = (fs::path(out) / ("seed" + std::to_string(seed))).string();
    runs.push_back(train_one(a, report));
    const double score = runs.back()["score"];
    sum += score;
    squares += score * score;
    if (interrupted) break;
  }
  const double n = static_cast<double>(runs.size()), mean = sum / n;
  const double deviation = n > 1 ? std::sqrt(std::max(0.0, (squares - n * mean * mean) / (n - 1))) : 0;
  if (a.as_json) {
    std::cout << json{{"runs", runs}, {"mean", mean}, {"std", deviation}}.dump() << '\n';
  } else {
    for (const json& run : runs)
      std::printf("%s  score %.4f\n", run["model"].get<std::string>().c_str(), run["score"].get<double>());
    if (n > 1) std::printf("mean %.4f ± %.4f over %zu seeds\n", mean, deviation, runs.size());
  }
  return interrupted ? kInputAtFault : kDone;
}

}  // namespace

Action declare_train(CLI::App& command) {
  auto a = std::make_shared<TrainArguments>();
  command.add_option("task", a->task, "sudoku, addition, digits, or a task's TOML file");
  command.add_option("--preset", a->preset, "a preset of the task, or a TOML file; default: the task's own");
  command.add_option("--set", a->settings, "any setting, as in --set train.rate=1e-3")
      ->allow_extra_args(false);
  command.add_option("--seed", a->seed, "of weights and data order")->capture_default_str();
  command.add_option("--seeds", a->seeds, "several runs, 0..2 or 0,3,7: mean and deviation of their scores");
  command.add_option("--device", a->device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--out", a->out, "the run's folder; default: runs/TASK-PRESET-SEED");
  command.add_option("--resume", a->resume, "goes on with the run in this folder");
  command.add_option("--time-budget", a->time_budget, "seconds to train; the learning rate follows the time");
  command.add_option("--epochs", a->epochs, "train.epochs");
  command.add_option("--batch", a->batch, "train.batch");
  command.add_option("--lr", a->rate, "train.rate");
  command.add_option("--start", a->start, "a model file whose weights to start from");
  command.add_option("--perception", a->perception, "a model file whose perception to start from");
  command.add_option("--data-dir", a->data_dir,
                     "folder of MNIST's idx files; default: $AS2_DATA, the cache, the network");
  command.add_flag("--no-graph", a->no_graph, "CUDA: do not capture the step");
  command.add_flag("--quiet", a->quiet, "no progress");
  command.add_flag("--json", a->as_json, "the result as one JSON document");
  return [a] { return train_all(*a); };
}

}  // namespace as2::cli
