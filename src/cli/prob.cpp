// as2 prob: the exact probability of the program, of queries, and of every symbol and atom.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "as2/compile.h"
#include "as2/probability.h"
#include "cli/beliefs.h"
#include "cli/circuit_options.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/questions.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "json_text.h"
#include "prob/contradiction.h"
#include "text.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;
using prob::Circuit;
using prob::Observable;
using prob::Observation;
using prob::Weights;

constexpr const char* kExplained = "`as2 decode --explain` names the constraints";

struct ProbArguments {
  std::shared_ptr<ProgramOptions> program;
  std::string beliefs;
  std::vector<std::string> queries;
  std::vector<std::string> distributions;
  bool marginals = false;
  bool count = false;
  int sample = 0;
  std::optional<std::uint64_t> seed;
  CircuitOptions circuit;
  bool json = false;
};

// The user's questions, read once for all documents.
struct Asked {
  std::vector<Observation> queries;
  std::vector<std::pair<std::string, Observable>> atoms;  // the atoms of all --distribution patterns
};

// Refuses options that would have no effect.
void check_usage(const ProbArguments& arguments) {
  const bool approximate = !arguments.circuit.exact();
  const bool draws = arguments.sample > 0 || arguments.circuit.approx == "sample";
  if (arguments.seed && !draws) throw UsageError("--seed needs --sample or --approx sample");
  arguments.circuit.check_usage();
  if (approximate && arguments.count) throw UsageError("--count is exact; --approx does not count");
  if (approximate && arguments.sample > 0)
    throw UsageError("--sample draws from the circuit, not with --approx");
}

Asked read_questions(const ProbArguments& arguments, const ConstraintProgram& program) {
  Asked questions;
  for (const std::string& text : arguments.queries) {
    questions.queries.push_back(prob::parse_observation(program, text));
    judge_unknown(program, questions.queries.back());
  }
  for (const std::string& pattern : arguments.distributions) {
    const auto matching = require_atoms(program, pattern);
    questions.atoms.insert(questions.atoms.end(), matching.begin(), matching.end());
  }
  return questions;
}

Json queries_json(const ProbArguments& arguments, const std::vector<double>& probabilities) {
  Json list = Json::array();
  for (std::size_t q = 0; q < probabilities.size(); ++q) {
    list.push_back({{"query", arguments.queries[q]}, {"p", probabilities[q]}});
  }
  return list;
}

template <class Probability>
Json marginals_json(const ConstraintProgram& program, const Probability& probability) {
  Json object = Json::object();
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    Json& row = object[program.positions[i].name] = Json::object();
    for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s) {
      row[program.positions[i].symbols[s]] = probability(static_cast<int>(i), static_cast<int>(s));
    }
  }
  return object;
}

// A JSON number where every reader of JSON represents it exactly, otherwise a string of digits.
Json count_json(const std::string& digits) {
  if (digits.size() < 16) return std::stoll(digits);
  return digits;
}

// How many positions weigh 1, whatever their symbol.
std::int64_t without_beliefs(const BeliefsEntry& entry) {
  return std::count(entry.believed.begin(), entry.believed.end(), 0);
}

Json exact_answer(const ProbArguments& arguments, const ConstraintProgram& program, const Circuit& circuit,
                  const Asked& questions, const BeliefsEntry& entry) {
  const Weights weights = prob::weights_of(circuit, program, entry.beliefs, entry.believed);
  const prob::Evaluated evaluated = prob::evaluate(circuit, {weights});
  const double log_p = evaluated.log_value[0];
  const bool impossible = std::isinf(log_p);
  // Then nothing can be asked but how many answer sets there are.
  if (impossible && (!arguments.count || !arguments.queries.empty() || !arguments.distributions.empty() ||
                     arguments.marginals || arguments.sample > 0))
    prob::refuse_contradiction(program, prob::contradicting_positions(circuit, program, weights), kExplained);
  std::vector<double> marginals;
  if (!impossible) marginals = prob::marginals(circuit, weights, evaluated, 0);
  Json json;
  json["log_p_program"] = impossible ? Json() : Json(log_p);
  std::vector<double> probabilities;
  for (const Observation& query : questions.queries) {
    Weights observed = weights;
    const bool possible = prob::observe(circuit, query, observed);
    probabilities.push_back(possible ? std::exp(prob::log_value(circuit, observed) - log_p) : 0.0);
  }
  if (!arguments.queries.empty()) json["queries"] = queries_json(arguments, probabilities);
  if (!arguments.distributions.empty()) {
    json["distribution"] = Json::object();
    for (const auto& [atom, observable] : questions.atoms) {
      json["distribution"][atom] = prob::probability_of(circuit, observable, marginals);
    }
  }
  if (arguments.marginals) {
    json["marginals"] = marginals_json(program, [&](int i, int s) { return marginals[circuit.input(i, s)]; });
  }
  if (arguments.count) json["count"] = count_json(prob::count_answers(circuit));
  if (arguments.sample > 0) {
    json["samples"] = Json::array();
    for (const auto& assignment :
         prob::draw(circuit, weights, arguments.sample, arguments.seed.value_or(1))) {
      json["samples"].push_back(assignment_json(program, assignment));
    }
  }
  json["exact"] = true;
  json["bound"] = 0.0;
  json["without_beliefs"] = without_beliefs(entry);
  return json;
}

