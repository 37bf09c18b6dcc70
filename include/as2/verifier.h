// Assignments checked by clingo. The check shares no code with the decoder. Nothing else asks clingo for an
// answer, but for `as2 bench decode`, which compares the decoder's answers and time with clingo's.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/error.h"

namespace as2::verify {

struct VerifyOptions {
  std::vector<std::pair<std::string, std::string>> constants;  // -c name=value
  std::vector<std::string> assume;                             // external atoms that are positions
  std::string clingo;                                          // path; empty: $AS2_CLINGO, then PATH
  double time_limit_seconds = 300;                             // for each call of clingo
  const std::atomic<bool>* stop = nullptr;  // once true, clingo is killed: EnvironmentError
  bool name_violated = true;                // takes a second call of clingo when something is invalid
};

// The atoms of one total choice: position atoms that are true and those that are false.
struct ChosenAtoms {
  std::vector<std::string> chosen;
  std::vector<std::string> unchosen;
  std::optional<std::vector<std::string>> shown;  // what clingo must show then; none: not compared
};

struct Violation {
  std::string family;  // or, where no statement is to blame, the atom and what is wrong with it
  SourceLocation location;
};

struct Verdict {
  std::optional<bool> valid;  // none: no clingo on this machine, or no answer within the limits
  std::vector<Violation> violated;
  std::string message;  // why there is no verdict, or why an invalid one names no statement
};

// The position atoms an assignment makes true and false.
ChosenAtoms chosen_atoms(const compile::ConstraintProgram& program, const compile::Assignment& assignment);

// Many assignments, all over the same atoms, in one call of clingo. The user's text goes in untouched.
std::vector<Verdict> verify(const std::vector<std::string>& files,
                            const std::vector<ChosenAtoms>& assignments, const VerifyOptions& options = {});

// What a perceive-then-solve pipeline does: clingo completes each case, given the atoms that are fixed in it.
// Returns, for each case, which of `atoms` hold in its first answer set; no value where there is no answer
// set, or no clingo.
std::vector<std::optional<std::vector<std::string>>> complete(
    const std::vector<std::string>& files, const std::vector<std::vector<std::string>>& fixed,
    const std::vector<std::string>& atoms, const VerifyOptions& options = {});

}  // namespace as2::verify
