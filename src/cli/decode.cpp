// as2 decode: beliefs in, an assignment that satisfies the program out, or why there is none.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "as2/compile.h"
#include "as2/decoder.h"
#include "cli/beliefs.h"
#include "cli/decode_document.h"
#include "cli/interrupt.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "compile/position_index.h"
#include "files.h"
#include "infer/pictures.h"
#include "json_text.h"
#include "text.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;
using decode::Decoded;
using decode::DecodeOptions;

struct DecodeArguments {
  std::shared_ptr<ProgramOptions> program;
  std::string beliefs;
  std::string method = "map";
  std::vector<std::string> evidence;
  std::vector<std::string> pins;
  std::vector<std::string> objective_weights;
  bool objective_first = false;
  int models = 1;
  bool unique = false;
  double unique_margin = DecodeOptions{}.unique_margin;
  int unique_readings = DecodeOptions{}.unique_readings;
  bool explain = false;
  std::int64_t node_budget = 0;
  double time_budget = 0;
  int threads = 0;
  bool json = false;
};

// The names and patterns in a list, between which stand commas or blanks. A pattern may leave parentheses
// open: `cell(*`. So whatever is open, the end of the line ends a name, and so does a blank after `*`, unless
// a comma or a parenthesis goes on with it.
std::vector<std::string> names_in(const std::string& list) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  std::vector<std::string> names;
  std::size_t begin = 0;
  const auto take = [&](std::size_t end) {
    for (std::string& name : split_terms(std::string_view(list).substr(begin, end - begin), ", \t\r\v\f")) {
      if (!name.empty()) names.push_back(std::move(name));
    }
    begin = end + 1;
  };
  Strings strings;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (list[k] == '\n') {
      take(k);
      strings = {};
    } else if (!strings.take(list[k]) && k > begin && list[k - 1] == '*' &&
               kBlanks.find(list[k]) != std::string_view::npos) {
      const std::size_t next = std::min(list.find_first_not_of(kBlanks, k), list.size());
      if (next == list.size() || (list[next] != ',' && list[next] != ')')) take(k);
    }
  }
  take(list.size());
  return names;
}

std::vector<int> read_evidence(const std::vector<std::string>& given, const ConstraintProgram& program) {
  const compile::PositionIndex index(program);
  std::vector<int> evidence;
  for (const std::string& argument : given) {
    SourceLocation location{"--evidence"};
    std::string text = argument;
    std::error_code ignored;
    if (index.find(argument) < 0 && std::filesystem::is_regular_file(argument, ignored)) {
      text = read_file(argument, kLargestText);
      location.file = argument;
    }
    for (const std::string& name : names_in(text)) {
      std::vector<int> named;
      if (const int position = index.find(name); position >= 0) {
        named.push_back(position);
      } else {
        named = infer::positions_named(program, name);
      }
      if (named.empty()) named.push_back(require_position(program, name, location));
      evidence.insert(evidence.end(), named.begin(), named.end());
    }
  }
  return evidence;
}

std::vector<decode::Pin> read_pins(const std::vector<std::string>& given, const ConstraintProgram& program) {
  std::vector<decode::Pin> pins;
  for (const std::string& argument : given) {
    const AtPosition pin = split_at_position(program, "--pin", argument, "POSITION=SYMBOL");
    const SourceLocation location{"--pin"};
    const int position = require_position(program, pin.name, location);
    if (std::any_of(pins.begin(), pins.end(),
                    [&](const decode::Pin& earlier) { return earlier.position == position; })) {
      throw InputError(location, pin.name + " is pinned twice", {"hold a position to one symbol"});
    }
    pins.push_back({position, require_symbol(program, position, pin.value, location)});
  }
  return pins;
}

