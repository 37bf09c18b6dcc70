#include "bench/peers.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "as2/error.h"
#include "child_process.h"
#include "files.h"
#include "formats/safetensors.h"
#include "json_text.h"

namespace as2::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* const kFewest = "17-22";  // generated boards with fewer are too rare to wait for
const char* const kANeSI = "van Krieken et al., NeurIPS 2023, table 1";

// What the authors of a preset report.
struct Figure {
  std::string preset, published, source, trained;
};

void add_peer(std::vector<Peer>& list, Peer peer, const std::vector<Figure>& figures) {
  for (const Figure& figure : figures) {
    if (figure.preset != peer.preset) continue;
    peer.published = figure.published;
    peer.source = figure.source;
    peer.trained = figure.trained;
  }
  list.push_back(std::move(peer));
}

// Learning from what is observed; `ours` are systems and presets of the task's own.
void add_losses(std::vector<Peer>& list, const std::string& table, const std::string& task,
                const std::vector<std::pair<std::string, std::string>>& ours, bool fuzzy,
                const std::vector<Figure>& figures) {
  const auto add = [&](const std::string& system, const std::string& preset) {
    Peer peer;
    peer.table = table;
    peer.system = system;
    peer.task = task;
    peer.preset = preset;
    peer.settings = {"data.validation=256"};
    add_peer(list, std::move(peer), figures);
  };
  add("NeurASP", "neurasp");
  add("DeepProbLog", "deepproblog");
  add("Scallop, k = 3", "scallop");
  add("Scallop, k = 10", "scallop-10");
  add("SLASH", "slash");
  add("Semantic loss", "semantic-loss");
  if (fuzzy) {
    add("LTN, product", "ltn");
    add("LTN, Gödel", "ltn-goedel");
    add("LTN, Łukasiewicz", "ltn-lukasiewicz");
  }
  add("A-NeSI", "a-nesi");
  for (const auto& [system, preset] : ours) add(system, preset);
}

struct Boards {
  std::string table;
  std::int64_t box, count, min_clues, max_clues;
  bool fewest_clues = false;
};

// Reasoners on the same boards. On 4 × 4 there are no pictures.
void add_reasoners(std::vector<Peer>& list, const Boards& boards, const std::vector<Figure>& figures) {
  const bool small = boards.box == 2;
  std::vector<std::string> data = {
      "data.train=" + std::to_string(boards.count), "data.min_clues=" + std::to_string(boards.min_clues),
      "data.max_clues=" + std::to_string(boards.max_clues), "data.validation=200", "data.symmetries=false"};
  if (small)
    data.insert(data.end(),
                {"data.box=2", "program.compiled=programs/sudoku-b2.as2c", "program.constants=[\"b=2\"]",
                 "images.positions=[]", "model.perception.preset=none", "perception_from="});
  const auto add = [&](const std::string& system, const std::string& preset,
                       const std::vector<std::string>& more) {
    Peer peer;
    peer.table = boards.table;
    peer.system = system;
    peer.task = "sudoku";
    peer.preset = preset;
    peer.settings = data;
    peer.settings.insert(peer.settings.end(), more.begin(), more.end());
    peer.boards = boards.count;
    peer.fewest_clues = boards.fewest_clues;
    add_peer(list, std::move(peer), figures);
  };
  // Sizes as published but for the small boards, where they are cut down to ours.
  const auto size = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> more;
    if (small) more = {"train.rate=2e-3"};
    for (const std::string& setting : settings) {
      if (small) more.push_back("model.reasoner." + setting);
    }
    return more;
  };
  // SATNet was reported on easy puzzles alone.
  if (!boards.fewest_clues) add("SATNet (learns the rules)", "satnet", size({"clauses=100", "auxiliary=50"}));
  add("Recurrent Transformer (learns the rules)", "recurrent-transformer",
      size({"d_model=32", "d_ff=64", "passes=8"}));
  add("RRN (is given who shares a group)", "rrn",
      size({"width=32", "embedding=8", "layers=1", "passes=8", "eval_passes=16"}));
  std::vector<std::string> ours = {"train.perceived_share=0", "train.batch=64"};
  if (!small)
    ours.insert(ours.end(), {"train.freeze_epochs=-1", "model.perception.preset=best",
                             "perception_from=models/sudoku-best.safetensors"});
  std::vector<std::string> paper = ours;
  for (const std::string& setting : size({"layers=2", "heads=2", "d_model=32", "d_ff=64"}))
    paper.push_back(setting);
  paper.emplace_back("losses.perception.weight=0");
  if (small) paper.emplace_back("train.freeze_epochs=0");
  add("AS², the paper's Transformer (rules as loss)", "paper", paper);
  add("AS² (ours; rules as T_P)", small ? "tiny" : "best", ours);
}

