// Decoding and verifying. Positions and symbols travel as indices; the package knows their names.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <limits>

#include "as2/verifier.h"
#include "library/json.h"
#include "library/program.h"

namespace as2::python {
namespace {

using torch::Tensor;

decode::DecodeOptions decode_options(const Json& given) {
  decode::DecodeOptions options;
  options.method = given.at("method") == "greedy" ? decode::Method::kGreedy : decode::Method::kMap;
  options.models = given.at("models");
  options.unique = given.at("unique");
  options.unique_margin = given.at("unique_margin");
  options.unique_readings = given.at("unique_readings");
  options.node_budget = given.at("node_budget");
  options.time_budget_seconds = given.at("time_budget");
  options.objective_first = given.at("objective_first");
  options.objective_weights = given.at("objective_weights").get<std::vector<double>>();
  options.minimal_conflict = given.at("explain");
  return options;
}

// One per row of `beliefs` [batch, positions, symbols].
std::vector<decode::Query> queries_of(const Tensor& beliefs, const Json& given) {
  std::vector<decode::Pin> pins;
  for (const auto& pin : given.at("pins")) pins.push_back({pin.at(0), pin.at(1)});
  const Tensor all = beliefs.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  const std::int64_t size = all.size(1) * all.size(2);
  std::vector<decode::Query> queries;
  const double* row = all.data_ptr<double>();
  for (std::int64_t b = 0; b < all.size(0); ++b, row += size) {
    decode::Query query{{row, row + size}, pins, {}, {}};
    const Json& evidence = given.at("evidence");
    if (!evidence.empty()) query.evidence = evidence.at(static_cast<std::size_t>(b)).get<std::vector<int>>();
    queries.push_back(std::move(query));
  }
  return queries;
}

Json explained(const ConstraintProgram& program, const decode::Beliefs& beliefs,
               const decode::Decoded& decoded) {
  const decode::Explanation explanation = decode::explain(
      program, beliefs, decoded.models.empty() ? compile::Assignment{} : decoded.models.front().assignment);
  const bool refuted = decoded.status == decode::Status::kUnsatisfiable;
  Json json{{"changed", changes(explanation.changed)},
            {"conflicts", refuted ? decoded.conflict.groups : explanation.broken_groups},
            {"conflicting_pins", Json::array()}};
  for (const decode::Pin& pin : decoded.conflict.pins)
    json["conflicting_pins"].push_back({pin.position, pin.symbol});
  return json;
}

Json outcome(const ConstraintProgram& program, const decode::Query& query, const decode::Decoded& decoded,
             bool explain) {
  Json json{{"status", decode::name_of(decoded.status)},
            {"models", decoded.models.size()},
            {"nodes", decoded.nodes},
            {"gap", decoded.gap}};
  if (explain) json.update(explained(program, query.beliefs, decoded));
  if (decoded.dead_end_position >= 0) json["dead_end_position"] = decoded.dead_end_position;
  if (!program.objectives.empty()) {
    json["costs"] = Json::array();
    for (const decode::Model& model : decoded.models) json["costs"].push_back(model.cost);
  }
  if (decoded.unique) json["unique"] = unique_reading(*decoded.unique);
  return json;
}

// Symbols [batch, models, positions] int64, −1 where there is no model; log p [batch, models] float64, −∞
// there; and what else there is to say, one JSON object per row.
std::tuple<Tensor, Tensor, std::string> decode_beliefs(const ProgramPtr& self, const Tensor& beliefs,
                                                       const std::string& options_text, const StopPtr& stop) {
  return reported([&] {
    const ConstraintProgram& program = self->parts->program();
    const auto positions = static_cast<std::int64_t>(program.positions.size());
    check_shape(beliefs, positions, program.max_symbols());
    check_values(beliefs, program, kWeights);
    const Json given = Json::parse(options_text);
    decode::DecodeOptions options = decode_options(given);
    options.stop = &stop->asked;
    const std::vector<decode::Query> queries = queries_of(beliefs, given);
    const std::vector<decode::Decoded> decoded =
        self->parts->decoder().decode_batch(queries, options, given.at("threads"));
    std::size_t most = 1;
    for (const decode::Decoded& one : decoded) most = std::max(most, one.models.size());
    const auto batch = static_cast<std::int64_t>(decoded.size()), models = static_cast<std::int64_t>(most);
    Tensor symbols = torch::full({batch, models, positions}, -1, torch::kInt64);
    Tensor log_p = torch::full({batch, models}, -std::numeric_limits<double>::infinity(), torch::kFloat64);
    Json rest = Json::array();
    for (std::size_t b = 0; b < decoded.size(); ++b) {
      for (std::size_t k = 0; k < decoded[b].models.size(); ++k) {
        const decode::Model& model = decoded[b].models[k];
        const std::int64_t at = static_cast<std::int64_t>(b) * models + static_cast<std::int64_t>(k);
        std::copy(model.assignment.begin(), model.assignment.end(),
                  symbols.data_ptr<std::int64_t>() + at * positions);
        log_p.data_ptr<double>()[at] = model.log_probability;
      }
      rest.push_back(outcome(program, queries[b], decoded[b], given.at("explain")));
    }
    return std::make_tuple(symbols, log_p, rest.dump());
  });
}

// `symbols` [batch, positions] int64, each inside its position's domain.
std::vector<compile::Assignment> assignments_of(const Tensor& symbols) {
  const Tensor all = symbols.to(torch::kCPU, torch::kInt64).contiguous();
  std::vector<compile::Assignment> result;
  const std::int64_t* row = all.data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < all.size(0); ++b, row += all.size(1))
    result.emplace_back(row, row + all.size(1));
  return result;
}

// The atoms clingo would show, per row.
std::vector<std::vector<std::string>> shown_atoms(const ProgramPtr& self, const Tensor& symbols) {
  return reported([&] {
    std::vector<std::vector<std::string>> result;
    for (const compile::Assignment& assignment : assignments_of(symbols))
      result.push_back(compile::shown_atoms(self->parts->program(), assignment));
    return result;
  });
}

// The families each row violates, by our own evaluation.
std::string violated(const ProgramPtr& self, const Tensor& symbols) {
  return reported([&] {
    Json rows = Json::array();
    for (const compile::Assignment& assignment : assignments_of(symbols))
      rows.push_back(compile::violated_groups(self->parts->program(), assignment));
    return rows.dump();
  });
}

std::string verify_assignments(const ProgramPtr& self, const std::vector<std::string>& files,
                               const Tensor& symbols, const std::string& options_text, const StopPtr& stop) {
  return reported([&] {
    const Json given = Json::parse(options_text);
    verify::VerifyOptions options;
    for (const auto& [name, value] : given.at("constants").items())
      options.constants.emplace_back(name, value.get<std::string>());
    options.assume = given.at("assume").get<std::vector<std::string>>();
    options.time_limit_seconds = given.at("time_limit");
    options.stop = &stop->asked;
    std::vector<verify::ChosenAtoms> chosen;
    for (const compile::Assignment& assignment : assignments_of(symbols))
      chosen.push_back(verify::chosen_atoms(self->parts->program(), assignment));
    Json rows = Json::array();
    for (const verify::Verdict& verdict : verify::verify(files, chosen, options)) {
      Json row{{"valid", verdict.valid ? Json(*verdict.valid) : Json(nullptr)},
               {"message", verdict.message},
               {"violated", Json::array()}};
      for (const verify::Violation& violation : verdict.violated) {
        row["violated"].push_back({{"family", violation.family},
                                   {"file", violation.location.file},
                                   {"line", violation.location.line}});
      }
      rows.push_back(row);
    }
    return text_of(rows);
  });
}

}  // namespace

void register_decode(torch::Library& m) {
  m.def("decode", decode_beliefs);
  m.def("shown_atoms", shown_atoms);
  m.def("violated_groups", violated);
  m.def("verify", verify_assignments);
}

}  // namespace as2::python
