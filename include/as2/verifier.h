// clingo's word on assignments: the only caller of clingo, and it shares no code with the decoder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "as2/error.h"

namespace as2::verify {

struct VerifyOptions {
  std::vector<std::pair<std::string, std::string>> constants;  // -c name=value
  std::string clingo;                                          // path; empty: $AS2_CLINGO, then PATH
  double time_limit_seconds = 300;
};

// The atoms of one total choice: position atoms that are true and those that are false.
struct ChosenAtoms {
  std::vector<std::string> chosen;
  std::vector<std::string> unchosen;
};

struct Violation {
  std::string family;
  SourceLocation location;
};

struct Verdict {
  std::optional<bool> valid;  // none: no clingo on this machine
  std::vector<Violation> violated;
  std::string message;  // why there is no verdict
};

// Many assignments in one call of clingo. The user's text goes in untouched.
std::vector<Verdict> verify(const std::vector<std::string>& files,
                            const std::vector<ChosenAtoms>& assignments, const VerifyOptions& options = {});

}  // namespace as2::verify