std::vector<std::string> words_of(const Peer& peer, const PeerOptions& options, std::int64_t seed,
                                  const fs::path& folder) {
  const double seconds = 60 * options.minutes;
  std::vector<std::string> words = {
      "train",         peer.task,
      "--preset",      peer.preset,
      "--seed",        std::to_string(seed),
      "--device",      options.device,
      "--out",         folder.string(),
      "--time-budget", json_text(json(seconds)),
      "--quiet",       "--json",
      "--set",         "train.validate_seconds=" + json_text(json(std::max(1.0, seconds / 20)))};
  for (const std::string& setting : peer.settings) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  return words;
}

// The one JSON document that a child prints.
json document_of(const PeerOptions& options, const std::vector<std::string>& words) {
  ChildOptions limits;
  limits.seconds = 60 * options.minutes * 3 + 3600;
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

// Seconds until the validation score first reached `share`; null: never.
json seconds_to(const fs::path& metrics, double share) {
  std::ifstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    const json record = json::parse(line, nullptr, false);
    if (record.is_discarded() || !record.contains("validation")) continue;
    if (record["validation"].value("score", 0.0) >= share) return record["seconds"];
  }
  return nullptr;
}

// The validation score after half of the time; null: there was none yet.
json score_at_half(const fs::path& metrics, double seconds) {
  std::ifstream lines(metrics);
  json score;
  for (std::string line; std::getline(lines, line);) {
    const json record = json::parse(line, nullptr, false);
    if (record.is_discarded() || !record.contains("validation")) continue;
    if (record["seconds"] > seconds / 2) break;
    score = record["validation"]["score"];
  }
  return score;
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
  if (!peer.fewest_clues) return "";
  return options.boards.empty() ? "generated, " + std::string(kFewest) + " clues"
                                : fs::path(options.boards).filename().string();
}

// What tells one run from another.
json key_of(const Peer& peer, const PeerOptions& options, std::int64_t seed) {
  return {{"table", peer.table},        {"system", peer.system},
          {"task", peer.task},          {"preset", peer.preset},
          {"settings", peer.settings},  {"seed", seed},
          {"minutes", options.minutes}, {"device", options.device},
          {"count", options.count},     {"tested_on", tested_on(peer, options)}};
}

bool wanted(const Peer& peer, const std::vector<std::string>& only) {
  const std::string title = title_of(peer);
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& word) {
           return title.find(word) != std::string::npos;
         });
}

json run_one(const Peer& peer, const PeerOptions& options, std::int64_t seed, json key) {
  const fs::path folder = options.out + ".run";
  remove_tree(folder);
  const double before = processor_of_children();
  json trained = document_of(options, words_of(peer, options, seed, folder))["runs"][0];
  const double processor = processor_of_children() - before;
  const fs::path model = folder / "model.safetensors";
  if (!fs::exists(model))
    throw EnvironmentError("the run ended before it had a model", {"give more --minutes"});
  std::vector<std::string> words = {
      "eval",     peer.task, "--model",  model.string(), "--count", std::to_string(options.count),
      "--engine", "torch",   "--device", options.device, "--quiet", "--json"};
  if (peer.fewest_clues && options.boards.empty()) words.insert(words.end(), {"--clues", kFewest});
  if (peer.fewest_clues && !options.boards.empty()) words.insert(words.end(), {"--boards", options.boards});
  // The rows that the table of decoding is made of.
  if (peer.task == "sudoku" && peer.preset == "best" && !find_program("clingo").empty())
    words.emplace_back("--pipeline");
  json row = std::move(key);
  row["eval"] = document_of(options, words);
  row["eval"].erase("model");
  row["boards"] = peer.boards;
  row["parameters"] = parameters_in(model);
  row["seconds_95"] = seconds_to(folder / "metrics.jsonl", 0.95);
  row["seconds_99"] = seconds_to(folder / "metrics.jsonl", 0.99);
  row["score_half"] = score_at_half(folder / "metrics.jsonl", trained["seconds"]);
  row["processor_seconds"] = processor;
  for (const char* field : {"score", "steps", "seconds", "memory", "device_memory"})
    row[field] = trained[field];
  row["scored"] = trained["validation"]["scored"];
  remove_tree(folder);
  return row;
}

}  // namespace