Json approximate_answer(const ProbArguments& arguments, const ConstraintProgram& program,
                        const Asked& questions, const BeliefsEntry& entry) {
  // Everything is computed as one list of queries: the user's own, then the distributions' atoms, then every
  // symbol.
  std::vector<Observation> queries = questions.queries;
  for (const auto& [atom, observable] : questions.atoms) queries.push_back({observable});
  std::vector<std::size_t> row_begin;
  for (std::size_t i = 0; arguments.marginals && i < program.positions.size(); ++i) {
    row_begin.push_back(queries.size());
    const int size = static_cast<int>(program.positions[i].symbols.size());
    for (int s = 0; s < size; ++s) {
      Observable symbol;
      symbol.kind = size > 1 ? Observable::Kind::kSet : Observable::Kind::kAlways;
      symbol.set = {static_cast<int>(i), {s}};
      queries.push_back({symbol});
    }
  }
  const prob::Approximation found = arguments.circuit.approximate(program, entry.beliefs, entry.believed,
                                                                  queries, arguments.seed.value_or(1));
  if (std::isinf(found.log_p_program)) {
    if (found.bound == 0) prob::refuse_contradiction(program, found.contradicting, kExplained);
    arguments.circuit.refuse_nothing_found();
  }
  Json json;
  json["log_p_program"] = found.log_p_program;
  const auto begin = found.queries.begin();
  if (!arguments.queries.empty()) {
    json["queries"] =
        queries_json(arguments, {begin, begin + static_cast<std::ptrdiff_t>(questions.queries.size())});
  }
  if (!arguments.distributions.empty()) {
    json["distribution"] = Json::object();
    for (std::size_t a = 0; a < questions.atoms.size(); ++a) {
      json["distribution"][questions.atoms[a].first] = found.queries[questions.queries.size() + a];
    }
  }
  if (arguments.marginals) {
    json["marginals"] = marginals_json(
        program, [&](int i, int s) { return found.queries[row_begin[i] + static_cast<std::size_t>(s)]; });
  }
  json["exact"] = arguments.circuit.approx == "top-k" && found.bound == 0;
  json["bound"] = found.bound;
  json["without_beliefs"] = without_beliefs(entry);
  return json;
}

