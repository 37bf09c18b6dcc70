#include "prob/contradiction.h"

#include <algorithm>

#include "as2/decoder.h"
#include "as2/error.h"
#include "stop.h"
#include "text.h"

namespace as2::prob {
namespace {

constexpr double kSeconds = 10;  // for the search that names the constraints

}  // namespace

void refuse_contradiction(const compile::ConstraintProgram& program, const std::vector<int>& positions,
                          const std::string& remedy, const std::string& where,
                          const std::atomic<bool>* stop) {
  if (!positions.empty()) {
    std::vector<std::string> names, notes;
    for (const int i : positions) names.push_back(program.positions[i].name);
    if (positions.size() > 1) {
      notes.push_back(
          "this set is minimal: if any one of these positions were free, there would be an answer set");
    }
    notes.push_back(remedy);
    throw InputError(
        "P(program) = 0" + where + ": no answer set agrees with the zeros in the beliefs of " + joined(names),
        notes);
  }
  const decode::Beliefs nothing(program.positions.size() * static_cast<std::size_t>(program.max_symbols()),
                                1.0);
  decode::DecodeOptions options;
  options.time_budget_seconds = kSeconds;
  options.stop = stop;
  const decode::Conflict conflict = decode::Decoder(program).decode({nothing, {}, {}, {}}, options).conflict;
  throw_if_stopped(stop, "the search for constraints in conflict");
  std::vector<std::string> families;
  for (const int g : conflict.groups) {
    const compile::Family& family = program.families[program.groups[g].family];
    const std::string name = family.name + " (" + family.location.str() + ")";
    if (std::find(families.begin(), families.end(), name) == families.end()) families.push_back(name);
  }
  std::vector<std::string> notes;
  if (!families.empty()) notes.push_back("these constraints cannot hold together: " + joined(families));
  throw InputError("P(program) = 0: the program has no answer set at all", notes);
}

}  // namespace as2::prob
