// JSON as text, and the one place where it becomes text: names of files may hold any bytes, JSON holds only
// UTF-8, and the library's own dump() throws where it meets anything else.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace as2 {

// The value on one line, or indented by `indent` blanks per level. U+FFFD stands for what is not UTF-8.
template <typename Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace as2
