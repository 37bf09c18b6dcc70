// The invariant: on every total assignment the compiled program says what clingo says, costs included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "as2/compile.h"
#include "support/random_program.h"

namespace as2::compile {
namespace {

using testing::AnswerSet;
using testing::RandomProgram;

// All assignments without a violated group, as clingo would print them; nothing if there are too many.
std::vector<AnswerSet> compiled_answer_sets(const ConstraintProgram& program) {
  std::vector<AnswerSet> result;
  Assignment assignment(program.positions.size(), 0);
  while (true) {
    if (violated_groups(program, assignment).empty()) {
      AnswerSet answer;
      answer.atoms = shown_atoms(program, assignment);
      std::sort(answer.atoms.begin(), answer.atoms.end());
      answer.cost = cost_of(program, assignment);
      result.push_back(std::move(answer));
    }
    std::size_t k = 0;
    while (k < assignment.size() &&
           ++assignment[k] == static_cast<int>(program.positions[k].symbols.size())) {
      assignment[k++] = 0;
    }
    if (k == assignment.size()) break;
  }
  std::sort(result.begin(), result.end());
  return result;
}

// A level that costs nothing in any answer set says nothing: gringo drops it where a clue settles it, and
// the compiled program, whose clues stay open, keeps it.
std::vector<AnswerSet> without_idle_levels(std::vector<AnswerSet> sets) {
  for (std::size_t level = sets.empty() ? 0 : sets.front().cost.size(); level-- > 0;) {
    const bool idle =
        std::all_of(sets.begin(), sets.end(), [&](const AnswerSet& set) { return set.cost[level] == 0; });
    if (!idle) continue;
    for (AnswerSet& set : sets) set.cost.erase(set.cost.begin() + static_cast<std::ptrdiff_t>(level));
  }
  return sets;
}

std::string list(const std::vector<AnswerSet>& sets) {
  std::string text;
  for (const AnswerSet& set : sets) {
    for (const std::string& atom : set.atoms) text += atom + " ";
    text += "| cost";
    for (const std::int64_t cost : set.cost) text += " " + std::to_string(cost);
    text += "\n";
  }
  return text;
}

// Describes what is wrong with the compiled form of this text; empty if nothing is.
std::string difference(const std::string& text, std::map<std::string, int>* refusals = nullptr) {
  Compiled compiled;
  try {
    compiled = compile_text(text);
  } catch (const InputError& error) {
    const std::string message = error.what();
    if (refusals != nullptr) ++(*refusals)[message.substr(0, message.find(':', message.find("error: ") + 7))];
    return error.location().line > 0 ? "" : "refused without a place: " + message;
  }
  std::vector<AnswerSet> ours = compiled_answer_sets(compiled.program);
  if (text.find("#show") != std::string::npos) ours.erase(std::unique(ours.begin(), ours.end()), ours.end());
  const std::vector<AnswerSet> theirs = testing::answer_sets(text);
  if (without_idle_levels(ours) == without_idle_levels(theirs)) return "";
  return "compiled:\n" + list(ours) + "clingo:\n" + list(theirs);
}

// A number from the environment; AS2_RANDOM_PROGRAMS and AS2_RANDOM_FIRST (a seed) cut a long run into
// slices.
int from_environment(const char* name, int usual) {
  const char* wanted = std::getenv(name);
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

// Compares `count` programs; the result says how many were compiled.
int compare(int count, const std::function<RandomProgram(std::uint64_t)>& make) {
  std::map<std::string, int> refusals;
  const int first = from_environment("AS2_RANDOM_FIRST", 0);
  for (int seed = first; seed < first + count; ++seed) {
    const RandomProgram program = make(static_cast<std::uint64_t>(seed));
    const std::string wrong = difference(program.text(), &refusals);
    if (wrong.empty()) continue;
    const RandomProgram small = testing::shrink(program, [](const RandomProgram& candidate) {
      try {
        return !difference(candidate.text()).empty();
      } catch (const std::exception&) {
        return false;
      }
    });
    ADD_FAILURE() << "seed " << seed << ", shrunk:\n" << small.text() << difference(small.text());
    return 0;
  }
  int refused = 0;
  for (const auto& [reason, number] : refusals) {
    refused += number;
    std::cout << number << " refused: " << reason << "\n";
  }
  return count - refused;
}

TEST(Invariant, RandomProgramsAgreeWithClingoOnEveryAssignment) {
  if (!testing::have_clingo()) GTEST_SKIP() << "no clingo";
  const int programs = from_environment("AS2_RANDOM_PROGRAMS", 2200);
  EXPECT_EQ(compare(programs, [](std::uint64_t seed) { return testing::random_program(seed); }), programs);
}

// The condition of one head is the negation of the other: what is shifted says `not not p(3)`, not `p(3)`.
TEST(Invariant, AHeadUnderTheNegationOfAnother) {
  if (!testing::have_clingo()) GTEST_SKIP() << "no clingo";
  EXPECT_EQ(difference("p(X) : X=2.\np(2) : not p(3); p(3).\n"), "");
}

// Negative cycles, choices in loops, disjunction, externals, edges: answer sets and assignments correspond
// one to one.
TEST(Invariant, RandomCyclicProgramsAgreeWithClingoOnEveryAssignment) {
  if (!testing::have_clingo()) GTEST_SKIP() << "no clingo";
  const int programs = from_environment("AS2_RANDOM_PROGRAMS", 2100);
  const auto make = [](std::uint64_t seed) { return testing::random_cyclic_program(seed); };
  EXPECT_GE(compare(programs, make), programs * 20 / 21);
}

}  // namespace
}  // namespace as2::compile
