// What users ask about a program's atoms, each question once, whatever the number of examples that ask it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "as2/probability.h"

namespace CLI {
class App;
}

namespace as2::cli {

// --query and --distribution, the same for every verb that has them.
void declare_questions(CLI::App& command, std::vector<std::string>& queries,
                       std::vector<std::string>& distributions);

// The atoms that match `--distribution PATTERN`; InputError where there is none.
std::vector<std::pair<std::string, prob::Observable>> require_atoms(const compile::ConstraintProgram& program,
                                                                    const std::string& pattern);

// Of atoms that the program does not have: InputError if `#show` hides one of them, because its truth is then
// unknown; otherwise a warning.
void judge_unknown(const compile::ConstraintProgram& program, const prob::Observation& query);

class Questions {
 public:
  // Keeps a reference.
  explicit Questions(const compile::ConstraintProgram& program) : program_(program) {}

  // Of every example: `total(7), not carry(1,1)`, with judge_unknown().
  void ask(const std::string& query);
  // Of every example: each atom that matches `total(_)`.
  void ask_distribution(const std::string& pattern);
  // Of one example, whose line observes this literal. The index of the question; InputError at `place` where
  // the program has no such atom.
  std::size_t observe(const std::string& literal, const SourceLocation& place);

  // Forgets what single examples observe.
  void forget_observed();

  // The questions for every example, in the order in which they were asked.
  const std::vector<std::size_t>& always() const { return always_; }
  const std::vector<prob::Observation>& observations() const { return observations_; }
  const std::string& text(std::size_t index) const { return texts_[index]; }
  // The nodes that the circuit must be able to observe for all questions, or for these; ascending.
  std::vector<int> nodes() const;
  std::vector<int> nodes(const std::vector<std::size_t>& questions) const;

 private:
  std::size_t add(const std::string& text);
  std::size_t add(const std::string& text, prob::Observation observation);

  const compile::ConstraintProgram& program_;
  std::vector<prob::Observation> observations_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::size_t> always_;
};

}  // namespace as2::cli
