// Verification by clingo. clingo gets the user's files untouched and, as one more file, a program that picks
// one case of many and compares the position atoms with it:
//
//   { __as2_case(1..N) } = 1.      __as2_on(I) :- __as2_case(K), __as2_in(K,I).
//   :- __as2_on(i), not a_i.       :- a_i, not __as2_on(i).
//
// No atom of the added program occurs in the user's, and it defines none of theirs: the answer sets are the
// pairs of a case and an answer set of the user's program that agrees with it (splitting set). A case is
// valid if and only if it occurs in one, so enumerating them projected on the case answers all at once, in
// one grounding. Adding the chosen atoms as facts would be unsound: facts support what nothing else does.
#include "as2/verifier.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <unordered_map>

#include "as2/compile.h"
#include "text.h"
#include "verify/clingo.h"
#include "verify/diagnosis.h"

namespace as2::verify {
namespace {

constexpr std::size_t kCasesPerCall = 1000;  // bounds memory; larger batches would save little more grounding

// Numbers the atoms that all assignments mention.
std::unordered_map<std::string, int> number_atoms(const std::vector<ChosenAtoms>& assignments) {
  std::unordered_map<std::string, int> numbers;
  for (const auto* list : {&assignments.front().chosen, &assignments.front().unchosen}) {
    for (const std::string& atom : *list) numbers.emplace(atom, static_cast<int>(numbers.size()));
  }
  for (const ChosenAtoms& assignment : assignments) {
    std::vector<char> seen(numbers.size());
    for (const auto* list : {&assignment.chosen, &assignment.unchosen}) {
      for (const std::string& atom : *list) {
        const auto found = numbers.find(atom);
        AS2_REQUIRE(found != numbers.end(), "every assignment mentions the same atoms: " + atom);
        AS2_REQUIRE(!seen[static_cast<std::size_t>(found->second)], "an atom occurs once: " + atom);
        seen[static_cast<std::size_t>(found->second)] = 1;
      }
    }
    AS2_REQUIRE(std::all_of(seen.begin(), seen.end(), [](char c) { return c; }),
                "every assignment mentions the same atoms");
  }
  return numbers;
}

std::string case_program(const std::vector<ChosenAtoms>& assignments, std::size_t begin, std::size_t end,
                         const std::unordered_map<std::string, int>& numbers, const VerifyOptions& options) {
  std::ostringstream out;
  // No rule defines an external atom, so a choice says that it is open and nothing else.
  for (const std::string& atom : options.assume) out << "{ " << atom << " }.\n";
  out << "{ __as2_case(1.." << end - begin << ") } = 1.\n";
  for (std::size_t k = begin; k < end; ++k) {
    if (assignments[k].chosen.empty()) continue;
    out << "__as2_in(" << k - begin + 1;
    char separator = ',';
    for (const std::string& atom : assignments[k].chosen) {
      out << separator << (separator == ',' ? "(" : "") << numbers.at(atom);
      separator = ';';
    }
    out << ")).\n";
  }
  out << "#defined __as2_in/2.\n__as2_on(I) :- __as2_case(K), __as2_in(K,I).\n#defined __as2_on/1.\n";
  // clasp drops what derives an atom that a constraint of one literal forbids, and then takes an external
  // atom for one that no rule defines: so the constraints have another literal, which always holds.
  out << "{ __as2_asked }.\n:- not __as2_asked.\n";
  for (const auto& [atom, number] : numbers) {
    out << ":- __as2_asked, __as2_on(" << number << "), not " << atom << ".\n:- __as2_asked, " << atom
        << ", not __as2_on(" << number << ").\n";
  }
  // Where atoms are compared, a shown term leaves it to the user's text which are shown; else the case is
  // enough.
  const bool compared =
      std::any_of(assignments.begin() + static_cast<std::ptrdiff_t>(begin),
                  assignments.begin() + static_cast<std::ptrdiff_t>(end),
                  [](const ChosenAtoms& assignment) { return assignment.shown.has_value(); });
  out << (compared ? "#show __as2_case(K) : __as2_case(K).\n" : "#show __as2_case/1.\n")
      << "#project __as2_case/1.\n";
  return out.str();
}

std::string listed(const std::set<std::string>& atoms) {
  std::string text;
  for (const std::string& atom : atoms) text += (text.empty() ? "" : " ") + atom;
  return "{" + text + "}";
}

// The positions agree with an answer set of clingo's; says how the rest of it differs. Empty: not at all.
std::string difference(const std::vector<std::string>& ours, const std::vector<std::string>& clingos) {
  std::set<std::string> missing;
  for (const std::string& atom : clingos) {
    if (atom.rfind("__as2_", 0) != 0) missing.insert(atom);
  }
  std::set<std::string> additional;
  for (const std::string& atom : ours) {
    if (missing.erase(as_clingo_writes(as_utf8(atom))) == 0) additional.insert(atom);
  }
  if (missing.empty() && additional.empty()) return "";
  return "the atoms are not those of clingo's answer set, which has " + listed(missing) + " more and lacks " +
         listed(additional) + "; this is a mistake of as2, please report it";
}

// Fills in what the invalid assignments violate or, where that cannot be determined, why not.
void name_violations(const std::vector<std::string>& files, const std::vector<ChosenAtoms>& assignments,
                     const std::string& clingo, const VerifyOptions& options,
                     std::vector<Verdict>& verdicts) {
  std::vector<std::size_t> invalid;
  for (std::size_t k = 0; k < verdicts.size(); ++k) {
    if (verdicts[k].valid == false && verdicts[k].message.empty()) invalid.push_back(k);
  }
  if (invalid.empty()) return;
  const auto give_up = [&](std::size_t begin, std::size_t end, const std::string& why) {
    for (std::size_t j = begin; j < end; ++j) {
      verdicts[invalid[j]].message = "what is violated cannot be determined: " + why;
    }
  };
  asp::GroundProgram ground;
  try {
    asp::GroundOptions ground_options;
    ground_options.constants = options.constants;
    ground_options.assume = options.assume;
    ground_options.time_limit_seconds = options.time_limit_seconds;
    ground_options.stop = options.stop;
    ground = asp::ground(files, ground_options);
  } catch (const InputError& error) {
    return give_up(0, invalid.size(), error.what());
  } catch (const EnvironmentError& error) {
    return give_up(0, invalid.size(), error.what());
  }
  for (std::size_t begin = 0; begin < invalid.size(); begin += kCasesPerCall) {
    const std::size_t end = std::min(invalid.size(), begin + kCasesPerCall);
    std::vector<const ChosenAtoms*> cases;
    for (std::size_t j = begin; j < end; ++j) cases.push_back(&assignments[invalid[j]]);
    const CaseModels answer = run_cases(clingo, {"--mode=clasp"}, diagnosis_program(ground, cases), options);
    for (std::size_t j = begin; j < end; ++j) {
      const auto model = answer.models.find(static_cast<int>(j - begin) + 1);
      if (model == answer.models.end()) {
        give_up(j, j + 1, answer.message.empty() ? "its definitions have no stable model" : answer.message);
      } else {
        verdicts[invalid[j]].violated = violations(ground, *cases[j - begin], model->second);
      }
    }
  }
}

}  // namespace

ChosenAtoms chosen_atoms(const compile::ConstraintProgram& program, const compile::Assignment& assignment) {
  AS2_REQUIRE(assignment.size() == program.positions.size(), "one symbol per position");
  ChosenAtoms result;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const auto& atoms = program.positions[i].atoms;
    for (std::size_t s = 0; s < atoms.size(); ++s) {
      if (atoms[s].empty()) continue;
      (static_cast<int>(s) == assignment[i] ? result.chosen : result.unchosen).push_back(atoms[s]);
    }
  }
  return result;
}

