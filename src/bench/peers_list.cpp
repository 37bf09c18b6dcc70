// The rows of `as2 bench peers`, and what is published of each system.
#include <algorithm>
#include <map>

#include "as2/error.h"
#include "bench/peers.h"

namespace as2::bench {
namespace {

const char* const kAddition = "Addition of two digits, the sum alone known";
const char* const kNumbers = "Addition of numbers of two digits, the sum alone known";
const char* const kGreater = "Two digits compared, which is greater alone known";
const char* const kPath = "A path through a grid, whether there is one alone known";
const char* const kSmallBoards = "Sudoku of 4 × 4, 4 to 8 clues, networks of that size";
const char* const kLargeBoards = "Sudoku of 9 × 9, 31 to 42 clues";
const char* const kFewestClues = "Sudoku of 9 × 9, trained on 17 to 34 clues, tested on the fewest";
const char* const kDecoding = "Decoding, clues read from pictures";

const char* const kOwn = "van Krieken et al., NeurIPS 2023, table 1";
const char* const kQuoted = "quoted by van Krieken et al., NeurIPS 2023, table 1";
const char* const kPaper = "quoted by the AS² paper; not confirmed";

using Figures = std::map<std::string, Published>;  // by preset

void add_peer(std::vector<Peer>& list, Peer peer, const Figures& figures) {
  if (const auto figure = figures.find(peer.preset); figure != figures.end()) peer.published = figure->second;
  list.push_back(std::move(peer));
}

struct Losses {
  const char *table, *task;
  double minutes;
  std::vector<std::pair<std::string, std::string>> ours;  // systems and presets of the task's own
  bool fuzzy = true;                                      // LTN can learn it
};

// Learning from what is observed.
void add_losses(std::vector<Peer>& list, const Losses& losses, const Figures& figures) {
  const auto add = [&](const std::string& system, const std::string& preset) {
    Peer peer;
    peer.table = losses.table;
    peer.system = system;
    peer.task = losses.task;
    peer.preset = preset;
    peer.settings = {"data.validation=256"};
    peer.minutes = losses.minutes;
    add_peer(list, std::move(peer), figures);
  };
  add("NeurASP", "neurasp");
  add("DeepProbLog", "deepproblog");
  add("Scallop, k = 3", "scallop");
  add("Scallop, k = 10", "scallop-10");
  add("SLASH", "slash");
  add("Semantic loss", "semantic-loss");
  if (losses.fuzzy) {
    add("LTN, product", "ltn");
    add("LTN, Gödel", "ltn-goedel");
    add("LTN, Łukasiewicz", "ltn-lukasiewicz");
  }
  add("A-NeSI", "a-nesi");
  for (const auto& [system, preset] : losses.ours) add(system, preset);
}

struct BoardRows {
  const char* table;
  std::int64_t box, count, min_clues, max_clues;
  double minutes;
  bool fewest_clues = false;
};

// Reasoners on the same boards. On 4 × 4 there are no pictures.
void add_reasoners(std::vector<Peer>& list, const BoardRows& boards, const Figures& figures) {
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
    // SATNet runs on the host in any case: one row there shows what its published training would take.
    const bool for_its_cost = preset == "satnet" && boards.count == 9000;
    peer.needs_gpu = !small && !for_its_cost;
    peer.minutes = small || peer.needs_gpu ? boards.minutes : 3;
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
  std::vector<std::string> ours = {"train.batch=64"};
  if (!small)
    ours.insert(ours.end(),
                {"train.perceived_share=0", "train.freeze_epochs=-1", "model.perception.preset=best",
                 "perception_from=models/sudoku-best.safetensors"});
  std::vector<std::string> paper = ours;
  for (const std::string& setting : size({"layers=2", "heads=2", "d_model=32", "d_ff=64"}))
    paper.push_back(setting);
  paper.emplace_back("losses.perception.weight=0");
  add("AS², the paper's Transformer (rules as loss)", "paper", paper);
  add("AS² (ours; rules as T_P)", small ? "tiny" : "best", ours);
}

// Ways to decode what one and the same network, which ships, reads.
void add_decoding(std::vector<Peer>& list) {
  const auto add = [&](const std::string& system, const std::string& method, const Published& published) {
    Peer peer;
    peer.table = kDecoding;
    peer.system = system;
    peer.task = "sudoku";
    peer.preset = "best";
    peer.model = "sudoku-best";
    peer.method = method;
    peer.published = published;
    list.push_back(std::move(peer));
  };
  add("Pipeline: argmax, then clingo", "pipeline", {});
  add("PBCS: joint decoding over perception", "perception_map", {"99.4", kPaper, "", 0});
  add("PBCS with uniqueness", "unique_map", {});
  add("AS², the reasoner's argmax", "raw", {"95.60", "the AS² paper", "", 0});
  add("AS² (ours): joint decoding, the reasoner's order", "map", {"100.0", "the AS² paper, greedy", "", 0});
}

std::vector<Peer> all_peers() {
  std::vector<Peer> all;
  const std::string once = "one pass over 30,000 pairs";
  add_losses(
      all,
      {kAddition,
       "addition",
       1.5,
       {{"AS², on the same network (ours)", "one-epoch"}, {"AS² (ours)", "sum-only"}}},
      {{"neurasp", {"97.30 ± 0.30", kQuoted, once, 0}},
       {"deepproblog", {"97.20 ± 0.50", std::string("Manhaeve et al., AIJ 298, 2021; ") + kQuoted, once, 0}},
       {"ltn", {"80.54 ± 23.33", std::string(kQuoted) + " (ten runs; some did not learn)", "", 0}},
       {"a-nesi", {"97.66 ± 0.21", kOwn, "100 passes over 30,000 pairs in batches of 16", 187500}},
       {"scallop", {"98.22", kPaper, "", 0}}});
  add_losses(all, {kNumbers, "multi_digit_addition", 1, {{"AS² (ours)", "best"}}, false},
             {{"neurasp", {"93.90 ± 0.70", kQuoted, "", 0}},
              {"deepproblog", {"95.20 ± 1.70", kQuoted, "", 0}},
              {"a-nesi", {"95.96 ± 0.38", kOwn, "100 passes over 15,000 pairs in batches of 16", 93750}}});
  add_losses(all, {kGreater, "greater", 0.5, {{"AS² (ours)", "best"}}}, {});
  add_losses(all, {kPath, "grid_path", 0.25, {{"AS² (ours)", "best"}}}, {});
  for (const std::int64_t boards : {100, 1000, 9000})
    add_reasoners(all, {kSmallBoards, 2, boards, 4, 8, 1}, {});
  for (const std::int64_t boards : {100, 1000, 9000}) {
    Figures figures;
    if (boards == 9000)
      figures = {{"satnet",
                  {"98.3", "Wang et al., ICML 2019: 9,000 boards of their own",
                   "100 passes over 9,000 boards in batches of 40", 22500}},
                 {"recurrent-transformer",
                  {"100", "Yang et al., ICLR 2023: SATNet's boards; confirmed at second hand only",
                   "200 passes over 9,000 boards in batches of 16", 112500}}};
    add_reasoners(all, {kLargeBoards, 3, boards, 31, 42, 10}, figures);
  }
  add_reasoners(all, {kFewestClues, 3, 180000, 17, 34, 10, true},
                {{"rrn",
                  {"96.6", "Palm et al., NeurIPS 2018: 17 clues, 180,000 boards of 17 to 34",
                   "batches of 252 on six GPUs", 0}}});
  add_decoding(all);
  return all;
}

bool wanted(const Peer& peer, const std::vector<std::string>& only) {
  const std::string title = title_of(peer);
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& word) {
           return title.find(word) != std::string::npos;
         });
}

}  // namespace

