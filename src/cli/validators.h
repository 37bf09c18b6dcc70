// Checks of options that CLI11 does not have.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace as2::cli {

// A number from `low` to `high`. CLI::Range lets `nan` pass, because it is neither below `low` nor above
// `high`.
inline CLI::Validator number_between(double low, double high) {
  const auto check = [=](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && value >= low && value <= high) return "";
    std::ostringstream expected;
    expected << text << " is not a number from " << low << " to " << high;
    return expected.str();
  };
  return CLI::Validator(check, "", "number");
}

}  // namespace as2::cli