void print_probabilities(const ProbArguments& arguments, const Json& json, std::ostream& out) {
  if (json.contains("error")) {
    out << json["error"].get<std::string>() << '\n';
    return;
  }
  const bool exact = json["exact"];
  out << "P(program) " << (exact ? "= " : "≈ ");
  if (json["log_p_program"].is_null()) {
    out << 0;
  } else {
    const double log_p = json["log_p_program"], p = std::exp(log_p);
    if (std::isnormal(p))
      out << p << " (log " << log_p << ")";
    else
      out << "e^" << log_p;
  }
  const std::int64_t open = json["without_beliefs"];
  if (open > 0) {
    out << "; " << open
        << (open == 1 ? " position without beliefs weighs 1" : " positions without beliefs weigh 1")
        << " with every symbol";
  }
  out << '\n';
  if (!exact) out << arguments.circuit.text_of_bound(json["bound"]) << '\n';
  if (json.contains("queries")) {
    for (const auto& query : json["queries"]) {
      out << "P(" << query["query"].get<std::string>() << ") = " << in_digits(query["p"]) << '\n';
    }
  }
  if (json.contains("distribution")) {
    for (const auto& [atom, p] : json["distribution"].items()) out << atom << ' ' << in_digits(p) << '\n';
  }
  if (json.contains("marginals")) {
    for (const auto& [position, row] : json["marginals"].items()) {
      out << position;
      for (const auto& [symbol, p] : row.items()) out << "  " << symbol << ' ' << in_digits(p);
      out << '\n';
    }
  }
  if (json.contains("count")) {
    const Json& count = json["count"];
    out << "answer sets: " << (count.is_string() ? count.get<std::string>() : json_text(count)) << '\n';
  }
  if (json.contains("samples")) {
    for (const auto& sample : json["samples"]) {
      std::string line;
      for (const auto& [position, symbol] : sample.items()) {
        line += (line.empty() ? "" : " ") + position + "=" + symbol.get<std::string>();
      }
      out << line << '\n';
    }
  }
}

// Prints the probabilities under each entry; whether all could be given. An error in the only entry is
// thrown.
bool answer(const ProbArguments& arguments, const ConstraintProgram& program, const Circuit& circuit,
            const Asked& questions, std::vector<BeliefsEntry>& entries, const std::function<bool()>& alone) {
  bool good = true;
  for (BeliefsEntry& entry : entries) {
    for (const std::string& warning : entry.warnings) std::cerr << warning << '\n';
    Json json;
    try {
      if (entry.error.empty()) {
        json = arguments.circuit.exact() ? exact_answer(arguments, program, circuit, questions, entry)
                                         : approximate_answer(arguments, program, questions, entry);
      }
    } catch (const InputError& error) {
      if (alone()) throw;
      entry.error = error.what();
    }
    if (!entry.error.empty()) {
      json = Json{{"error", entry.error}};
      good = false;
    }
    if (arguments.json) {
      print_document(json);
    } else {
      print_probabilities(arguments, json, std::cout);
    }
  }
  return good;
}

int give_probabilities(const ProbArguments& arguments) {
  check_usage(arguments);
  const ConstraintProgram program = arguments.program->compile(arguments.beliefs).program;
  const Asked questions = read_questions(arguments, program);
  BeliefsReader reader(arguments.beliefs, program);
  auto entries = reader.some();  // what is wrong with them costs no circuit
  Circuit circuit;
  if (arguments.circuit.exact()) {
    std::vector<int> nodes;
    for (const Observation& query : questions.queries) {
      for (const Observable& observable : query) prob::collect_nodes(observable, nodes);
    }
    for (const auto& [atom, observable] : questions.atoms) prob::collect_nodes(observable, nodes);
    circuit = prob::compile_circuit(program, nodes, arguments.circuit.budget());
  }
  bool good = true;
  for (; !entries.empty(); entries = reader.some()) {
    // Without a file there are no beliefs, and every answer set weighs 1.
    if (arguments.beliefs.empty()) entries.front().warnings.clear();
    good = answer(arguments, program, circuit, questions, entries, [&] { return reader.only_one(); }) && good;
    flush_output();
  }
  return good ? kDone : kInputAtFault;
}

}  // namespace

Action declare_prob(CLI::App& command) {
  auto arguments = std::make_shared<ProbArguments>();
  arguments->program = declare_program(command);
  declare_beliefs(command, arguments->beliefs);
  declare_questions(command, arguments->queries, arguments->distributions);
  command.add_flag("--marginals", arguments->marginals, "The probability of every symbol of every position");
  command.add_flag("--count", arguments->count, "The number of answer sets");
  command.add_option("--sample", arguments->sample, "Draws this many answer sets by their probability")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command.add_option("--seed", arguments->seed, "Seed of the draws; 1 by default")
      ->check(a_seed())
      ->type_name("S");
  arguments->circuit.declare(command);
  command.add_flag("--json", arguments->json, "One JSON document per input document, one per line");
  command.footer(
      "A position that the beliefs leave out weighs 1. P(query) is relative to P(program), the weight of all "
      "answer sets. A program whose answer sets all weigh 0 is an error that names the beliefs at fault.");
  return [arguments] { return give_probabilities(*arguments); };
}

}  // namespace as2::cli
