// What conflicts when nothing satisfies a program and its pins.
#pragma once

#include <vector>

#include "as2/decoder.h"
#include "decode/search.h"

namespace as2::decode {

// True if some assignment satisfies the enabled groups (empty: all) and the pins; also when `limits` end the
// search first, so that a caller that leaves constraints out never claims a conflict without proof.
bool satisfiable(const compile::ConstraintProgram& program, const std::vector<char>& enabled,
                 const std::vector<Pin>& pins, const Limits& limits);

// Groups and pins that conflict, of which none can be left out. The whole set must conflict.
Conflict minimal_conflict(const compile::ConstraintProgram& program, const std::vector<Pin>& pins,
                          const Limits& limits);

}  // namespace as2::decode
