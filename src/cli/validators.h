// Checks of options that CLI11 does not have.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
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

// A whole number; CLI::PositiveNumber would print the greatest double when it refuses one.
inline CLI::Validator whole_number_from(std::int64_t low) {
  const auto check = [=](const std::string& text) -> std::string {
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0' && value >= low) return "";
    return text + " is not a whole number from " + std::to_string(low) + " on";
  };
  return CLI::Validator(check, "", "whole number");
}

// A seed: CLI11 would read `-1` into an unsigned number as the largest one.
inline CLI::Range a_seed() {
  return CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
}

}  // namespace as2::cli
