// `as2 bench peers`: other systems' losses, reasoners and ways to decode, trained and evaluated here on the
// same data and in the same time.
//
// Every run is `as2 train` and `as2 eval` in a process of its own, so that its memory is its own. One JSON
// line per run; a run whose line is there already is not repeated.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace as2::bench {

// What is reported of a system elsewhere.
struct Published {
  std::string percent;  // of whole examples right; empty: nothing comparable
  std::string source;   // who reports it, and where
  std::string trained;  // how long they train
  double steps = 0;     // that is this many; 0: not known
};

// One system on one task.
struct Peer {
  std::string table;   // the heading it stands under
  std::string system;  // as its authors call it
  std::string task, preset;
  std::vector<std::string> settings;  // beside the preset's
  std::string model;                  // that ships and is evaluated; empty: one is trained
  std::string method;                 // the row of `as2 eval` on read clues; empty: argmax, on given clues
  std::int64_t boards = 0;            // to train on, where the table compares several numbers
  bool fewest_clues = false;          // tested on PeerOptions::boards, or on as few clues as are generated
  double minutes = 0;                 // of training where PeerOptions does not say
  bool needs_gpu = false;             // without one it runs only when it is named
  Published published;
};
const std::vector<Peer>& peers();
// What a reader of the table must know; empty: nothing.
std::string about_table(const std::string& table);
// Those whose title contains one of the words; all if there is none. InputError if none does.
std::vector<const Peer*> chosen_peers(const std::vector<std::string>& only);
// "TABLE: SYSTEM (TASK, PRESET)", with the boards it trains on.
std::string title_of(const Peer& peer);
// A hash of what decides its result beside the row itself: its settings, the presets' included, or the
// weights of its model.
std::string configuration_of(const Peer& peer);

struct PeerOptions {
  std::optional<double> minutes;  // of training, validation included; none: each table has its own
  std::vector<std::int64_t> seeds;
  std::string device = "cpu";       // as LibTorch prints it: cpu, cuda:0
  std::string out = "peers.jsonl";  // JSON Lines
  std::vector<std::string> only;    // rows whose title contains one of these
  std::int64_t count = 1000;        // test examples
  std::string boards;               // a list of puzzles with 17 clues, for rows tested on the fewest clues
  std::string program;              // as2 itself
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string&)> report;
};

// Trains and evaluates what is not in `out` yet. Returns how many runs failed; each has been reported.
// EnvironmentError where a row cannot be written: the file then holds what it held before.
int run_peers(const PeerOptions& options);

// The rows of a file, as `run_peers` wrote them; a last line that was cut off is left out. A person may add
// to a row what its run went through, as "note": the document prints it.
std::vector<nlohmann::json> read_peer_rows(const std::string& path);

// Every table as Markdown: docs/PEERS.md.
std::string peers_document(const std::vector<nlohmann::json>& rows);
// What is right here and what is published, as one SVG: docs/peers.svg.
std::string peers_picture(const std::vector<nlohmann::json>& rows);

}  // namespace as2::bench
