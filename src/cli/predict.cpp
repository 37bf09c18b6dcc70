// as2 predict: any trained model on given pictures. What perception believes, the most probable answer set,
// and the probability of whatever is asked or observed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "as2/compile.h"
#include "as2/error.h"
#include "as2/probability.h"
#include "as2/resources.h"
#include "cli/beliefs.h"
#include "cli/circuit_options.h"
#include "cli/decode_document.h"
#include "cli/engines.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/questions.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "infer/example_lines.h"
#include "infer/grounding.h"
#include "json_text.h"
#include "native/threads.h"
#include "prob/contradiction.h"
#include "text.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;
using infer::ExampleLine;
using prob::Observation;

constexpr std::size_t kExamplesAtOnce = 256;
constexpr const char* kUnknown =
    "the model was trained with a picture at every such position; if this one is unknown, say --partial, or "
    "list in \"evidence\" what is given";

constexpr const char* kLeaveOut = "leave --query, --distribution and \"observed\" out to see what was read";

struct PredictArguments {
  std::string model, instances;
  std::vector<std::string> images, queries, distributions;
  bool partial = false, json = false;
  GroundingLimits grounding;
  CircuitOptions circuit;
  EngineChoice engine;
};

// One example on its way: what was given, or why it cannot be used.
struct Example {
  ExampleLine line;
  std::vector<std::size_t> questions;
  infer::Scene scene;
  std::vector<int> blank;  // positions whose pictures have no ink
  std::string error;
};

class Predicting {
 public:
  Predicting(const PredictArguments& arguments, const Engine& engine)
      : arguments_(arguments),
        card_(infer::read_card(infer::find_model(arguments.model))),
        program_(infer::load_program(card_.program, arguments.grounding.options())),
        map_(infer::map_pictures(*program_, card_.pictures.positions, card_.pictures.classes)),
        reader_(*program_, map_),
        questions_(*program_),
        threads_(arguments.instances.empty() ? 1 : arguments.engine.threads),
        solver_(open_solver(engine, with_threads(), card_, program_)) {
    const std::string changed = infer::changed_program(card_, *program_);
    if (!changed.empty()) std::cerr << "warning: " << changed << '\n';
  }

  int run() {
    for (const std::string& query : arguments_.queries) questions_.ask(query);
    for (const std::string& pattern : arguments_.distributions) questions_.ask_distribution(pattern);
    if (arguments_.instances.empty()) {
      examples_.resize(1);
      examples_[0].line = line_of_options();
      require_pictures(examples_[0].line);
      predict();
      return kDone;
    }
    documents_.emplace(arguments_.instances);
    while (documents_->take(kExamplesAtOnce, [&](const Document& document) { read(document); })) {
      predict();
      flush_output();
      examples_.clear();
      questions_.forget_observed();
    }
    return failed_ ? kInputAtFault : kDone;
  }

 private:
  EngineChoice with_threads() const {
    EngineChoice options = arguments_.engine;
    options.threads = threads_.count();
    options.solver.reasoned = arguments_.json;
    return options;
  }

  void read(const Document& document) {
    Example example;
    try {
      example.line = reader_.parse(document.text, document.location);
      require_pictures(example.line);
      note_unused_label(example.line);
      for (const std::string& literal : example.line.observed)
        example.questions.push_back(questions_.observe(literal, document.location));
    } catch (const InputError& error) {
      if (is_only()) throw;
      example.error = error.what();
    }
    examples_.push_back(std::move(example));
  }

  // Labels are often what a prediction is compared with; but a value that is known, and meant to count, is
  // easily left out of "evidence". Said once.
  void note_unused_label(const ExampleLine& line) {
    if (line.lists_evidence || noted_) return;
    for (const auto& [position, symbol] : line.labels) {
      if (std::binary_search(line.evidence.begin(), line.evidence.end(), position)) continue;
      std::cerr << line.place.str() << ": note: the label of " << program_->positions[position].name
                << " is not used: without a picture a value counts only if \"evidence\" lists its position\n";
      noted_ = true;
      return;
    }
  }

