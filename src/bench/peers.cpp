#include "bench/peers.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "as2/error.h"
#include "child_process.h"
#include "files.h"
#include "formats/safetensors.h"
#include "formats/sha256.h"
#include "infer/card.h"
#include "json_text.h"
#include "task/config.h"
#include "text.h"
#include "train/folder_lock.h"

namespace as2::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* const kFewest = "17-22";  // generated boards with fewer are too rare to wait for
const char* const kDecoded = "45";    // clues, as the paper's boards have on average

double minutes_of(const Peer& peer, const PeerOptions& options) {
  return peer.model.empty() ? options.minutes.value_or(peer.minutes) : 0;
}

std::vector<std::string> words_of(const Peer& peer, const PeerOptions& options, std::int64_t seed,
                                  const fs::path& folder) {
  const double seconds = 60 * minutes_of(peer, options);
  std::vector<std::string> words = {
      "train", peer.task, "--preset", peer.preset, "--seed", std::to_string(seed), "--device", options.device,
      "--out", folder.string(), "--time-budget", json_text(json(seconds)), "--quiet", "--json",
      // By the clock alone: an epoch of a hundred boards is a step or two.
      "--set", "train.validate_every=1000000", "--set",
      "train.validate_seconds=" + json_text(json(std::max(1.0, seconds / 20)))};
  for (const std::string& setting : peer.settings) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  return words;
}

// The one JSON document that a child prints.
json document_of(const PeerOptions& options, double minutes, const std::vector<std::string>& words) {
  ChildOptions limits;
  limits.seconds = 60 * minutes * 3 + 3600;
  limits.bytes = 0;
  limits.stop = options.stop;
  const ChildResult child = run_child(options.program, words, "", limits);
  if (child.exit_code != 0) {
    std::string command = "as2";
    for (const std::string& word : words) command += " " + word;
    throw EnvironmentError("`" + command + "` ended with " + std::to_string(child.exit_code) +
                           (child.err.empty() ? "" : ": " + child.err));
  }
  return json::parse(child.out);
}

std::int64_t parameters_in(const fs::path& model) {
  std::int64_t count = 0;
  for (const formats::SafeTensor& tensor : formats::read_safetensors(model).tensors) {
    std::int64_t size = 1;
    for (const std::int64_t side : tensor.shape) size *= side;
    if (!tensor.shape.empty()) count += size;
  }
  return count;
}

// Every validation: after how many seconds, and the shares of examples and of positions that were right. One
// measure for every way to learn: what is read says what is observed, or a board is right as a whole.
json curve_of(const fs::path& metrics) {
  std::ifstream lines(metrics);
  json curve = json::array();
  for (std::string line; std::getline(lines, line);) {
    const json record = json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("validation")) continue;
    const json& validation = record["validation"];
    const json& part = validation.contains("given") ? validation["given"] : validation["perceived"];
    json point = {{"seconds", record["seconds"]}};
    if (part.contains("exact")) point["right"] = part["exact"];
    if (part.contains("cell")) point["cell"] = part["cell"];
    curve.push_back(std::move(point));
  }
  return curve;
}

// Of children that have ended.
double processor_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// What a row is tested on beside the boards it was trained for; empty: those.
std::string tested_on(const Peer& peer, const PeerOptions& options) {
  if (!peer.model.empty()) return "generated, " + std::string(kDecoded) + " clues";
  if (!peer.fewest_clues) return "";
  return options.boards.empty() ? "generated, " + std::string(kFewest) + " clues"
                                : fs::path(options.boards).filename().string();
}

// What tells one run from another; whether it is still what would be run today is what `content_of` says.
json key_of(const Peer& peer, const PeerOptions& options, std::int64_t seed) {
  return {{"table", peer.table},
          {"system", peer.system},
          {"task", peer.task},
          {"preset", peer.preset},
          {"boards", peer.boards},
          {"seed", seed},
          {"minutes", minutes_of(peer, options)},
          {"device", peer.model.empty() ? options.device : "cpu"},
          {"count", options.count},
          {"tested_on", tested_on(peer, options)}};
}

