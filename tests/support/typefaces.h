// A folder of typefaces on machines that have one.
#pragma once

#include <filesystem>

#include "support/temporary_folder.h"

namespace as2::test {

// Puts one typeface there under three names, whose families are for training, for validation and for the test
// (vision/typefaces.h). False where this machine lacks the typeface.
inline bool put_typefaces(const TemporaryFolder& folder, const std::string& name) {
  const std::filesystem::path face = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
  if (!std::filesystem::exists(face)) return false;
  for (const char* family : {"one", "iota", "beta"})
    folder.put(name + "/" + family + ".ttf", read_file(face.string()));
  return true;
}

}  // namespace as2::test
