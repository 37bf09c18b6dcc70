// Tagged aspif to GroundProgram.
#pragma once

#include <string>
#include <string_view>

#include "as2/ground_program.h"
#include "asp/tagging.h"

namespace as2::asp {

// Reads tagged aspif and resolves its tags with the source map. `name` stands for the text in messages.
GroundProgram build_ground_program(std::string_view aspif, const std::string& name, SourceMap map);

}  // namespace as2::asp
