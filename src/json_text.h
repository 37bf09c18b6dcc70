// JSON from text and to text, for everybody. Names of files may hold any bytes, JSON holds only UTF-8, and
// the library's own dump() throws where it meets anything else. Its parser takes any depth, but what copies
// and prints a value calls itself for every level, and a few MB of `[` would take more stack than there is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "as2/error.h"

namespace as2 {

// The value on one line, or indented by `indent` blanks per level. U+FFFD stands for what is not UTF-8.
template <typename Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Throws InputError where an object has a key twice (the parser would let the last one win) or more than 500
// lists and objects stand within each other, and std::bad_alloc where the document would take more memory
// than there is. `place` is where the text begins. Whether it is JSON at all, the parser says.
void check_json(std::string_view text, SourceLocation place = {});

// Json::parse(text, how…) for text that anybody may have written.
template <typename Json = nlohmann::json, typename... How>
Json parse_json(std::string_view text, const SourceLocation& place, How&&... how) {
  check_json(text, place);
  return Json::parse(text, std::forward<How>(how)...);
}

}  // namespace as2
