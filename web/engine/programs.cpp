// A program that the visitor writes: what it compiles to, and at given beliefs the most probable answer and
// soft T_P. Grounding is the page's (child_process.cpp); a shipped program comes compiled.
#include <algorithm>
#include <cmath>
#include <optional>

#include "api.h"
#include "as2/compile.h"
#include "as2/probability.h"
#include "cli/beliefs.h"
#include "cli/check_document.h"
#include "cli/decode_document.h"
#include "native/soft_tp.h"

namespace as2::web {
namespace {

struct Program {
  std::shared_ptr<const compile::ConstraintProgram> compiled;
  std::unique_ptr<decode::Decoder> decoder;
  std::unique_ptr<native::SoftTp> soft_tp;
  std::optional<prob::Circuit> circuit;  // of the last queries
};
std::optional<Program> program;

Program& current_program() {
  if (!program) throw InputError("there is no program yet", {"choose or write one first"});
  return *program;
}

decode::Beliefs beliefs_of(const Json& request, std::vector<std::string>& warnings) {
  return cli::parse_beliefs({request.at("beliefs").dump(), {"beliefs", 1}}, *current_program().compiled,
                            warnings);
}

// Per position, whether the request has beliefs about it.
std::vector<char> believed_in(const Json& request) {
  std::vector<char> believed;
  for (const compile::Position& position : current_program().compiled->positions)
    believed.push_back(request["beliefs"].contains(position.name));
  return believed;
}

// {position: {symbol: value}} of [positions, symbols].
template <class Number>
Json by_position(const compile::ConstraintProgram& own, const Number* values) {
  Json object = Json::object();
  for (std::size_t i = 0; i < own.positions.size(); ++i, values += own.max_symbols()) {
    Json& row = object[own.positions[i].name] = Json::object();
    for (std::size_t s = 0; s < own.positions[i].symbols.size(); ++s)
      row[own.positions[i].symbols[s]] = values[s];
  }
  return object;
}

}  // namespace

Json check_program(const Json& request) {
  program.reset();
  asp::GroundOptions options;
  options.includes = false;
  if (request.contains("constants")) {
    for (const auto& [name, value] : request["constants"].items())
      options.constants.emplace_back(name, value.get<std::string>());
  }
  const compile::Compiled compiled =
      request.contains("compiled")
          ? compile::compile(asp::load_compiled(request["compiled"].get<std::string>(), "program.as2c"))
          : compile::compile_text(request.at("program").get<std::string>(), "program.lp", options);
  Program own;
  own.compiled = std::make_shared<compile::ConstraintProgram>(compiled.program);
  own.decoder = std::make_unique<decode::Decoder>(own.compiled);
  own.soft_tp = std::make_unique<native::SoftTp>(*own.compiled);
  program = std::move(own);
  Json document = cli::check_json(compiled);
  document["show"] = cli::positions_json(compiled.program);
  std::vector<int> all(compiled.program.groups.size());
  for (std::size_t g = 0; g < all.size(); ++g) all[g] = static_cast<int>(g);
  document["all_groups"] = cli::groups_json(compiled.program, all);
  return document;
}

Json decode_program(const Json& request) {
  Program& own = current_program();
  std::vector<std::string> warnings;
  decode::Query query{beliefs_of(request, warnings), {}, {}, {}};
  const double missing = cli::weigh_guesses(*own.compiled, believed_in(request), query.beliefs);
  decode::DecodeOptions options;
  options.models = request.value("models", 1);
  options.time_budget_seconds = 5;
  decode::Decoded decoded = own.decoder->decode(query, options);
  for (decode::Model& model : decoded.models) model.log_probability += missing;
  Json document = cli::decode_json(*own.compiled, query.beliefs, decoded,
                                   {options.method, options.models > 1, /*explain=*/true});
  if (!warnings.empty()) document["messages"] = warnings;
  return document;
}

// `image` and `residual` as `as2 tp` prints them, in float32.
Json soft_tp(const Json& request) {
  Program& own = current_program();
  std::vector<std::string> warnings;
  const decode::Beliefs beliefs = beliefs_of(request, warnings);
  const std::vector<float> p(beliefs.begin(), beliefs.end());
  native::SoftTp::Scratch scratch = own.soft_tp->scratch();
  std::vector<float> factors(own.compiled->families.size() * p.size());
  own.soft_tp->leave_one_out(p.data(), factors.data(), scratch);
  Json document{{"max_residual", own.soft_tp->max_residual(p.data(), scratch)},
                {"image", Json::object()},
                {"residual", Json::object()}};
  for (std::size_t f = 0; f < own.compiled->families.size(); ++f) {
    std::vector<float> image(p.size()), residual(p.size());
    for (std::size_t k = 0; k < p.size(); ++k) {
      image[k] = p[k] * factors[f * p.size() + k];
      residual[k] = p[k] - image[k];
    }
    document["image"][own.compiled->families[f].name] = by_position(*own.compiled, image.data());
    document["residual"][own.compiled->families[f].name] = by_position(*own.compiled, residual.data());
  }
  return document;
}

// What `as2 prob --marginals --query …` prints.
Json probabilities(const Json& request) {
  constexpr prob::Budget kBudget{5, std::int64_t{256} << 20};
  Program& own = current_program();
  std::vector<std::string> warnings;
  const decode::Beliefs beliefs = beliefs_of(request, warnings);
  std::vector<prob::Observation> queries;
  std::vector<int> nodes;
  for (const Json& text : request.value("queries", Json::array())) {
    queries.push_back(prob::parse_observation(*own.compiled, text.get<std::string>()));
    for (const prob::Observable& observable : queries.back()) prob::collect_nodes(observable, nodes);
    for (const std::string& atom : prob::unknown_atoms(*own.compiled, queries.back()))
      warnings.push_back("'" + atom + "' can never hold: the program has no such atom");
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (!own.circuit || own.circuit->observed != nodes)
    own.circuit = prob::compile_circuit(*own.compiled, nodes, kBudget);
  const prob::Weights weights = prob::weights_of(*own.circuit, *own.compiled, beliefs, believed_in(request));
  const prob::Evaluated evaluated = prob::evaluate(*own.circuit, {weights});
  const double log_p = evaluated.log_value[0];
  if (std::isinf(log_p)) throw InputError("P(program) = 0: no answer set agrees with the beliefs");
  Json document{{"log_p_program", log_p}, {"queries", Json::array()}};
  for (const prob::Observation& query : queries) {
    prob::Weights observed = weights;
    const bool possible = prob::observe(*own.circuit, query, observed);
    document["queries"].push_back(possible ? std::exp(prob::log_value(*own.circuit, observed) - log_p) : 0.0);
  }
  // The circuit's first inputs are the symbols of the positions, in their order.
  document["marginals"] =
      by_position(*own.compiled, prob::marginals(*own.circuit, weights, evaluated, 0).data());
  document["count"] = prob::count_answers(*own.circuit);
  if (!warnings.empty()) document["messages"] = warnings;
  return document;
}

}  // namespace as2::web
