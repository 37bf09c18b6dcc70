// `.as2c` files: tagged aspif and its source map in one text.
#pragma once

#include <string>
#include <string_view>

#include "asp/tagging.h"

namespace as2::asp {

// The aspif with the source map in comment lines behind the header.
std::string write_compiled(const std::string& aspif, const SourceMap& map);
// The source map in the comment lines of such a text.
SourceMap read_source_map(std::string_view text, const std::string& name);

}  // namespace as2::asp
