#include "cli/decode_document.h"

#include <algorithm>
#include <cmath>

#include "cli/beliefs.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;
using decode::Decoded;

Json model_json(const ConstraintProgram& program, const decode::Model& model) {
  Json json{{"log_probability", model.log_probability},
            {"assignment", assignment_json(program, model.assignment)},
            {"atoms", compile::shown_atoms(program, model.assignment)}};
  if (!program.objectives.empty()) json["cost"] = model.cost;
  return json;
}

void add_explanation(const ConstraintProgram& program, const decode::Beliefs& beliefs, const Decoded& decoded,
                     Json& json) {
  const bool solved = !decoded.models.empty();
  const decode::Explanation explanation =
      decode::explain(program, beliefs, solved ? decoded.models.front().assignment : compile::Assignment{});
  json["changed"] = changes_json(program, explanation.changed);
  const bool refuted = decoded.status == decode::Status::kUnsatisfiable;
  json["conflicts"] = groups_json(program, refuted ? decoded.conflict.groups : explanation.broken_groups);
  if (!refuted) return;
  json["conflicting_pins"] = Json::object();
  for (const decode::Pin& pin : decoded.conflict.pins) {
    json["conflicting_pins"][program.positions[pin.position].name] =
        program.positions[pin.position].symbols[pin.symbol];
  }
}

}  // namespace

double weigh_guesses(const ConstraintProgram& program, const std::vector<char>& believed,
                     decode::Beliefs& beliefs) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  double missing = 0;
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    if (!program.positions[i].guess || believed[i]) continue;
    const std::size_t symbols = program.positions[i].symbols.size();
    std::fill_n(beliefs.begin() + static_cast<std::ptrdiff_t>(i * stride), symbols,
                1.0 / static_cast<double>(symbols));
    missing += std::log(static_cast<double>(symbols));
  }
  return missing;
}

Json unique_json(const decode::UniqueReading& reading) {
  return {{"found", reading.found},
          {"rank", reading.found ? Json(reading.rank) : Json(nullptr)},
          {"readings", reading.readings},
          {"complete", reading.complete}};
}

Json decode_json(const ConstraintProgram& program, const decode::Beliefs& beliefs, const Decoded& decoded,
                 const DecodeContent& content) {
  Json json{{"status", decode::name_of(decoded.status)}};
  const bool solved = !decoded.models.empty();
  const auto or_null = [&](auto&& value) { return solved ? Json(value()) : Json(nullptr); };
  const auto best = [&]() -> const decode::Model& { return decoded.models.front(); };
  json["log_probability"] = or_null([&] { return best().log_probability; });
  json["assignment"] = or_null([&] { return assignment_json(program, best().assignment); });
  json["atoms"] = or_null([&] { return compile::shown_atoms(program, best().assignment); });
  json["nodes"] = decoded.nodes;
  if (!program.objectives.empty()) json["cost"] = or_null([&] { return best().cost; });
  const bool reread = decoded.unique && decoded.unique->found;  // which says itself whether it is proved
  if (decoded.status == decode::Status::kSatisfied && content.method == decode::Method::kMap && !reread)
    json["gap"] = decoded.gap;
  if (decoded.unique) json["unique"] = unique_json(*decoded.unique);
  if (decoded.dead_end_position >= 0) {
    json["dead_end_position"] = program.positions[decoded.dead_end_position].name;
  }
  if (content.models) {
    json["models"] = Json::array();
    for (const decode::Model& model : decoded.models) json["models"].push_back(model_json(program, model));
  }
  if (content.explain) add_explanation(program, beliefs, decoded, json);
  return json;
}

}  // namespace as2::cli
