#pragma once

#include "as2/probability.h"

namespace as2::prob {

// What holds where this does not.
Observable negation(const compile::ConstraintProgram& program, Observable observable);

// Does the observation hold under an assignment whose nodes have this truth?
bool holds(const Observation& observation, const compile::Assignment& assignment,
           const std::vector<char>& truth);

}  // namespace as2::prob