json content_of(const Peer& peer) {
  return {{"settings", peer.settings}, {"configuration", configuration_of(peer)}};
}

bool agrees(const json& row, const json& with) {
  return std::all_of(with.items().begin(), with.items().end(),
                     [&](const auto& item) { return row.value(item.key(), json()) == item.value(); });
}

// The lines of a file and what they say. A last line without its end that says nothing is left out: a process
// was writing it when it ended.
std::vector<std::pair<std::string, json>> lines_of(const std::string& path) {
  std::vector<std::pair<std::string, json>> lines;
  if (!fs::exists(path)) return lines;
  const std::string text = read_file(path);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    json row = json::parse(line, nullptr, false);
    if (!in.eof() || !row.is_discarded()) lines.emplace_back(line, std::move(row));
  }
  return lines;
}

// The file is read anew: somebody may have written notes into it while the run went on. An older row of the
// same run, with settings that have changed since, is replaced.
void store(const PeerOptions& options, const json& key, const json& row) {
  std::string text;
  for (const auto& [line, there] : lines_of(options.out)) {
    if (!there.is_object() || !agrees(there, key)) text += line + "\n";
  }
  const std::string line = json_text(row);
  try {
    write_file(options.out, text + line + "\n");
  } catch (const std::exception&) {
    options.report("the row that could not be written: " + line);
    throw;
  }
}

// A place that cannot be written to is no place for an hour of runs.
void require_writable(const std::string& path) {
  std::error_code none;
  if (fs::exists(path, none) && !fs::is_regular_file(path, none))
    throw EnvironmentError("cannot write to " + path + ": it is no regular file");
  if (!std::ofstream(path, std::ios::app)) throw_file_error(path, "cannot be written", errno);
}