  // Whether there is no other example: then what is wrong with it ends the run.
  bool is_only() { return !documents_ || documents_->only_one(); }

  ExampleLine line_of_options() const {
    ExampleLine line;
    line.place.file = "--image";
    for (const std::string& argument : arguments_.images) {
      const AtPosition given = split_at_position(*program_, "--image", argument, "POSITION=FILE");
      const int position = reader_.require_pictured(given.name, line.place);
      if (!line.images.emplace(position, given.value).second)
        throw InputError(line.place, "position " + in_quotes(given.name) + " has two pictures");
    }
    for (const auto& [position, file] : line.images) line.evidence.push_back(position);
    line.lists_evidence = arguments_.partial;
    return line;
  }

  // A model that was trained with a picture at every position that has one is not asked about fewer by
  // mistake. Boards and the like have blanks.
  void require_pictures(const ExampleLine& line) const {
    if (line.evidence.empty()) {
      throw InputError(line.place, "the example has no picture",
                       {"name one: \"images\": {\"" + program_->positions[map_.positions[0]].name +
                        "\": \"a.png\"}, or --image POSITION=FILE"});
    }
    for (const int position : line.evidence) {
      if (line.images.count(position) == 0 && line.labels.count(position) == 0)
        throw InputError(line.place, program_->positions[position].name + " has no picture");
    }
    if (!needs_every_picture(line)) return;
    for (const int position : map_.positions) {
      if (line.images.count(position) == 0)
        throw InputError(line.place, "no picture at " + program_->positions[position].name, {kUnknown});
    }
  }

  bool needs_every_picture(const ExampleLine& line) const {
    return !line.lists_evidence && (card_.source == "tuples" || card_.source == "images");
  }

  // Prints the answers to examples_.
  void predict() {
    compile_circuit();
    const std::size_t count = examples_.size();
    each([&](Example& example, std::size_t) { look_up(example); });
    std::vector<infer::Scene> scenes;
    for (Example& example : examples_) {
      if (example.error.empty()) scenes.push_back(std::move(example.scene));
    }
    const std::vector<infer::Answer> answers = solver_.solve(scenes);
    std::vector<const infer::Answer*> of(count, nullptr);
    std::size_t next = 0;
    for (std::size_t n = 0; n < count; ++n) {
      if (examples_[n].error.empty()) of[n] = &answers[next++];
    }
    std::vector<Json> documents(count);
    each([&](Example& example, std::size_t n) { documents[n] = document(example, *of[n]); });
    for (std::size_t n = 0; n < count; ++n) {
      if (!examples_[n].error.empty()) {
        failed_ = true;
        documents[n] = Json{{"error", examples_[n].error}};
      }
      print(examples_[n].line, documents[n]);
    }
  }

  // work(example, index) for every example that can be used.
  template <typename Work>
  void each(const Work& work) {
    threads_.run(static_cast<std::int64_t>(examples_.size()), [&](std::int64_t n, int) {
      Example& example = examples_[static_cast<std::size_t>(n)];
      try {
        if (example.error.empty()) work(example, static_cast<std::size_t>(n));
      } catch (const InputError& error) {
        if (examples_.size() == 1 && is_only()) throw;
        example.error = error.what();
      }
    });
  }

  std::shared_ptr<const prob::Circuit> compiled(const std::vector<int>& nodes) const {
    return std::make_shared<prob::Circuit>(
        prob::compile_circuit(*program_, nodes, arguments_.circuit.budget()));
  }

  // A circuit that can answer all that has been asked so far. Once that does not fit the budget, it grows no
  // more, and what it cannot answer gets circuits of its own: no example is refused for what others observe.
  void compile_circuit() {
    if (questions_.observations().empty() || !arguments_.circuit.exact() || (circuit_ && !grows_)) return;
    std::vector<int> nodes = questions_.nodes();
    if (circuit_) nodes.insert(nodes.end(), circuit_->observed.begin(), circuit_->observed.end());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (circuit_ && nodes == circuit_->observed) return;
    try {
      circuit_ = compiled(nodes);
    } catch (const prob::CircuitTooLarge&) {
      const std::vector<int> common = questions_.nodes(questions_.always());
      // Where the questions for every example do not fit, none can be answered.
      if (common == nodes || (examples_.size() == 1 && is_only())) throw;
      grows_ = false;
      if (!circuit_) circuit_ = compiled(common);
    }
  }

