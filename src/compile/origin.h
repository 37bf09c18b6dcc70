// The statement behind a ground atom, found by the predicate in its head: gringo's rules do not say.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "as2/ground_program.h"

namespace as2::compile {

class Origins {
 public:
  explicit Origins(const asp::GroundProgram& ground);

  // The first statement that derives or chooses the atom's predicate; -1 if there is none.
  int of(asp::Atom atom) const;
  // The first that derives it and mentions its negation, `f :- not f, B.`; else as above.
  int of_self_negation(asp::Atom atom) const;
  // The last rule (no choice) with the predicate in its head; -1 if there is none.
  int rule_of(asp::Atom atom) const;
  // The rule with all these predicates in its head and the fewest others, the first of these; else as `of`.
  int of_disjunction(const std::vector<asp::Atom>& head) const;

 private:
  const std::vector<int>& statements_of(asp::Atom atom) const;

  const asp::GroundProgram& ground_;
  std::map<std::string, std::vector<int>> by_signature_;
};

}  // namespace as2::compile
