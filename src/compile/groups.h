// Passes `groups` and `hash`: the compiled program's groups, families and name.
#pragma once

#include <vector>

#include "as2/constraint_program.h"
#include "compile/kinds.h"
#include "compile/node_writer.h"

namespace as2::compile {

// Writes aggregates and groups; the nodes must have been written.
void write_groups(const std::vector<Kinds>& kinds, const Definitions& definitions, const NodeWriter& nodes,
                  ConstraintProgram& program);

// A name for what the program means: positions, groups, objectives and shown atoms, but not where or in which
// file they were written, nor what families are called.
std::string meaning_hash(const ConstraintProgram& program);

}  // namespace as2::compile