  // A circuit that can answer these questions. One that is made for them alone is kept for the next example,
  // which may well ask the same.
  std::shared_ptr<const prob::Circuit> circuit_for(const std::vector<std::size_t>& asked) const {
    const std::vector<int> nodes = questions_.nodes(asked);
    const std::vector<int>& shared = circuit_->observed;
    if (std::includes(shared.begin(), shared.end(), nodes.begin(), nodes.end())) return circuit_;
    const std::lock_guard<std::mutex> one_at_a_time(own_mutex_);  // each may take the whole budget
    if (!own_circuit_ || own_circuit_->observed != nodes) own_circuit_ = compiled(nodes);
    return own_circuit_;
  }

  // Reads the example's pictures. What is given without one is known. A picture without ink is no evidence,
  // unless the line itself says that it is.
  void look_up(Example& example) const {
    const ExampleLine& line = example.line;
    const bool all_count = line.lists_evidence && !arguments_.instances.empty();
    for (const int position : line.evidence) {
      const auto file = line.images.find(position);
      if (file == line.images.end()) {
        example.scene.push_back({position, {}, line.labels.at(position)});
        continue;
      }
      std::vector<std::uint8_t> picture = read_picture(line, position, file->second);
      if (all_count || infer::has_ink(picture)) {
        example.scene.push_back({position, std::move(picture)});
      } else if (needs_every_picture(line)) {
        throw InputError(
            line.place,
            "the picture at " + program_->positions[position].name + " has no ink: " + file->second,
            {kUnknown});
      } else {
        example.blank.push_back(position);
      }
    }
    if (example.scene.empty())
      throw InputError(line.place, "no picture of the example has ink",
                       {"a position that a line of --instances lists in \"evidence\" is read all the same"});
  }

  std::vector<std::uint8_t> read_picture(const ExampleLine& line, int position,
                                         const std::string& file) const {
    try {
      return infer::read_picture(file);
    } catch (const InputError& error) {
      throw InputError(line.place, "the picture at " + program_->positions[position].name + " cannot be used",
                       {error.what()});
    }
  }

  Json document(const Example& example, const infer::Answer& answer) const {
    Json json = decode_json(*program_, answer.beliefs, answer.decoded, {});
    json["beliefs"] = Json::object();
    for (const int position : answer.evidence) add_row(answer.beliefs, position, json["beliefs"]);
    json["blank"] = Json::array();
    for (const int position : example.blank) json["blank"].push_back(program_->positions[position].name);
    json["unseen"] = Json::array();
    for (const int position : map_.positions) {
      const std::vector<int>& given = example.line.evidence;
      if (!std::binary_search(given.begin(), given.end(), position))
        json["unseen"].push_back(program_->positions[position].name);
    }
    if (arguments_.json && card_.network.kind != infer::ReasonerKind::kNone) {
      json["reasoned"] = Json::object();
      for (std::size_t i = 0; i < program_->positions.size(); ++i) {
        if (!std::binary_search(answer.evidence.begin(), answer.evidence.end(), static_cast<int>(i)))
          add_row(answer.reasoned, static_cast<int>(i), json["reasoned"]);
      }
    }
    json["changed"] = changes_json(*program_, answer.explanation.changed);
    add_probabilities(example, answer, json);
    return json;
  }

  void add_row(const decode::Beliefs& beliefs, int position, Json& rows) const {
    const compile::Position& named = program_->positions[position];
    Json& row = rows[named.name] = Json::object();
    for (std::size_t s = 0; s < named.symbols.size(); ++s)
      row[named.symbols[s]] = solver_.belief(beliefs, position, static_cast<int>(s));
  }

