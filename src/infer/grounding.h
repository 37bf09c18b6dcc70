// Loading a program with limits of its own for gringo.
#pragma once

#include "as2/compile.h"
#include "infer/program.h"

namespace as2::infer {

// load_program() where the caller says what gringo may take; the constants are the source's. `warnings` are
// those of the compiler.
std::shared_ptr<const compile::ConstraintProgram> load_program(const ProgramSource& source,
                                                               asp::GroundOptions grounding,
                                                               std::vector<asp::Warning>* warnings = nullptr);

}  // namespace as2::infer
