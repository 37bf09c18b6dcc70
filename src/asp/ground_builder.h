// Tagged aspif to GroundProgram.
#pragma once

#include <string>
#include <string_view>

#include "as2/ground_program.h"
#include "asp/tagging.h"

namespace as2::asp {

// Reads tagged aspif and resolves its tags with the source map. `name` stands for the text in messages.
GroundProgram build_ground_program(std::string_view aspif, const std::string& name, SourceMap map);

// The aspif with the source map in comment lines behind the header.
std::string write_compiled(const std::string& aspif, const SourceMap& map);
// The source map in the comment lines of such a text.
SourceMap read_source_map(std::string_view text, const std::string& name);

}  // namespace as2::asp