  void add_probabilities(const Example& example, const infer::Answer& answer, Json& json) const {
    json["observed"] = Json::object();
    std::vector<std::size_t> asked = questions_.always();
    asked.insert(asked.end(), example.questions.begin(), example.questions.end());
    if (asked.empty()) return;
    std::vector<char> believed(program_->positions.size(), 0);
    for (const int position : answer.evidence) believed[position] = 1;
    std::vector<Observation> queries;
    for (const std::size_t index : asked) queries.push_back(questions_.observations()[index]);
    const std::vector<double> p = arguments_.circuit.exact()
                                      ? exact(*circuit_for(asked), answer.beliefs, believed, queries)
                                      : approximate(answer.beliefs, believed, queries, json);
    for (std::size_t k = 0; k < asked.size(); ++k) json["observed"][questions_.text(asked[k])] = p[k];
  }

  std::vector<double> exact(const prob::Circuit& circuit, const decode::Beliefs& beliefs,
                            const std::vector<char>& believed,
                            const std::vector<Observation>& queries) const {
    const prob::Weights weights = prob::weights_of(circuit, *program_, beliefs, believed);
    const prob::Evaluated evaluated = prob::evaluate(circuit, {weights});
    const double log_p = evaluated.log_value[0];
    if (std::isinf(log_p))
      prob::refuse_contradiction(*program_, prob::contradicting_positions(circuit, *program_, weights),
                                 kLeaveOut);
    const std::vector<double> marginals = prob::marginals(circuit, weights, evaluated, 0);
    std::vector<double> p;
    for (const Observation& query : queries) {
      if (query.size() == 1) {
        p.push_back(prob::probability_of(circuit, query[0], marginals));
        continue;
      }
      prob::Weights observed = weights;
      p.push_back(prob::observe(circuit, query, observed)
                      ? std::exp(prob::log_value(circuit, observed) - log_p)
                      : 0.0);
    }
    return p;
  }

  std::vector<double> approximate(const decode::Beliefs& beliefs, const std::vector<char>& believed,
                                  const std::vector<Observation>& queries, Json& json) const {
    const prob::Approximation found =
        arguments_.circuit.approximate(*program_, beliefs, believed, queries, /*seed=*/1);
    if (std::isinf(found.log_p_program)) {
      if (found.bound == 0) prob::refuse_contradiction(*program_, found.contradicting, kLeaveOut);
      arguments_.circuit.refuse_nothing_found();
    }
    json["bound"] = found.bound;
    return found.queries;
  }

  void print(const ExampleLine& line, const Json& json) const {
    if (arguments_.json) {
      print_document(json);
      return;
    }
    if (json.contains("error")) {
      std::cout << json["error"].get<std::string>() << '\n';
      return;
    }
    if (!arguments_.instances.empty()) std::cout << line.place.str() << ": ";
    std::cout << json["status"].get<std::string>();
    if (!json["assignment"].is_null()) std::cout << ", log p = " << in_digits(json["log_probability"]);
    if (json.contains("gap")) std::cout << ", at most " << in_digits(json["gap"]) << " from the best";
    if (json.contains("cost") && !json["cost"].is_null()) std::cout << ", cost " << json_text(json["cost"]);
    std::cout << '\n';
    for (const auto& [position, row] : json["beliefs"].items()) {
      const auto best = std::max_element(row.begin(), row.end());
      std::cout << position;
      if (line.images.count(program_->find_position(position)) > 0)
        std::cout << " read " << best.key() << " (p = " << in_digits(*best) << ")";
      else
        std::cout << " given as " << best.key();
      if (!json["assignment"].is_null() && json["assignment"][position] != best.key())
        std::cout << ", put right to " << json["assignment"][position].get<std::string>();
      std::cout << '\n';
    }
    for (const auto& position : json["blank"])
      std::cout << position.get<std::string>() << " has no ink: no evidence\n";
    if (const std::size_t unseen = json["unseen"].size(); unseen > 0)
      std::cout
          << unseen << " of " << map_.positions.size()
          << " positions have no picture: what the answer holds there is a guess unless the rules decide "
             "it\n";
    if (!json["atoms"].is_null()) {
      std::string answer = "answer:";
      for (const auto& atom : json["atoms"]) answer += " " + atom.get<std::string>();
      std::cout << answer << '\n';
    }
    for (const auto& [atom, p] : json["observed"].items())
      std::cout << "P(" << atom << ") = " << in_digits(p) << '\n';
    if (json.contains("bound")) std::cout << arguments_.circuit.text_of_bound(json["bound"]) << '\n';
  }

