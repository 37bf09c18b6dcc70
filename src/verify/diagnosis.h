// Names the source statements that assignments violate.
#pragma once

#include <string>
#include <vector>

#include "as2/ground_program.h"
#include "as2/verifier.h"

namespace as2::verify {

// The program that tells for every case (1, 2, … in the order of `cases`) what it violates, as aspif; clingo
// shows `__as2_case(k)` and the marks that violations() reads.
std::string diagnosis_program(const asp::GroundProgram& ground, const std::vector<const ChosenAtoms*>& cases);

// Reads the marks of one model of that program; in source order, each statement once.
std::vector<Violation> violations(const asp::GroundProgram& ground, const ChosenAtoms& assignment,
                                  const std::vector<std::string>& shown);

}  // namespace as2::verify
