#include "bench/peers.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "as2/error.h"
#include "child_process.h"
#include "files.h"
#include "formats/safetensors.h"

namespace as2::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* const kANeSI = "van Krieken et al., NeurIPS 2023, table 1";

// Learning from what is observed; `ours` is the task's own preset for it.
void add_losses(std::vector<Peer>& list, const std::string& table, const std::string& task,
                const std::string& ours, bool fuzzy,
                const std::vector<std::pair<std::string, std::pair<std::string, std::string>>>& reported) {
  const auto add = [&](const std::string& system, const std::string& preset) {
    Peer peer{table, system, task, preset, {"data.validation=256"}, 0, "", ""};
    for (const auto& [name, figure] : reported) {
      if (name == preset) std::tie(peer.published, peer.source) = figure;
    }
    list.push_back(peer);
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
  add("AS² (ours)", ours);
}

// Reasoners on the same boards: `clues`, and how many boards to train on.
void add_reasoners(std::vector<Peer>& list, const std::string& table, std::int64_t boards, int low, int high,
                   bool own_ground) {
  std::vector<std::string> data = {
      "data.train=" + std::to_string(boards), "data.min_clues=" + std::to_string(low),
      "data.max_clues=" + std::to_string(high), "data.validation=200", "data.symmetries=false"};
  if (boards < 64) data.emplace_back("train.batch=" + std::to_string(boards));
  const auto add = [&](const std::string& system, const std::string& preset,
                       const std::vector<std::string>& more, const std::string& published,
                       const std::string& source) {
    Peer peer{table, system, "sudoku", preset, data, boards, published, source};
    peer.settings.insert(peer.settings.end(), more.begin(), more.end());
    list.push_back(peer);
  };
  const bool easy = low > 17;
  if (easy)
    add("SATNet (learns the rules)", "satnet", {}, own_ground ? "98.3" : "",
        own_ground ? "Wang et al., ICML 2019: its own 9,000 boards" : "");
  add("Recurrent Transformer (learns the rules)", "recurrent-transformer", {}, "", "");
  add("RRN (is given who shares a group)", "rrn", {}, easy ? "" : "96.6",
      easy ? "" : "Palm et al., NeurIPS 2018: 17 clues alone, 180,000 boards");
  const std::vector<std::string> frozen = {"train.perceived_share=0", "train.freeze_epochs=-1",
                                           "train.batch=64", "model.perception.preset=best",
                                           "perception_from=models/sudoku-best.safetensors"};
  std::vector<std::string> paper = frozen;
  paper.emplace_back("losses.perception.weight=0");
  add("AS², the paper's Transformer (rules as loss)", "paper", paper, "", "");
  add("AS² (ours; rules as T_P)", "best", frozen, "", "");
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
      "--time-budget", json(seconds).dump(),
      "--quiet",       "--json",
      "--set",         "train.validate_seconds=" + json(std::max(1.0, seconds / 20)).dump()};
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

// What tells one run from another.
json key_of(const Peer& peer, const PeerOptions& options, std::int64_t seed) {
  return {{"table", peer.table},        {"system", peer.system},     {"task", peer.task},
          {"preset", peer.preset},      {"settings", peer.settings}, {"seed", seed},
          {"minutes", options.minutes}, {"device", options.device},  {"count", options.count}};
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
  json trained = document_of(options, words_of(peer, options, seed, folder))["runs"][0];
  const fs::path model = folder / "model.safetensors";
  if (!fs::exists(model))
    throw EnvironmentError("the run ended before it had a model", {"give more --minutes"});
  std::vector<std::string> words = {
      "eval",     peer.task, "--model",  model.string(), "--count", std::to_string(options.count),
      "--engine", "torch",   "--device", options.device, "--quiet", "--json"};
  if (peer.task == "sudoku" && !find_program("clingo").empty()) words.emplace_back("--pipeline");
  json row = std::move(key);
  row["eval"] = document_of(options, words);
  row["eval"].erase("model");
  row["boards"] = peer.boards;
  row["parameters"] = parameters_in(model);
  row["seconds_95"] = seconds_to(folder / "metrics.jsonl", 0.95);
  row["seconds_99"] = seconds_to(folder / "metrics.jsonl", 0.99);
  for (const char* field : {"score", "steps", "seconds", "memory"}) row[field] = trained[field];
  row["scored"] = trained["validation"]["scored"];
  remove_tree(folder);
  return row;
}

}  // namespace

const std::vector<Peer>& peers() {
  static const std::vector<Peer> list = [] {
    std::vector<Peer> all;
    add_losses(all, "Addition of two digits, the sum alone known", "addition", "sum-only", true,
               {{"neurasp", {"97.3", kANeSI}},
                {"deepproblog", {"97.2", kANeSI}},
                {"ltn", {"80.5", kANeSI}},
                {"a-nesi", {"97.7", kANeSI}},
                {"scallop", {"98.22", "the AS² paper's table"}}});
    add_losses(
        all, "Addition of numbers of two digits, the sum alone known", "multi_digit_addition", "best", false,
        {{"neurasp", {"93.9", kANeSI}}, {"deepproblog", {"95.2", kANeSI}}, {"a-nesi", {"96.0", kANeSI}}});
    add_losses(all, "Two digits compared, which is greater alone known", "greater", "best", true, {});
    add_losses(all, "A path through a grid, whether there is one alone known", "grid_path", "best", true, {});
    for (const std::int64_t boards : {100, 1000, 9000})
      add_reasoners(all, "Sudoku of 31 to 42 clues", boards, 31, 42, boards == 9000);
    add_reasoners(all, "Sudoku of 17 to 34 clues", 180000, 17, 34, false);
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

int run_peers(const PeerOptions& options) {
  const std::vector<json> finished = read_peer_rows(options.out);
  std::vector<const Peer*> chosen;
  for (const Peer& peer : peers()) {
    if (wanted(peer, options.only)) chosen.push_back(&peer);
  }
  if (chosen.empty()) throw InputError("--only matches no row", {"`as2 bench peers --list` names them all"});
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
        out << row.dump() << std::endl;
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