// A folder of its own for one run, gone with it.
class RunFolder {
 public:
  explicit RunFolder(const fs::path& parent) {
    std::string pattern = (parent / "XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw_file_error(pattern, "cannot be made", errno);
    path_ = pattern;
  }
  ~RunFolder() { remove_tree(path_); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What `as2 eval` says of a model that ships, by the model: one evaluation for all ways to decode.
using Evaluated = std::map<std::string, json>;

json decoded(const Peer& peer, const PeerOptions& options, Evaluated& evaluated, json row) {
  json& eval = evaluated[peer.model];
  if (eval.is_null())
    eval = document_of(options, 0,
                       {"eval", peer.task, "--model", peer.model, "--clues", kDecoded, "--count",
                        std::to_string(options.count), "--pipeline", "--quiet", "--json"});
  const json none, &methods = eval.contains("perceived_clues") ? eval["perceived_clues"] : none;
  if (!methods.contains(peer.method))
    throw EnvironmentError("`as2 eval` has no row " + peer.method, {"check that clingo is installed"});
  row["method"] = peer.method;
  row["eval"]["perceived_clues"][peer.method] = methods[peer.method];
  row["parameters"] = parameters_in(infer::find_model(peer.model));
  return row;
}

json trained(const Peer& peer, const PeerOptions& options, std::int64_t seed, const fs::path& folder,
             json row) {
  const double before = processor_of_children(), minutes = minutes_of(peer, options);
  json run = document_of(options, minutes, words_of(peer, options, seed, folder))["runs"][0];
  row["processor_seconds"] = processor_of_children() - before;
  const fs::path model = folder / "model.safetensors";
  if (!fs::exists(model))
    throw EnvironmentError("the run ended before it had a model", {"give more --minutes"});
  std::vector<std::string> words = {
      "eval",     peer.task, "--model",  model.string(), "--count", std::to_string(options.count),
      "--engine", "torch",   "--device", options.device, "--quiet", "--json"};
  if (peer.fewest_clues && options.boards.empty()) words.insert(words.end(), {"--clues", kFewest});
  if (peer.fewest_clues && !options.boards.empty()) words.insert(words.end(), {"--boards", options.boards});
  row["eval"] = document_of(options, minutes, words);
  row["eval"].erase("model");
  row["parameters"] = parameters_in(model);
  row["curve"] = curve_of(folder / "metrics.jsonl");
  for (const char* field : {"ended", "steps", "seconds", "memory", "device_memory"}) row[field] = run[field];
  return row;
}

struct Planned {
  const Peer* peer;
  std::int64_t seed;
  json key, content;
  std::string name() const { return title_of(*peer) + ", seed " + std::to_string(seed); }
};

// The runs whose rows are not there yet.
std::vector<Planned> plan(const PeerOptions& options, const std::vector<const Peer*>& chosen) {
  const std::vector<json> rows = read_peer_rows(options.out);
  std::vector<Planned> planned;
  std::set<std::string> left_out;
  for (const std::int64_t seed : options.seeds) {
    for (const Peer* peer : chosen) {
      if (peer->needs_gpu && options.device == "cpu" && options.only.empty()) {
        left_out.insert(peer->table);
        continue;
      }
      // Nothing of it is drawn anew with another seed.
      if (!peer->model.empty() && seed != options.seeds.front()) continue;
      Planned run{peer, seed, key_of(*peer, options, seed), content_of(*peer)};
      const auto same = [&](const json& row) { return agrees(row, run.key) && agrees(row, run.content); };
      if (std::any_of(rows.begin(), rows.end(), same))
        options.report(run.name() + ": already there");
      else
        planned.push_back(std::move(run));
    }
  }
  for (const std::string& table : left_out)
    options.report(table +
                   ": left out, for it needs a GPU (--device cuda); --only runs it on the CPU as well");
  return planned;
}

}  // namespace

std::string configuration_of(const Peer& peer) {
  if (!peer.model.empty()) return formats::sha256(read_file(infer::find_model(peer.model)));
  task::Settings settings = task::layered_settings(peer.task, peer.preset, peer.settings);
  json content;
  for (const char* section : {"program", "images", "labels", "data", "model", "losses", "train"})
    content[section] = settings.section(section);
  for (const char* source : {"perception_from", "reasoner_from", "start_from"})
    content[source] = settings.text(source, "");
  return formats::sha256(json_text(content));
}

std::vector<json> read_peer_rows(const std::string& path) {
  std::vector<json> rows;
  int number = 0;
  for (auto& [line, row] : lines_of(path)) {
    ++number;
    if (line.empty()) continue;
    if (!row.is_object() || !row.contains("system") || !row.contains("eval"))
      throw InputError({path, number}, "is no row of `as2 bench peers`",
                       {"remove the line; its run will be repeated"});
    rows.push_back(std::move(row));
  }
  return rows;
}

int run_peers(const PeerOptions& options) {
  const std::vector<const Peer*> chosen = chosen_peers(options.only);
  if (!options.boards.empty() &&
      std::none_of(chosen.begin(), chosen.end(), [](const Peer* peer) { return peer->fewest_clues; }))
    throw InputError("--boards has no effect: none of the rows is tested on the fewest clues",
                     {"leave it out, or choose rows of that table with --only 'the fewest'"});
  require_writable(options.out);
  const fs::path folder = options.out + ".run";
  const train::FolderLock lock(folder);  // two processes would each write the rows they know of
  const std::vector<Planned> planned = plan(options, chosen);
  double minutes = 0;
  for (const Planned& run : planned) minutes += minutes_of(*run.peer, options);
  options.report(std::to_string(planned.size()) + " runs, " + in_digits(minutes) +
                 " minutes of training; loading and testing come on top");
  int failed = 0;
  Evaluated evaluated;
  for (const Planned& run : planned) {
    if (options.stop && options.stop->load()) break;
    options.report(run.name());
    json row = run.key;
    row.update(run.content);
    try {
      const RunFolder own(folder);
      row = run.peer->model.empty()
                ? trained(*run.peer, options, run.seed, own.path() / "run", std::move(row))
                : decoded(*run.peer, options, evaluated, std::move(row));
    } catch (const EnvironmentError& error) {
      if (options.stop && options.stop->load()) break;
      ++failed;
      options.report(run.name() + ": failed. " + error.what());
      continue;
    }
    store(options, run.key, row);
  }
  return failed;
}

}  // namespace as2::bench