const std::vector<Peer>& peers() {
  static const std::vector<Peer> list = [] {
    std::vector<Peer> all;
    const std::string once = "one pass over 30,000 pairs";
    add_losses(all, "Addition of two digits, the sum alone known", "addition",
               {{"AS², on the same network (ours)", "one-epoch"}, {"AS² (ours)", "sum-only"}}, true,
               {{"neurasp", "97.30", kANeSI, once},
                {"deepproblog", "97.20", kANeSI, once},
                {"ltn", "80.54", kANeSI, ""},
                {"a-nesi", "97.66", kANeSI, "100 passes over 30,000 pairs in batches of 16"},
                {"scallop", "98.22", "the AS² paper's table", ""}});
    add_losses(all, "Addition of numbers of two digits, the sum alone known", "multi_digit_addition",
               {{"AS² (ours)", "best"}}, false,
               {{"neurasp", "93.90", kANeSI, ""},
                {"deepproblog", "95.20", kANeSI, ""},
                {"a-nesi", "95.96", kANeSI, "100 passes over 15,000 pairs in batches of 16"}});
    add_losses(all, "Two digits compared, which is greater alone known", "greater", {{"AS² (ours)", "best"}},
               true, {});
    add_losses(all, "A path through a grid, whether there is one alone known", "grid_path",
               {{"AS² (ours)", "best"}}, true, {});
    add_reasoners(all, {"Sudoku of 4 × 4, 4 to 8 clues, networks of that size", 2, 4000, 4, 8}, {});
    for (const std::int64_t boards : {100, 1000, 9000}) {
      std::vector<Figure> figures;
      if (boards == 9000)
        figures = {{"satnet", "98.3", "Wang et al., ICML 2019: 9,000 boards of their own",
                    "100 passes over 9,000 boards in batches of 40"}};
      add_reasoners(all, {"Sudoku of 31 to 42 clues", 3, boards, 31, 42}, figures);
    }
    add_reasoners(all, {"Sudoku, trained on 17 to 34 clues, tested on the fewest", 3, 180000, 17, 34, true},
                  {{"rrn", "96.6", "Palm et al., NeurIPS 2018: 17 clues, 180,000 boards of 17 to 34",
                    "batches of 252 on six GPUs"}});
    return all;
  }();
  return list;
}

std::string title_of(const Peer& peer) {
  return peer.table + ": " + peer.system + " (" + peer.task + ", " + peer.preset +
         (peer.boards > 0 ? ", " + std::to_string(peer.boards) + " boards" : "") + ")";
}

std::vector<json> read_peer_rows(const std::string& path) {
  std::vector<json> rows;
  std::ifstream lines(path);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    json row = json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("system") || !row.contains("eval"))
      throw InputError({path, number}, "is no row of `as2 bench peers`",
                       {"remove the line; its run will be repeated"});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<const Peer*> chosen_peers(const std::vector<std::string>& only) {
  std::vector<const Peer*> chosen;
  for (const Peer& peer : peers()) {
    if (wanted(peer, only)) chosen.push_back(&peer);
  }
  if (chosen.empty()) throw InputError("--only matches no row", {"`as2 bench peers --list` names them all"});
  return chosen;
}

int run_peers(const PeerOptions& options) {
  const std::vector<json> finished = read_peer_rows(options.out);
  const std::vector<const Peer*> chosen = chosen_peers(options.only);
  if (!options.boards.empty() &&
      std::none_of(chosen.begin(), chosen.end(), [](const Peer* peer) { return peer->fewest_clues; }))
    throw InputError("--boards has no effect: none of the rows is tested on the fewest clues",
                     {"leave it out, or choose rows of that table with --only 'the fewest'"});
  // A place that cannot be written to is no place for an hour of runs.
  if (!std::ofstream(options.out, std::ios::app)) throw EnvironmentError("cannot write to " + options.out);
  int failed = 0;
  for (const std::int64_t seed : options.seeds) {
    for (const Peer* peer : chosen) {
      if (options.stop && options.stop->load()) return failed;
      const json key = key_of(*peer, options, seed);
      const std::string name = title_of(*peer) + ", seed " + std::to_string(seed);
      const auto same = [&](const json& row) {
        for (const auto& [field, value] : key.items()) {
          if (row.value(field, json()) != value) return false;
        }
        return true;
      };
      if (std::any_of(finished.begin(), finished.end(), same)) {
        options.report(name + ": already there");
        continue;
      }
      options.report(name);
      try {
        const json row = run_one(*peer, options, seed, key);
        std::ofstream out(options.out, std::ios::app);
        out << json_text(row) << std::endl;
        if (!out) throw EnvironmentError("cannot write to " + options.out);
      } catch (const EnvironmentError& error) {
        if (options.stop && options.stop->load()) return failed;
        ++failed;
        options.report(name + ": failed. " + error.what());
      }
    }
  }
  return failed;
}

}  // namespace as2::bench
