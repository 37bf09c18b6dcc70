// Which positions of a program have pictures, and what the pictures can show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::infer {

// `name` matches `pattern`, in which `*` stands for any text.
bool matches(const std::string& pattern, const std::string& name);
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);
// The position of this name, or else those that it matches as a pattern; none where there is none.
std::vector<int> positions_named(const compile::ConstraintProgram& program, const std::string& name);

struct PictureMap {
  std::vector<int> positions;              // that have pictures when they are evidence, ascending
  std::vector<std::vector<int>> class_of;  // [position][symbol] class that shows it; -1: none
  int classes = 0;
};

// The positions that match a pattern, each of whose symbols must be the name of a class. InputError where a
// symbol has no picture, or where no position matches.
PictureMap map_pictures(const compile::ConstraintProgram& program, const std::vector<std::string>& patterns,
                        const std::vector<std::string>& classes);

// A user's picture, PNG, JPEG, BMP or PGM of any size, as perception reads it: 28 × 28 grey bytes, ink 255 on
// paper 0. It is scaled by averaging areas. The shade of its margin is the paper's; ink is what differs from
// it, lighter or darker. InputError where the file cannot be read.
std::vector<std::uint8_t> read_picture(const std::string& path);

// Whether perception has anything to look at. A picture without ink is no evidence, unless it is said to be:
// the noise of blank paper stays below the limit, the faintest stroke lies above it.
bool has_ink(const std::vector<std::uint8_t>& picture);

}  // namespace as2::infer