std::vector<double> read_objective_weights(const std::vector<std::string>& given,
                                           const ConstraintProgram& program) {
  // A weight without a level is that of every level that has none of its own, whichever stands first.
  double other = 1;
  std::vector<std::optional<double>> own(program.objectives.size());
  bool has_other = false;
  const auto refuse_second = [](const std::string& argument, bool already) {
    if (already) throw UsageError("--objective-weight " + argument + ": this weight is given twice");
  };
  for (const std::string& argument : given) {
    const auto number = [&](const std::string& text) {
      std::size_t used = 0;
      double value = 0;
      try {
        value = std::stod(text, &used);
      } catch (const std::exception&) {
        used = 0;
      }
      if (used == 0 || used != text.size() || !std::isfinite(value)) {
        throw UsageError("--objective-weight " + argument + ": expected [LEVEL=]NUMBER");
      }
      return value;
    };
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      refuse_second(argument, has_other);
      other = number(argument);
      has_other = true;
      continue;
    }
    const double level = number(argument.substr(0, equals));
    bool known = false;
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (program.objectives[k].priority != level) continue;
      refuse_second(argument, own[k].has_value());
      own[k] = number(argument.substr(equals + 1));
      known = true;
    }
    if (!known) {
      std::string levels;
      for (const auto& objective : program.objectives) levels += " " + std::to_string(objective.priority);
      throw InputError("--objective-weight " + argument + ": the program has no objective of that level",
                       {"its levels are" + (levels.empty() ? " none" : levels)});
    }
  }
  std::vector<double> weights;
  for (const std::optional<double>& weight : own) weights.push_back(weight.value_or(other));
  return weights;
}

// Prints the answer's JSON document as text for people.
void print_answer(const Json& json, std::ostream& out) {
  if (json.contains("error")) {
    out << json["error"].get<std::string>() << '\n';
    return;
  }
  out << json["status"].get<std::string>();
  if (json["status"] == "unknown") out << ": a budget of time or nodes ended before anything was found";
  if (json.contains("dead_end_position")) {
    out << ": nothing is left for " << json["dead_end_position"].get<std::string>();
  }
  if (!json["assignment"].is_null()) out << ", log p = " << in_digits(json["log_probability"]);
  if (json.contains("gap")) out << ", at most " << in_digits(json["gap"]) << " from the best";
  if (json.contains("cost") && !json["cost"].is_null()) out << ", cost " << json_text(json["cost"]);
  out << ", " << json["nodes"] << " nodes\n";
  if (!json["assignment"].is_null()) {
    std::string line;
    for (const auto& atom : json["atoms"]) line += (line.empty() ? "" : " ") + atom.get<std::string>();
    out << line << '\n';
  }
  if (json.contains("unique")) {
    const Json& unique = json["unique"];
    if (unique["found"].get<bool>()) {
      out << "unique: the reading of rank " << unique["rank"] << " has exactly one completion";
    } else if (unique["complete"].get<bool>()) {
      out << "not unique: no reading within the margin has exactly one completion";
    } else {
      out << "perhaps not unique: the effort ended before a reading with exactly one completion was found";
    }
    out << " (" << unique["readings"] << " tested)\n";
  }
  if (json.contains("models")) {
    for (std::size_t k = 0; k < json["models"].size(); ++k) {
      out << "model " << k + 1 << ": log p = " << in_digits(json["models"][k]["log_probability"]);
      if (json["models"][k].contains("cost")) out << ", cost " << json_text(json["models"][k]["cost"]);
      if (k > 0) {
        for (const auto& [position, symbol] : json["models"][k]["assignment"].items()) {
          if (symbol != json["models"][0]["assignment"][position])
            out << "  " << position << " = " << symbol.get<std::string>();
        }
      }
      out << '\n';
    }
  }
  if (!json.contains("changed")) return;
  for (const auto& change : json["changed"]) {
    out << "changed: " << change["position"].get<std::string>() << " read "
        << change["read"].get<std::string>() << " (p = " << in_digits(change["p_read"]) << "), decoded "
        << change["decoded"].get<std::string>() << " (p = " << in_digits(change["p_decoded"]) << ")\n";
  }
  const char* what = json["status"] == "unsatisfiable" ? "in conflict: " : "broken by the reading: ";
  for (const auto& conflict : json["conflicts"]) {
    out << what << conflict["family"].get<std::string>() << " (" << conflict["file"].get<std::string>() << ":"
        << conflict["line"] << ")";
    for (const auto& position : conflict["positions"]) out << ' ' << position.get<std::string>();
    out << '\n';
  }
  if (json.contains("conflicting_pins")) {
    for (const auto& [position, symbol] : json["conflicting_pins"].items()) {
      out << "in conflict: --pin " << position << "=" << symbol.get<std::string>() << '\n';
    }
  }
}

