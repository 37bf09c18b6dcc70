// The paper's confidence-ordered greedy decoding.
#pragma once

#include "as2/decoder.h"
#include "decode/state.h"

namespace as2::decode {

// Commits pins and evidence first, then positions in order of decreasing confidence; ends in kSatisfied or
// kDeadEnd.
Decoded greedy(const compile::ConstraintProgram& program, State& state, const Query& query);

}  // namespace as2::decode
