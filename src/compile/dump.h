// Readable dumps of what each pass produced (`as2 check --show=passes`).
#pragma once

#include <string>

#include "compile/passes.h"

namespace as2::compile {

std::string dump_normal(const Compilation& c);
std::string dump_guesses(const Compilation& c);
std::string dump_choices(const Compilation& c);
std::string dump_positions(const Compilation& c);
std::string dump_strata(const Compilation& c);
std::string dump_definitions(const Compilation& c);
std::string dump_constraints(const Compilation& c);
std::string dump_kinds(const Compilation& c);
std::string dump_objectives(const Compilation& c);
std::string dump_shown(const Compilation& c);
std::string dump_circuit(const Compilation& c);
std::string dump_groups(const Compilation& c);

// Every group in a line or more, for people: its kind, positions and what it says.
std::string list_groups(const ConstraintProgram& program);
std::string describe(const ConstraintProgram& program, const SetLiteral& literal);
// The ground program with atoms by name (`--show=ground`).
std::string dump_ground(const asp::GroundProgram& ground);

}  // namespace as2::compile
