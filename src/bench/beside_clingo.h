// What it takes to measure the decoder beside clingo.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace as2::bench {

// clingo's own JSON document on `input`, with these further arguments; it is ended after `seconds`.
nlohmann::json ask_clingo(const std::string& clingo, const std::string& input,
                          std::vector<std::string> arguments, double seconds);

// Processor seconds that this process, all its threads and its children that have ended have taken so far.
double processor_seconds();

}  // namespace as2::bench
