#pragma once

#include "as2/probability.h"

namespace as2::prob {

// Does the observation hold under an assignment whose nodes have this truth?
bool holds(const Observation& observation, const compile::Assignment& assignment,
           const std::vector<char>& truth);

}  // namespace as2::prob