// Refuses options that would have no effect.
void refuse_idle_settings(const DecodeArguments& arguments) {
  const bool greedy = arguments.method == "greedy";
  const std::pair<const char*, bool> without_effect[] = {
      {"--models", arguments.models != 1},
      {"--objective-weight", !arguments.objective_weights.empty()},
      {"--objective-first", arguments.objective_first},
      {"--node-budget", arguments.node_budget != 0},
      {"--time-budget", arguments.time_budget != 0},
  };
  for (const auto& [option, given] : without_effect) {
    if (greedy && given) throw UsageError(std::string(option) + " has no effect with --method greedy");
  }
  if (arguments.objective_first && !arguments.objective_weights.empty())
    throw UsageError("--objective-weight has no effect with --objective-first");
  if (!arguments.unique) {
    if (!greedy && !arguments.evidence.empty()) {
      throw UsageError("--evidence has an effect only with --method greedy or --unique");
    }
    return;
  }
  if (arguments.evidence.empty()) throw UsageError("--unique needs --evidence: the positions that were read");
  if (greedy) throw UsageError("--unique goes with --method map");
  if (arguments.objective_first || !arguments.objective_weights.empty()) {
    throw UsageError("--objective-first and --objective-weight have no effect with --unique");
  }
}

// The answers; those found so far, where a signal ends the search.
std::vector<Decoded> decode_until_stopped(const decode::Decoder& decoder,
                                          const std::vector<decode::Query>& queries, DecodeOptions options,
                                          int threads, bool& stopped) {
  const InterruptScope interrupt;
  options.stop = &interrupt.stop();
  std::vector<Decoded> decoded = decoder.decode_batch(queries, options, threads);
  stopped = interrupt.stop();
  return decoded;
}

// Prints the answers to the entries; whether there was one to each. `stopped`: what is printed is what had
// been found when a signal came.
bool answer(const DecodeArguments& arguments, const decode::Decoder& decoder, const DecodeOptions& options,
            const std::vector<decode::Pin>& pins, const std::vector<int>& evidence,
            const std::vector<BeliefsEntry>& entries, bool& stopped) {
  const ConstraintProgram& program = decoder.program();
  std::vector<decode::Query> good;
  std::vector<double> missing;  // per good entry
  for (const BeliefsEntry& entry : entries) {
    for (const std::string& warning : entry.warnings) std::cerr << warning << '\n';
    if (!entry.error.empty()) continue;
    good.push_back({entry.beliefs, pins, evidence, {}});
    missing.push_back(weigh_guesses(program, entry.believed, good.back().beliefs));
  }
  std::vector<Decoded> decoded = decode_until_stopped(decoder, good, options, arguments.threads, stopped);
  const DecodeContent content{options.method, arguments.models > 1, arguments.explain};
  std::size_t next = 0;
  for (const BeliefsEntry& entry : entries) {
    Json json;
    if (entry.error.empty()) {
      for (decode::Model& model : decoded[next].models) model.log_probability += missing[next];
      json = decode_json(program, good[next].beliefs, decoded[next], content);
      ++next;
    } else {
      json = Json{{"error", entry.error}};
    }
    if (arguments.json) {
      print_document(json);
    } else {
      print_answer(json, std::cout);
    }
  }
  return next == entries.size();
}

