// as2 bench: names what to measure and shows the figures; bench/ measures.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>

#include "as2/error.h"
#include "bench/bench.h"
#include "bench/peers.h"
#include "cli/device.h"
#include "cli/interrupt.h"
#include "cli/print_document.h"
#include "cli/seeds.h"
#include "cli/validators.h"
#include "cli/verbs.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_table(const Json& result, std::ostream& out) {
  if (result.contains("skipped")) out << "  skipped: " << result["skipped"].get<std::string>() << '\n';
  for (const auto& row : result["rows"]) {
    out << "  " << std::left << std::setw(58) << row["name"].get<std::string>() << std::right << std::setw(10)
        << std::setprecision(4) << row["value"].get<double>() << ' ' << std::left << std::setw(6)
        << row["unit"].get<std::string>();
    if (row.contains("target")) {
      out << (row["ok"].get<bool>() ? " ok, " : " NOT MET, ") << row["target"].get<std::string>();
    }
    out << '\n';
  }
}

struct PeerArguments {
  bench::PeerOptions options;
  std::optional<double> minutes;
  std::string seeds = "0", table, picture;
  bool list = false;
};

int compare_peers(const PeerArguments& a) {
  if (a.list) {
    for (const bench::Peer* peer : bench::chosen_peers(a.options.only))
      std::cout << bench::title_of(*peer) << '\n';
    return kDone;
  }
  if (!a.table.empty()) {
    std::cout << bench::peers_document(bench::read_peer_rows(a.table));
    return kDone;
  }
  if (!a.picture.empty()) {
    std::cout << bench::peers_picture(bench::read_peer_rows(a.picture));
    return kDone;
  }
  bench::PeerOptions options = a.options;
  options.minutes = a.minutes;
  // An unknown one is refused before the first run, and `auto` says in every row what it was.
  options.device = parse_device(options.device).str();
  options.seeds = parse_seeds(a.seeds);
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.stop = &stop_on_interrupt();
  options.report = [](const std::string& text) { std::cerr << "peers: " << text << std::endl; };
  const int failed = bench::run_peers(options);
  const std::vector<nlohmann::json> rows = bench::read_peer_rows(options.out);
  if (!rows.empty()) std::cout << bench::peers_document(rows);
  if (options.stop->load()) options.report("stopped; the same command goes on from " + options.out);
  if (failed == 0) return kDone;
  throw EnvironmentError(std::to_string(failed) + " runs failed; the others are in " + options.out,
                         {"the same command repeats only those that failed"});
}

void declare_peers(CLI::App& command, PeerArguments& a) {
  CLI::Option* only = command.add_option(
      "--only", a.options.only, "rows whose line in --list contains this; may be given several times");
  const std::vector<CLI::Option*> of_runs = {
      command
          .add_option(
              "--minutes", a.minutes,
              "minutes of training for each run, validation included; default: as the table needs, from 0.25 "
              "to 10")
          ->check(number_between(0.01, 10000)),
      command.add_option("--seeds", a.seeds, "0..2 or 0,3,7")->capture_default_str(),
      command
          .add_option("--device", a.options.device,
                      "auto, cpu, cuda or cuda:N; on the CPU rows that need a GPU are left out unless --only "
                      "names them")
          ->capture_default_str(),
      command.add_option("--out", a.options.out, "JSON Lines, one per run; runs that are in it are skipped")
          ->capture_default_str(),
      command.add_option("--count", a.options.count, "test examples")
          ->capture_default_str()
          ->check(CLI::Range(1, 1000000)),
      command
          .add_option("--boards", a.options.boards,
                      "puzzles with 17 clues for the rows that are tested on the fewest; without it they are "
                      "tested on generated boards of 17 to 22")
          ->check(CLI::ExistingFile)};
  CLI::Option* table = command.add_option("--table", a.table, "only prints docs/PEERS.md from such a file")
                           ->check(CLI::ExistingFile)
                           ->excludes(only);
  CLI::Option* picture =
      command.add_option("--picture", a.picture, "only prints docs/peers.svg from such a file")
          ->check(CLI::ExistingFile)
          ->excludes(only)
          ->excludes(table);
  CLI::Option* list =
      command.add_flag("--list", a.list, "only names the rows")->excludes(table)->excludes(picture);
  for (CLI::Option* option : of_runs) option->excludes(table)->excludes(picture)->excludes(list);
}

}  // namespace

Action declare_bench(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> subjects;
    std::string device = "cpu";
    bench::Options options;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  std::vector<std::string> names;
  std::string summary;
  for (const bench::Subject& subject : bench::subjects()) {
    names.emplace_back(subject.name);
    summary += std::string("  ") + subject.name + ": " + subject.summary + "\n";
  }
  command.add_option("subjects", arguments->subjects, "What to measure; all if none is named")
      ->check(CLI::IsMember(names))
      ->type_name("SUBJECT");
  command
      .add_option("--device", arguments->device, "Where soft T_P and training run: auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  CLI::Option* fonts = command
                           .add_option("--fonts", arguments->options.fonts,
                                       "photos: folder of typefaces (.ttf, .otf), searched to the bottom")
                           ->check(CLI::ExistingDirectory)
                           ->capture_default_str();
  command.add_flag("--json", arguments->json, "One JSON document");
  command.footer(summary);
  auto peer_arguments = std::make_shared<PeerArguments>();
  CLI::App* peers = command.add_subcommand(
      "peers", "Other systems' losses, reasoners and decoding, trained and evaluated here in the same time");
  declare_peers(*peers, *peer_arguments);
  return [arguments, peer_arguments, peers, fonts]() -> int {
    if (peers->parsed()) return compare_peers(*peer_arguments);
    const auto wanted = [&](const std::string& name) {
      const auto& named = arguments->subjects;
      return named.empty() || std::find(named.begin(), named.end(), name) != named.end();
    };
    if (*fonts && !wanted("photos")) throw UsageError("--fonts is for photos, which are not to be measured");
    arguments->options.device = parse_device(arguments->device);
    Json results = Json::object();
    for (const bench::Subject& subject : bench::subjects()) {
      if (!wanted(subject.name)) continue;
      results[subject.name] = subject.measure(arguments->options, [&](const std::string& step) {
        std::cerr << subject.name << ": " << step << std::endl;
      });
      if (arguments->json) continue;
      std::cout << subject.name << '\n';
      print_table(results[subject.name], std::cout);
    }
    if (arguments->json) print_document(results);
    return kDone;
  };
}

}  // namespace as2::cli