  const PredictArguments& arguments_;
  infer::Card card_;
  std::shared_ptr<const ConstraintProgram> program_;
  infer::PictureMap map_;
  infer::ExampleReader reader_;
  Questions questions_;
  native::Threads threads_;
  infer::Solver solver_;
  std::shared_ptr<const prob::Circuit> circuit_;
  bool grows_ = true;
  mutable std::mutex own_mutex_;
  mutable std::shared_ptr<const prob::Circuit> own_circuit_;  // the last that was made for one example
  std::optional<Documents> documents_;
  std::vector<Example> examples_;  // those at hand
  bool failed_ = false;
  bool noted_ = false;  // that a label is not used
};

// Refuses options that would have no effect.
void check_usage(const PredictArguments& arguments) {
  if (arguments.images.empty() == arguments.instances.empty())
    throw UsageError(
        "give pictures: either --image POSITION=FILE, as often as there are, or --instances FILE");
  if (arguments.partial && !arguments.instances.empty())
    throw UsageError("--partial goes with --image; a line of --instances lists its \"evidence\"");
  arguments.circuit.check_usage();
  if (!arguments.circuit.exact() && arguments.queries.empty() && arguments.distributions.empty() &&
      arguments.instances.empty())
    throw UsageError("--approx needs --query or --distribution");
}

}  // namespace

Action declare_predict(CLI::App& command) {
  return declare_predict_on(command, {kNativeEngine});
}

Action declare_predict_on(CLI::App& command, const std::vector<Engine>& engines) {
  auto arguments = std::make_shared<PredictArguments>();
  command
      .add_option(
          "--model", arguments->model,
          "Weights (.safetensors, with the card beside it), the folder of a run, or the name of a shipped "
          "model: digits, addition-n4-best, sudoku-hard")
      ->required()
      ->type_name("MODEL");
  command
      .add_option("--image", arguments->images,
                  "The picture at a position: 'digit(1,_)=a.png'; PNG, JPEG, BMP or PGM of any size")
      ->type_name("POSITION=FILE");
  command
      .add_option(
          "--instances", arguments->instances,
          "Many examples, one JSON object per line: {\"images\": {\"digit(1,_)\": \"a.png\"}}; `-` is "
          "standard input")
      ->type_name("FILE");
  declare_questions(command, arguments->queries, arguments->distributions);
  command.add_flag("--partial", arguments->partial, "Positions without --image are unknown, not forgotten");
  command
      .add_option("--node-budget", arguments->engine.solver.node_budget,
                  "Stop the search for an answer after this many nodes, or twice as many while nothing is "
                  "found; 0: after ten seconds")
      ->check(whole_number_from(0));
  arguments->circuit.declare(command);
  declare_grounding(command, arguments->grounding);
  declare_engine(command, arguments->engine);
  command.add_flag("--json", arguments->json, "One JSON document per example, one per line");
  command.footer(
      "In JSON `beliefs` is what perception reads, a distribution per picture, and what is given without\n"
      "one (`as2 decode --beliefs` and `as2 prob --beliefs` take it as it is), `reasoned` what a reasoner\n"
      "makes of the other positions, `assignment` the most probable answer set, `changed` what the rules\n"
      "put right in the reading, `observed` the probability of each query and of what a line observes. An\n"
      "example that cannot be used gives an error in its place, and exit code 1 at the end.");
  return [arguments, engines] {
    check_usage(*arguments);
    const Engine* engine = find_engine(engines, arguments->engine);
    return engine ? Predicting(*arguments, *engine).run() : continue_in_tensor_program();
  };
}

}  // namespace as2::cli
