#include "cli/check_document.h"

#include <numeric>

namespace as2::cli {

using compile::ConstraintProgram;
using compile::FamilySummary;
using nlohmann::ordered_json;

std::int64_t total_terms(const std::vector<FamilySummary>& families) {
  return std::accumulate(
      families.begin(), families.end(), std::int64_t{0},
      [](std::int64_t terms, const FamilySummary& family) { return terms + family.terms; });
}

ordered_json check_json(const compile::Compiled& compiled) {
  const ConstraintProgram& program = compiled.program;
  const std::vector<FamilySummary> summaries = compile::summarise_families(program);
  ordered_json document = {
      {"positions", program.positions.size()}, {"atoms", program.atoms},
      {"groups", program.groups.size()},       {"residual_terms", total_terms(summaries)},
      {"definitions", program.definitions},    {"objectives", program.objective_statements.size()},
      {"guesses", ordered_json::array()},      {"families", ordered_json::array()},
      {"warnings", ordered_json::array()},     {"notes", ordered_json::array()}};
  for (const compile::Guess& guess : program.guesses) {
    const compile::Position& position = program.positions[static_cast<std::size_t>(guess.position)];
    document["guesses"].push_back({{"atom", position.name},
                                   {"file", position.location.file},
                                   {"line", position.location.line},
                                   {"reason", name_of(guess.reason)},
                                   {"cycle", guess.cycle}});
  }
  for (std::size_t k = 0; k < summaries.size(); ++k) {
    const compile::Family& family = program.families[k];
    document["families"].push_back({{"name", family.name},
                                    {"file", family.location.file},
                                    {"line", family.location.line},
                                    {"kind", summaries[k].kind},
                                    {"groups", summaries[k].groups},
                                    {"terms", summaries[k].terms}});
  }
  const auto list = [&](const char* key, const std::vector<asp::Warning>& messages) {
    for (const asp::Warning& message : messages) {
      document[key].push_back(
          {{"file", message.location.file}, {"line", message.location.line}, {"message", message.message}});
    }
  };
  list("warnings", compiled.warnings);
  list("notes", compiled.notes);
  return document;
}

ordered_json positions_json(const ConstraintProgram& program) {
  ordered_json list = ordered_json::array();
  for (const compile::Position& position : program.positions)
    list.push_back({{"position", position.name}, {"symbols", position.symbols}});
  return list;
}

}  // namespace as2::cli
