// Solved boards as text for people, and as an image's JSON document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "as2/solver.h"
#include "boards/cell_reader.h"

namespace as2::cli {

struct BoardTextOptions {
  double threshold = 0.9;  // readings less sure than this are listed
  bool explain = false;    // also lists the groups that the reading breaks
  bool colour = false;
};

// Whether to use colours: on a terminal, unless the user has set NO_COLOR.
bool colour_wanted();

// The reading and the answer side by side, then what was unsure, what the rules corrected, and whether the
// answer is the only one.
std::string board_text(const infer::Solver& solver, const infer::Answer& answer,
                       const BoardTextOptions& options);

// {status, assignment, confidence, read, changed, unique, margin, reread}; with `explain` also conflicts.
nlohmann::ordered_json board_json(const infer::Solver& solver, const infer::Answer& answer, bool explain);

// The entries of a player that the answer contradicts, one line each and how many are right; as JSON all of
// them. Both are empty where there are no entries.
std::string entries_text(const infer::Solver& solver, const infer::Answer& answer,
                         const std::vector<boards::Entry>& entries);
nlohmann::ordered_json entries_json(const infer::Solver& solver, const infer::Answer& answer,
                                    const std::vector<boards::Entry>& entries);

// Why what was read has no completion, in one line, with the nearest answer's changes.
std::string no_completion(const infer::Solver& solver, const infer::Answer& answer);

}  // namespace as2::cli
