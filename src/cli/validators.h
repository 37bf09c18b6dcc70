// Checks of options that CLI11 does not have.
#pragma once

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "sudoku/board.h"

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

// A whole number of 64 bits; CLI::PositiveNumber would print the greatest double when it refuses one, and
// CLI11 reads `-1` into an unsigned number as the largest one, and so any that is too large.
inline CLI::Validator whole_number_from(std::int64_t low) {
  const auto check = [=](const std::string& text) -> std::string {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0' && errno == 0 && value >= low) return "";
    if (errno == ERANGE && value > 0)
      return text + " is too large: at most " + std::to_string(std::numeric_limits<std::int64_t>::max());
    return text + " is not a whole number from " + std::to_string(low) + " on";
  };
  return CLI::Validator(check, "", "whole number");
}

inline CLI::Validator a_seed() {
  return whole_number_from(0);
}

// A shape that boxes of Sudoku have.
inline CLI::Validator a_box() {
  const auto check = [](const std::string& name) -> std::string {
    return sudoku::find_box(name) ? ""
                                  : name + " is not a shape of box: expected one of " + sudoku::box_names();
  };
  return CLI::Validator(check, "", "box");
}

// An option whose value is the empty text was meant to have one: a variable of the shell is not set.
inline CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "the value is empty" : ""; }, "",
                        "not empty");
}

// Where a picture is written, as PNG: no file that is called another kind of picture.
inline CLI::Validator png_file() {
  const auto check = [](const std::string& path) -> std::string {
    const std::size_t dot = path.rfind('.');
    const std::string ending = CLI::detail::to_lower(dot == std::string::npos ? "" : path.substr(dot + 1));
    for (const char* other : {"jpg", "jpeg", "bmp", "pgm", "ppm", "pnm", "gif", "tif", "tiff", "webp"}) {
      if (ending == other) return path + " would be written as PNG: call it " + path.substr(0, dot) + ".png";
    }
    return "";
  };
  return CLI::Validator(check, "", "PNG");
}

}  // namespace as2::cli