std::vector<Verdict> verify(const std::vector<std::string>& files,
                            const std::vector<ChosenAtoms>& assignments, const VerifyOptions& options) {
  std::vector<Verdict> verdicts(assignments.size());
  if (assignments.empty()) return verdicts;
  const auto numbers = number_atoms(assignments);
  const std::string clingo = find_clingo(options);
  if (clingo.empty()) {
    for (Verdict& verdict : verdicts) {
      verdict.message =
          "no clingo found; install the Debian package gringo, or name the program in AS2_CLINGO";
    }
    return verdicts;
  }
  std::vector<std::string> arguments = file_arguments(files);
  arguments.emplace_back("-");
  for (const auto& [name, value] : options.constants) arguments.push_back("--const=" + name + "=" + value);
  for (std::size_t begin = 0; begin < assignments.size(); begin += kCasesPerCall) {
    const std::size_t end = std::min(assignments.size(), begin + kCasesPerCall);
    const CaseModels answer =
        run_cases(clingo, arguments, case_program(assignments, begin, end, numbers, options), options);
    if (answer.outcome == Outcome::kRefusedInput) throw InputError(answer.message);
    for (std::size_t k = begin; k < end; ++k) {
      const auto model = answer.models.find(static_cast<int>(k - begin) + 1);
      if (model != answer.models.end()) {
        if (assignments[k].shown) verdicts[k].message = difference(*assignments[k].shown, model->second);
        verdicts[k].valid = verdicts[k].message.empty();
      } else if (answer.outcome == Outcome::kSearchedAll) {
        verdicts[k].valid = false;
      } else {
        verdicts[k].message = answer.message;
      }
    }
  }
  if (options.name_violated) name_violations(files, assignments, clingo, options, verdicts);
  return verdicts;
}

}  // namespace as2::verify
