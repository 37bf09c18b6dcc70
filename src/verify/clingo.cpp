#include "verify/clingo.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "child_process.h"
#include "stop.h"
#include "text.h"

namespace as2::verify {
namespace {

using Json = nlohmann::json;

constexpr double kGraceSeconds = 10;  // clingo stops itself at its time limit; this long after it, we kill it

const char* describe(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSearchedAll:
      return "";
    case Outcome::kStoppedEarly:
      return "clingo stopped before it had searched everything";
    case Outcome::kOutOfMemory:
      return "clingo ran out of memory";
    case Outcome::kRefusedInput:
      return "clingo refused the program";
    case Outcome::kCrashed:
      break;
  }
  return "clingo failed";
}

// The k of `__as2_case(k)`, or 0.
int case_number(const std::string& atom) {
  const std::size_t length = std::strlen(kCaseAtom);
  if (atom.compare(0, length, kCaseAtom) != 0 || atom.size() < length + 3 || atom[length] != '(') return 0;
  return std::atoi(atom.c_str() + length + 1);
}

// clingo writes tabs, line breaks and other control characters of strings as they are, which no JSON may
// hold.
std::string with_escaped_controls(const std::string& text) {
  std::string escaped;
  Strings strings;
  for (const char byte : text) {
    if (!strings.take(byte) || static_cast<unsigned char>(byte) >= ' ') {
      escaped += byte;
    } else {
      char code[7];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(byte));
      escaped += code;
    }
  }
  return escaped;
}

void collect(const Json& document, CaseModels& result) {
  for (const Json& call : document.at("Call")) {
    if (!call.contains("Witnesses")) continue;
    for (const Json& witness : call.at("Witnesses")) {
      const auto shown = witness.value("Value", std::vector<std::string>{});
      for (const std::string& atom : shown) {
        if (const int number = case_number(atom)) result.models.emplace(number, shown);
      }
    }
  }
}

}  // namespace

std::string as_clingo_writes(const std::string& atom) {
  std::string written;
  for (std::size_t k = 0; k < atom.size(); ++k) {
    if (atom[k] == '\\' && k + 1 < atom.size() && (atom[k + 1] == '"' || atom[k + 1] == '\\')) ++k;
    written += atom[k];
  }
  return written;
}

Outcome outcome_of(int exit_code) {
  if (exit_code < 0 || exit_code > 65) return Outcome::kCrashed;
  if (exit_code == 65) return Outcome::kRefusedInput;
  if (exit_code == 33) return Outcome::kOutOfMemory;
  if (exit_code > 31) return Outcome::kCrashed;
  return (exit_code & 20) == 20 ? Outcome::kSearchedAll : Outcome::kStoppedEarly;
}

std::string find_clingo(const VerifyOptions& options) {
  if (!options.clingo.empty()) return find_program(options.clingo);
  const char* named = std::getenv("AS2_CLINGO");
  return find_program(named && *named ? named : "clingo");
}

std::vector<std::string> file_arguments(const std::vector<std::string>& files) {
  std::vector<std::string> arguments;
  for (const std::string& file : files) {
    const bool plain = !file.empty() && (file[0] == '/' || file[0] == '.');
    arguments.push_back(plain ? file : "./" + file);
  }
  return arguments;
}

CaseModels run_cases(const std::string& clingo, std::vector<std::string> arguments, const std::string& input,
                     const VerifyOptions& options) {
  const auto seconds = static_cast<long>(std::ceil(options.time_limit_seconds));
  // --eq=0: clasp's search for equivalent atoms can lose the condition of an #edge (`{a}. b :- a.
  // #edge (1,1) : a, b. {c}. #edge (2,3) : c.` then has answer sets with a).
  for (const char* argument :
       {"--outf=2", "--models=0", "--project=project", "--opt-mode=ignore", "--eq=0"}) {
    arguments.emplace_back(argument);
  }
  arguments.push_back("--time-limit=" + std::to_string(seconds));
  ChildOptions limits;
  limits.seconds = static_cast<double>(seconds) + kGraceSeconds;
  limits.stop = options.stop;
  const ChildResult child = run_child(clingo, arguments, input, limits);
  if (child.stopped) throw_interrupted("verifying");

  CaseModels result;
  result.outcome = child.timed_out ? Outcome::kStoppedEarly : outcome_of(child.exit_code);
  if (result.outcome == Outcome::kSearchedAll || result.outcome == Outcome::kStoppedEarly) {
    const Json document = Json::parse(with_escaped_controls(as_utf8(child.out)), nullptr, false);
    if (document.is_object() && document.contains("Call")) {
      collect(document, result);
    } else if (!child.timed_out) {
      result.outcome = Outcome::kCrashed;
    }
  }
  if (result.outcome != Outcome::kSearchedAll) {
    result.message = describe(result.outcome);
    if (result.outcome == Outcome::kStoppedEarly) {
      result.message += " (the limit is " + std::to_string(seconds) + " s)";
    } else if (result.outcome == Outcome::kCrashed) {
      result.message += child.signal ? " (signal " + std::to_string(child.signal) + ")"
                                     : " (exit code " + std::to_string(child.exit_code) + ")";
    }
    if (!child.err.empty()) result.message += ": " + child.err;
  }
  return result;
}

}  // namespace as2::verify
