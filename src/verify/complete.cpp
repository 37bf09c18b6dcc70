// Completion by clingo, many cases in one grounding: one case is picked, its fixed atoms are demanded, and
// one answer set per case is enumerated.
#include <sstream>

#include "as2/verifier.h"
#include "verify/clingo.h"

namespace as2::verify {

std::vector<std::optional<std::vector<std::string>>> complete(
    const std::vector<std::string>& files, const std::vector<std::vector<std::string>>& fixed,
    const std::vector<std::string>& atoms, const VerifyOptions& options) {
  std::vector<std::optional<std::vector<std::string>>> completions(fixed.size());
  const std::string clingo = find_clingo(options);
  if (fixed.empty() || clingo.empty()) return completions;
  std::ostringstream program;
  program << "{ " << kCaseAtom << "(1.." << fixed.size() << ") } = 1.\n";
  for (std::size_t k = 0; k < fixed.size(); ++k) {
    for (const std::string& atom : fixed[k]) {
      program << ":- " << kCaseAtom << '(' << k + 1 << "), not " << atom << ".\n";
    }
  }
  for (const std::string& atom : atoms) program << "#show " << atom << " : " << atom << ".\n";
  program << "#show " << kCaseAtom << "/1.\n#project " << kCaseAtom << "/1.\n";
  std::vector<std::string> arguments = file_arguments(files);
  arguments.emplace_back("-");
  for (const auto& [name, value] : options.constants) arguments.push_back("--const=" + name + "=" + value);
  const CaseModels answer = run_cases(clingo, arguments, program.str(), options);
  if (answer.outcome == Outcome::kRefusedInput) throw InputError(answer.message);
  for (const auto& [number, shown] : answer.models)
    completions.at(static_cast<std::size_t>(number) - 1) = shown;
  return completions;
}

}  // namespace as2::verify
