#include "task/config.h"

#include <algorithm>
#include <filesystem>

#include "as2/resources.h"
#include "sudoku/board.h"
#include "task/sources.h"

namespace as2::task {
namespace {

namespace fs = std::filesystem;

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

// `word` as a path, or as the name of a TOML file in the first of the folders that has it.
fs::path find_toml(const std::string& word, const std::vector<fs::path>& folders, const std::string& what) {
  std::string known;
  for (const fs::path& folder : folders) {
    const fs::path path = is_path(word) ? fs::path(word) : folder / (word + ".toml");
    if (fs::is_regular_file(path)) return path;
    for (const std::string& name : names_in_folder(folder)) known += (known.empty() ? "" : ", ") + name;
  }
  const fs::path path = is_path(word) ? fs::path(word) : folders.front() / (word + ".toml");
  throw InputError("there is no " + what + " '" + word + "' (" + path.string() + ")",
                   {known.empty() ? "give the path of a TOML file"
                                  : "there are: " + known + "; or the path of a TOML file"});
}

// A preset of the task, or one of tasks/peers/, which fit any task. Lays the preset's bases under it, first
// the outermost.
void add_preset(Settings& settings, const std::string& preset, const fs::path& folder, int depth = 0) {
  const fs::path path = find_toml(preset, {folder, data_dir() / "tasks" / "peers"}, "preset");
  Settings own;
  own.add_file(path.string());
  const std::string base = own.text("base", "");
  if (depth > 8) throw InputError(own.location("base"), "the presets' bases form a circle");
  if (!base.empty()) add_preset(settings, base, folder, depth + 1);
  settings.add_file(path.string());
}

fs::path folder_of(const SourceLocation& from) {
  return from.line > 0 ? fs::path(from.file).parent_path() : fs::path();
}

// What a setting names is in neither of the places where it was looked for.
[[noreturn]] void refuse_missing(Settings& settings, const std::string& key, const std::string& what,
                                 const std::string& remedy) {
  const std::string written = settings.text(key, "");
  const SourceLocation from = settings.location(key);
  const auto place = [&](const fs::path& folder) {
    return fs::absolute(folder / written).lexically_normal().string();
  };
  const std::string beside = place(folder_of(from)), shipped = place(data_dir());
  throw InputError(from,
                   key + " is '" + written + "', and there is no such " + what + ": looked for " + beside +
                       (beside == shipped ? "" : " and " + shipped),
                   {remedy});
}

// A whole number is the side of a square box, as it is written into a run's settings.
sudoku::Box read_box(Settings& s, const std::string& key, const sudoku::Box& fallback) {
  const nlohmann::json value = s.value(key, fallback.rows);
  const auto box = sudoku::find_box(value.is_string() ? value.get<std::string>() : value.dump());
  if (!box) s.refuse(key, "the side of a square box, or its rows and columns: one of " + sudoku::box_names());
  s.amend(key, box->is_square() ? nlohmann::json(box->rows) : nlohmann::json(sudoku::name_of(*box)));
  return *box;
}

// Only what the source and the purpose have a use for is asked for; the rest would be without effect.
DataConfig read_data(Settings& s, Purpose purpose) {
  DataConfig data;
  data.source = s.choice("data.source", sources().front().name, source_names());
  const Source& source = source_of(data.source);
  const auto used = [&](const char* setting) {
    if (source.uses(setting)) return true;
    s.without_effect(std::string("data.") + setting, "data.source is \"" + data.source + "\"");
    return false;
  };
  if (used("path")) data.path = resolved_path(s, "data.path", purpose);
  if (used("box")) data.box = read_box(s, "data.box", data.box);
  if (used("min_clues")) data.min_clues = s.integer("data.min_clues", data.min_clues, 0, 256);
  if (used("max_clues")) data.max_clues = s.integer("data.max_clues", data.max_clues, data.min_clues, 256);
  data.validation = s.integer("data.validation", 1000, 1, 1000000);
  if (purpose == Purpose::kEvaluation) {
    for (const char* setting :
         {"data.train", "data.symmetries", "data.path_share", "data.path_hints", "data.path_validation"})
      s.without_effect(setting, "it is for training");
    return data;
  }
  if (used("path_share")) {
    data.path_share = s.number("data.path_share", 0, 0, 1);
    data.path_hints = s.number("data.path_hints", 0, 0, 1);
    data.path_validation = s.integer("data.path_validation", 0, 0, 100000000);
  }
  data.train = s.integer("data.train", 30000, 1, 100000000);
  if (used("symmetries")) data.symmetries = s.boolean("data.symmetries", data.symmetries);
  return data;
}

// The folder of images.source.
std::string picture_folder(Settings& settings) {
  const std::string key = "images.source", written = settings.text(key, "");
  const std::string found = infer::located_path(written, folder_of(settings.location(key)));
  if (!fs::is_directory(found))
    refuse_missing(settings, key, "folder",
                   "it is \"mnist\", \"files\", or a folder with one sub-folder of pictures per symbol");
  settings.amend(key, infer::portable_path(found));
  return found;
}

}  // namespace

std::string resolved_path(Settings& settings, const std::string& key, Purpose purpose) {
  const std::string written = settings.text(key, "");
  if (written.empty()) return written;
  const SourceLocation from = settings.location(key);
  const std::string found = infer::located_path(written, folder_of(from));
  // An absolute path is named by whoever cannot open it. What a run was trained with may be gone when its
  // model is measured.
  std::error_code none;
  if (fs::path(written).is_relative() && (purpose == Purpose::kTraining || settings.is_override(key)) &&
      !fs::exists(found, none))
    refuse_missing(settings, key, "file",
                   "a relative path starts at the file that says it, or at what ships");
  settings.amend(key, infer::portable_path(found));
  return found;
}

std::string name_of_task(const std::string& task) {
  if (!is_path(task)) return task;
  Settings settings;
  settings.add_file(find_toml(task, {data_dir() / "tasks"}, "task").string());
  return settings.text("name", fs::path(task).stem().string());
}

Settings layered_settings(const std::string& task, const std::string& preset,
                          const std::vector<std::string>& overrides) {
  Settings settings;
  const fs::path path = find_toml(task, {data_dir() / "tasks"}, "task");
  settings.add_file(path.string());
  const std::string chosen = preset.empty() ? settings.text("preset", "best") : preset;
  add_preset(settings, chosen, path.parent_path() / path.stem());
  settings.erase("base");
  for (const std::string& assignment : overrides) settings.add_override(assignment);
  if (settings.is_override("preset")) throw UsageError("--set preset=…: a preset is chosen by --preset");
  settings.set("preset", is_path(chosen) ? fs::path(chosen).stem().string() : chosen);
  return settings;
}

bool reads_mnist(const TaskConfig& config) {
  return !config.images.positions.empty() && config.images.source == "mnist";
}

TaskConfig read_task(Settings& s, Purpose purpose) {
  TaskConfig c;
  c.task = s.text("name", "task");
  c.preset = s.text("preset", "best");
  c.program.file = resolved_path(s, "program.file", purpose);
  for (const std::string& constant : s.texts("program.constants", {}))
    c.program.constants.push_back(infer::parse_constant(constant, s.location("program.constants")));
  // A compiled program is of the file and the constants it is named with: others on the command line leave
  // it.
  s.text("program.compiled", "");
  if ((s.is_override("program.file") || s.is_override("program.constants")) &&
      !s.is_override("program.compiled"))
    s.amend("program.compiled", "");
  c.program.compiled = resolved_path(s, "program.compiled", purpose);
  c.images.positions = s.texts("images.positions", {});
  c.images.source = s.text("images.source", c.images.source);
  if (c.images.source != "mnist" && c.images.source != kNamedPictures) c.images.source = picture_folder(s);
  if (purpose == Purpose::kTraining) {
    c.images.augment = s.boolean("images.augment", c.images.augment);
    c.images.strength = s.number("images.strength", c.images.strength, 0, 10);
  } else {
    for (const char* setting : {"images.augment", "images.strength"})
      s.without_effect(setting, "it is for training");
  }
  c.labelled = s.texts("labels.positions", {"*"});
  c.observed = s.texts("labels.observed", {});
  const std::string place = s.choice("labels.at", "all", {"all", "evidence", "latent"});
  if (place != "all") c.label_place = place == "evidence" ? LabelPlace::kEvidence : LabelPlace::kLatent;
  c.data = read_data(s, purpose);
  return c;
}

}  // namespace as2::task
