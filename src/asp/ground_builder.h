// Tagged aspif to GroundProgram.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "as2/ground_program.h"
#include "asp/tagging.h"

namespace as2::asp {

// Reads tagged aspif and resolves its tags with the source map. `name` stands for the text in messages. A
// program of more than `size_limit` atoms and literals is refused.
GroundProgram build_ground_program(std::string_view aspif, const std::string& name, SourceMap map,
                                   std::int64_t size_limit);

}  // namespace as2::asp