int decode_beliefs(const DecodeArguments& arguments) {
  refuse_idle_settings(arguments);
  const decode::Decoder decoder(arguments.program->compile(arguments.beliefs).program);
  const ConstraintProgram& program = decoder.program();
  if (program.objectives.empty() && (arguments.objective_first || !arguments.objective_weights.empty()))
    throw UsageError("--objective-first and --objective-weight have no effect: the program has no objective");
  DecodeOptions options;
  options.method = arguments.method == "greedy" ? decode::Method::kGreedy : decode::Method::kMap;
  if (!arguments.unique) {
    options.objective_weights = read_objective_weights(arguments.objective_weights, program);
  }
  options.unique = arguments.unique;
  options.unique_margin = arguments.unique_margin;
  options.unique_readings = arguments.unique_readings;
  options.objective_first = arguments.objective_first;
  options.models = arguments.models;
  options.node_budget = arguments.node_budget;
  options.time_budget_seconds = arguments.time_budget;
  options.minimal_conflict = arguments.explain;

  const std::vector<decode::Pin> pins = read_pins(arguments.pins, program);
  const std::vector<int> evidence = read_evidence(arguments.evidence, program);
  BeliefsReader reader(arguments.beliefs, program);
  int code = kDone;
  bool stopped = false;
  for (auto entries = reader.some(); !entries.empty() && !stopped; entries = reader.some()) {
    if (!answer(arguments, decoder, options, pins, evidence, entries, stopped)) code = kInputAtFault;
    flush_output();
    if (stopped) {
      std::cerr << "stopped: an answer called satisfied is the best that was found until then; --time-budget "
                   "limits the search beforehand\n";
    }
  }
  return code;
}

}  // namespace

Action declare_decode(CLI::App& command) {
  auto arguments = std::make_shared<DecodeArguments>();
  arguments->program = declare_program(command);
  declare_beliefs(command, arguments->beliefs);
  command
      .add_option("--method", arguments->method,
                  "map: the best assignment, exactly; greedy: the paper's procedure")
      ->check(CLI::IsMember({"map", "greedy"}))
      ->capture_default_str();
  command
      .add_option("--evidence", arguments->evidence,
                  "Positions that were read, `*` for any text, or a file that lists them: greedy locks them "
                  "first, --unique "
                  "searches over their readings")
      ->type_name("POSITIONS|FILE");
  command.add_option("--pin", arguments->pins, "Holds a position to a symbol; all other evidence is soft")
      ->type_name("POSITION=SYMBOL");
  command.add_option("--models", arguments->models, "map: the K best assignments, in order")
      ->check(CLI::Range(1, 1000000))
      ->type_name("K");
  CLI::Option* unique =
      command.add_flag("--unique", arguments->unique,
                       "map: the most probable reading of the evidence that leaves exactly one completion");
  command
      .add_option("--unique-margin", arguments->unique_margin,
                  "How much less probable than the best reading it may be, in log p")
      ->check(number_between(0, 1e9))
      ->capture_default_str()
      ->needs(unique);
  command
      .add_option("--unique-readings", arguments->unique_readings, "Readings tested at most, per document")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str()
      ->needs(unique);
  command.add_flag(
      "--explain", arguments->explain,
      "Also says what the decoder changed, which constraints the reading broke, and what conflicts");
  command
      .add_option("--objective-weight", arguments->objective_weights,
                  "Weight of an objective's cost against log p; 1 by default")
      ->type_name("[LEVEL=]NUMBER");
  command.add_flag("--objective-first", arguments->objective_first,
                   "Decides by the objectives first; log p only breaks ties");
  command
      .add_option(
          "--node-budget", arguments->node_budget,
          "map: stop after this many nodes per document, or twice as many while nothing is found; 0: never")
      ->check(whole_number_from(0));
  command
      .add_option("--time-budget", arguments->time_budget,
                  "map: stop after this many seconds per document; 0: never")
      ->check(number_between(0, 1e9));
  command.add_option("--threads", arguments->threads, "0: all cores")->check(whole_number_from(0));
  command.add_flag("--json", arguments->json, "One JSON document per input document, one per line");
  command.footer(
      "Status: optimal; satisfied (a budget ran out; `gap` bounds what is missing; or greedy); "
      "unsatisfiable; "
      "dead_end (greedy); unknown (a budget ran out with nothing found). All are answers: exit 0.");
  return [arguments] { return decode_beliefs(*arguments); };
}

}  // namespace as2::cli
