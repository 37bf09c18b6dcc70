#include "train/config.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <nlohmann/json.hpp>

#include "as2/resources.h"

namespace as2::train {
namespace {

namespace fs = std::filesystem;

constexpr double kMany = 1e9;

bool is_path(const std::string& word) {
  return word.find('/') != std::string::npos || fs::path(word).extension() == ".toml";
}

std::vector<std::string> names_in_folder(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// `word` as a path, or as the name of a TOML file in `folder`.
fs::path find_toml(const std::string& word, const fs::path& folder, const std::string& what) {
  const fs::path path = is_path(word) ? fs::path(word) : folder / (word + ".toml");
  if (fs::is_regular_file(path)) return path;
  std::string known;
  for (const std::string& name : names_in_folder(folder)) known += (known.empty() ? "" : ", ") + name;
  throw InputError("there is no " + what + " '" + word + "' (" + path.string() + ")",
                   {known.empty() ? "give the path of a TOML file"
                                  : "there are: " + known + "; or the path of a TOML file"});
}

// Lays the preset's bases under it, first the outermost.
void add_preset(Settings& settings, const std::string& preset, const fs::path& folder, int depth = 0) {
  const fs::path path = find_toml(preset, folder, "preset");
  Settings own;
  own.add_file(path.string());
  const std::string base = own.text("base", "");
  if (depth > 8) throw InputError(own.location("base"), "the presets' bases form a circle");
  if (!base.empty()) add_preset(settings, base, folder, depth + 1);
  settings.add_file(path.string());
}

// A relative path is looked for beside the file that names it, then among what ships. The resolved
// configuration keeps shipped paths as they ship, so that it means the same on another machine, and others
// whole.
std::string resolved_path(Settings& settings, const std::string& key) {
  const std::string written = settings.text(key, "");
  if (written.empty()) return written;
  const SourceLocation from = settings.location(key);
  const fs::path beside = from.line > 0 ? fs::path(from.file).parent_path() / written : fs::path(written);
  std::error_code none;
  const fs::path found =
      fs::absolute(fs::exists(beside, none) ? beside : data_dir() / written).lexically_normal();
  const fs::path shipped = found.lexically_relative(fs::absolute(data_dir()).lexically_normal());
  settings.amend(key, !shipped.empty() && *shipped.begin() != ".." ? shipped.string() : found.string());
  return found.string();
}

TermSchedule read_term(Settings& settings, const std::string& name) {
  const std::string prefix = "losses." + name;
  TermSchedule term;
  term.weight = settings.number(prefix + ".weight", 0, 0, kMany);
  term.decay_epochs = settings.number(prefix + ".decay_epochs", 0, 0, kMany);
  term.floor = settings.number(prefix + ".floor", 0.1, 0, 1);
  term.ramp_epochs = settings.number(prefix + ".ramp_epochs", 0, 0, kMany);
  return term;
}

std::vector<std::pair<std::string, std::string>> read_constants(Settings& settings) {
  std::vector<std::pair<std::string, std::string>> constants;
  for (const std::string& constant : settings.texts("program.constants", {})) {
    const std::size_t equals = constant.find('=');
    if (equals == std::string::npos) settings.refuse("program.constants", "entries like \"n=3\"");
    constants.emplace_back(constant.substr(0, equals), constant.substr(equals + 1));
  }
  return constants;
}

TrainConfig read_train(Settings& s) {
  TrainConfig t;
  constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();
  t.epochs = s.integer("train.epochs", t.epochs, 1, many);
  t.batch = s.integer("train.batch", t.batch, 1, many);
  t.time_budget = s.number("train.time_budget", t.time_budget, 0, kMany);
  t.rate = s.number("train.rate", t.rate, 0, 1);
  t.warmup = s.number("train.warmup", t.warmup, 0, 1);
  t.last_rate = s.number("train.last_rate", t.last_rate, 0, 1);
  t.perception_rate = s.number("train.perception_rate", t.perception_rate, 0, 100);
  t.optimizer.beta1 = s.number("train.beta1", t.optimizer.beta1, 0, 1);
  t.optimizer.beta2 = s.number("train.beta2", t.optimizer.beta2, 0, 1);
  t.optimizer.weight_decay = s.number("train.weight_decay", t.optimizer.weight_decay, 0, 10);
  t.optimizer.clip_norm = s.number("train.clip_norm", t.optimizer.clip_norm, 0, kMany);
  t.optimizer.ema_decay = s.number("train.ema_decay", t.optimizer.ema_decay, 0, 1);
  t.freeze_epochs = s.integer("train.freeze_epochs", t.freeze_epochs, -1, many);
  t.perceived_share = s.number("train.perceived_share", t.perceived_share, 0, 1);
  t.evidence_gradient = s.boolean("train.evidence_gradient", t.evidence_gradient);
  t.precision = s.choice("train.precision", t.precision, {"auto", "float32", "bf16"});
  t.graph = s.boolean("train.graph", t.graph);
  t.validate_every = s.number("train.validate_every", t.validate_every, 0, kMany);
  t.validate_seconds = s.number("train.validate_seconds", t.validate_seconds, 0.1, kMany);
  t.checkpoint_seconds = s.number("train.checkpoint_seconds", t.checkpoint_seconds, 0.1, kMany);
  t.stop_at = s.number("train.stop_at", t.stop_at, 0, 2);
  return t;
}

}  // namespace

Settings layered_settings(const std::string& task, const std::string& preset,
                          const std::vector<std::string>& overrides) {
  Settings settings;
  const fs::path path = find_toml(task, data_dir() / "tasks", "task");
  settings.add_file(path.string());
  const std::string chosen = preset.empty() ? settings.text("preset", "best") : preset;
  add_preset(settings, chosen, path.parent_path() / path.stem());
  settings.erase("base");
  for (const std::string& assignment : overrides) settings.add_override(assignment);
  settings.set("preset", is_path(chosen) ? fs::path(chosen).stem().string() : chosen);
  return settings;
}

Config read_config(Settings& s) {
  Config c;
  c.task = s.text("name", "task");
  c.preset = s.text("preset", "best");
  c.seed = static_cast<std::uint64_t>(s.integer("seed", 0, 0, std::numeric_limits<std::int64_t>::max()));
  c.program.file = resolved_path(s, "program.file");
  c.program.compiled = resolved_path(s, "program.compiled");
  c.program.constants = read_constants(s);
  c.images.positions = s.texts("images.positions", {});
  c.images.source = s.text("images.source", c.images.source);
  if (c.images.source != "mnist") c.images.source = resolved_path(s, "images.source");
  c.images.augment = s.boolean("images.augment", c.images.augment);
  c.images.strength = s.number("images.strength", c.images.strength, 0, 10);
  c.labelled = s.texts("labels.positions", {"*"});
  c.observed = s.texts("labels.observed", {});
  c.data.source = s.choice("data.source", "boards", {"boards", "tuples", "images", "answers", "instances"});
  c.data.path = resolved_path(s, "data.path");
  c.data.box = s.integer("data.box", c.data.box, 2, 4);
  c.data.min_clues = s.integer("data.min_clues", c.data.min_clues, 0, 256);
  c.data.max_clues = s.integer("data.max_clues", c.data.max_clues, c.data.min_clues, 256);
  c.data.train = s.integer("data.train", 30000, 1, 100000000);
  c.data.validation = s.integer("data.validation", 1000, 1, 1000000);
  c.data.symmetries = s.boolean("data.symmetries", c.data.symmetries);
  c.losses.perception = read_term(s, "perception");
  c.losses.evidence = read_term(s, "evidence");
  c.losses.latent = read_term(s, "latent");
  c.losses.constraint = read_term(s, "constraint");
  c.losses.satisfaction = read_term(s, "satisfaction");
  c.losses.sum_reduction = s.choice("losses.constraint.reduction", "mean", {"mean", "sum"}) == "sum";
  c.losses.every_pass = s.boolean("losses.every_pass", c.losses.every_pass);
  c.train = read_train(s);
  c.perception_from = resolved_path(s, "perception_from");
  c.start_from = resolved_path(s, "start_from");
  return c;
}

nn::ModelOptions read_model(Settings& settings, std::int64_t classes) {
  const std::string perception =
      settings.choice("model.perception.preset", classes > 0 ? "best" : "none", {"paper", "best", "none"});
  nn::ModelOptions defaults;
  if (perception != "none" && classes > 0) {
    defaults.perception =
        perception == "paper" ? nn::PerceptionOptions::paper(classes) : nn::PerceptionOptions::best(classes);
  }
  settings.choice("model.reasoner.kind", "soft-tp", {"none", "transformer", "soft-tp"});
  nlohmann::json asked = settings.section("model");
  asked["perception"].erase("preset");
  if (asked["reasoner"]["kind"] == "none") asked["reasoner"] = {{"kind", "none"}};
  nlohmann::json whole = nn::to_json(defaults);
  whole["reasoner"] = asked["reasoner"];
  if (defaults.perception) whole["perception"].update(asked["perception"]);
  return nn::model_options(whole,
                           [&](const std::string& field) { return settings.location("model." + field); });
}

bool matches(const std::string& pattern, const std::string& name) {
  std::size_t p = 0, n = 0, star = std::string::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace as2::train
