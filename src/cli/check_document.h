// What `as2 check` says about a program, as its JSON document.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "as2/compile.h"
#include "compile/residual_terms.h"

namespace as2::cli {

std::int64_t total_terms(const std::vector<compile::FamilySummary>& families);

nlohmann::ordered_json check_json(const compile::Compiled& compiled);
// [{position, symbols}]: what `--show positions` adds.
nlohmann::ordered_json positions_json(const compile::ConstraintProgram& program);

}  // namespace as2::cli
