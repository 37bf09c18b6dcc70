// Small random answer set programs, and clingo's answer sets of them: the oracle of the random tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace as2::testing {

// SplitMix64: the same numbers on every machine, which std's distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  int below(int end);              // 0 … end-1
  int between(int low, int high);  // both included
  bool chance(int percent);
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  std::uint64_t state_;
};

struct RandomProgram {
  std::vector<std::string> statements;
  std::string text() const;  // one statement per line
};

struct RandomProgramOptions {
  bool conditional_choices = true;
  bool definitions = true;
  bool objectives = true;
  int max_assignments = 600;  // a bound on the product of the domain sizes (roughly kept)
};

// The program of this seed: choices (exactly-one, free, bounded, conditional), clues, stratified rules with
// negation, recursion and aggregates, constraints of every kind, objectives.
RandomProgram random_program(std::uint64_t seed, const RandomProgramOptions& options = {});

// The program of this seed, of a second kind: rules in any order of dependency (negative cycles, choices and
// rules on one atom, choices inside recursion, several choices on one predicate), head-cycle-free disjunction
// for the most part, conditional heads, recursive aggregates, externals, `#edge`, strong negation, `#show` of
// terms, constraints and objectives.
RandomProgram random_cyclic_program(std::uint64_t seed, bool with_show = true);

struct AnswerSet {
  std::vector<std::string> atoms;  // sorted as strings
  std::vector<std::int64_t> cost;  // highest priority first
  bool operator<(const AnswerSet& other) const {
    return std::tie(atoms, cost) < std::tie(other.atoms, other.cost);
  }
  bool operator==(const AnswerSet& other) const { return atoms == other.atoms && cost == other.cost; }
};

// Is there a clingo to ask?
bool have_clingo();
// All answer sets, sorted, costs ignored in the search; those that #show leaves alike are one. Throws if
// clingo refuses the text.
std::vector<AnswerSet> answer_sets(const std::string& text);

// Drops statements as long as `fails` stays true; what is left is a minimal program that fails.
RandomProgram shrink(RandomProgram program, const std::function<bool(const RandomProgram&)>& fails);

}  // namespace as2::testing