const std::vector<Peer>& peers() {
  static const std::vector<Peer> list = all_peers();
  return list;
}

std::string about_table(const std::string& table) {
  const char* const same_loss =
      "AS² trains on NeurASP's loss here, the exact likelihood of what is observed; its row differs in what "
      "else its preset sets: network, batch, rate and distorted pictures.";
  if (table == kNumbers)
    return std::string(same_loss) +
           " LTN is left out: it would have to sum over carries, which nobody reads, and is refused.";
  if (table == kGreater) return same_loss;
  if (table == kPath)
    return "AS² trains on NeurASP's loss and network here, the exact likelihood of what is observed; its row "
           "differs in the batch alone, 32 for 16.";
  if (table == kSmallBoards)
    return "There are only 288 solved 4 × 4 grids, so 1,000 boards show nearly all of them: this table "
           "says that a method works, and how fast. What is learnt from few boards, without the rules and "
           "with them, only 9 × 9 can tell.";
  if (table == kLargeBoards)
    return "SATNet runs on the host whatever the device. Its row on the CPU is there for what a step costs.";
  if (table == kDecoding)
    return "Nothing is trained: `models/sudoku-best` reads the clues of 9 × 9 boards, and each row decodes "
           "the same readings.";
  return "";
}

std::string title_of(const Peer& peer) {
  return peer.table + ": " + peer.system + " (" + peer.task + ", " + peer.preset +
         (peer.boards > 0 ? ", " + std::to_string(peer.boards) + " boards" : "") + ")";
}

std::vector<const Peer*> chosen_peers(const std::vector<std::string>& only) {
  std::vector<const Peer*> chosen;
  for (const Peer& peer : peers()) {
    if (wanted(peer, only)) chosen.push_back(&peer);
  }
  if (chosen.empty()) throw InputError("--only matches no row", {"`as2 bench peers --list` names them all"});
  return chosen;
}

}  // namespace as2::bench
