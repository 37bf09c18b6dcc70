// What training may know of a task's examples: labels of positions, and atoms that the program derives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/probability.h"
#include "task/config.h"
#include "task/instances.h"

namespace as2::task {

// An atom whose truth may be observed. What depends on one position is a set of its symbols.
struct ObservedAtom {
  std::string name;
  prob::Observable about;  // kSet or kNode
};

struct Supervision {
  std::vector<char> labelled;       // [positions]: labels that cross-entropy may use
  std::vector<char> observed;       // [positions]: labels that constraints and likelihoods are given
  std::vector<ObservedAtom> atoms;  // in the order of Instances::atoms
  LabelPlace place = LabelPlace::kEverywhere;
};

// From the patterns of labels.positions and labels.observed. `*` in a pattern stands for any text; in
// labels.observed `_` as an argument of a derived atom stands for any argument. A pattern that names nothing,
// only what always or never holds, or a derived atom where a position is meant, is an InputError.
Supervision read_supervision(const compile::ConstraintProgram& program,
                             const std::vector<std::string>& labelled,
                             const std::vector<std::string>& observed, LabelPlace place);

// Sets known, observed and atoms of examples that do not say so themselves. Derived atoms follow from the
// labels, hidden or not: where these leave positions open and the program does not decide them, the atoms of
// the example are not observed. `use_all`: every label may be used, as in a test.
Instances supervised(const std::shared_ptr<const compile::ConstraintProgram>& program,
                     const Supervision& supervision, const Instances& instances, bool use_all);

}  // namespace as2::task
