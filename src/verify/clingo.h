// One run of clingo that answers the same question for many numbered cases at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "as2/verifier.h"

namespace as2::verify {

// What clingo's exit code means; the codes are bits: 10 found a model, 20 searched everything, 1 was
// interrupted.
enum class Outcome { kSearchedAll, kStoppedEarly, kOutOfMemory, kRefusedInput, kCrashed };
Outcome outcome_of(int exit_code);

// The name of the atom that stands for case k (from 1) in the programs given to clingo.
inline constexpr const char* kCaseAtom = "__as2_case";

struct CaseModels {
  Outcome outcome = Outcome::kCrashed;
  std::string message;                             // what went wrong, unless everything was searched
  std::map<int, std::vector<std::string>> models;  // case → what clingo shows of its first model
};

// An atom as it is found in CaseModels: clingo's JSON leaves out the backslash before a quote and one of two
// (`p("a\"b")` becomes `p("a"b")`), so atoms are compared in this form.
std::string as_clingo_writes(const std::string& atom);

// Path of clingo, or empty.
std::string find_clingo(const VerifyOptions& options);

// Files as clingo's arguments. It would take `-n` for an option, and `7` for a number of models.
std::vector<std::string> file_arguments(const std::vector<std::string>& files);

// Runs clingo with these arguments on `input` and collects one model per case.
CaseModels run_cases(const std::string& clingo, std::vector<std::string> arguments, const std::string& input,
                     const VerifyOptions& options);

}  // namespace as2::verify
