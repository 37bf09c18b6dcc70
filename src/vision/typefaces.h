// The typefaces of a machine whose digits look like digits, kept apart by family.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/typeface.h"

namespace as2::vision {

// What a typeface may be used for: of every ten families eight are for training, one for validation and one
// for the test, as the family's name decides.
enum class FacePart { kTrain, kValidation, kTest };

struct Family {
  std::string name;
  std::vector<formats::Typeface> faces;
  FacePart part = FacePart::kTrain;
};

// All typefaces (.ttf, .otf) under a folder, in families by the first letters of their files' names. A face
// is left out unless at least eight of its ten digits look more like that digit in the other faces than like
// any other: there are fonts of symbols, bar codes and Klingon. InputError where fewer than ten families are
// left.
std::vector<Family> find_typefaces(const std::string& folder,
                                   const std::function<void(const std::string&)>& report = {});

}  // namespace as2::vision
