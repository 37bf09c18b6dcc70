// What is not a tensor crosses to Python as JSON text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "as2/decoder.h"
#include "infer/card.h"

namespace as2::python {

using Json = nlohmann::json;

inline std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

inline Json changes(const std::vector<decode::Change>& changed) {
  Json list = Json::array();
  for (const decode::Change& change : changed)
    list.push_back({change.position, change.read, change.decoded, change.p_read, change.p_decoded});
  return list;
}

inline Json program_source(const infer::ProgramSource& source) {
  return {{"file", source.file}, {"compiled", source.compiled}, {"constants", source.constants}};
}

inline Json unique_reading(const decode::UniqueReading& unique) {
  return {{"found", unique.found},
          {"rank", unique.found ? Json(unique.rank) : Json(nullptr)},
          {"readings", unique.readings},
          {"complete", unique.complete}};
}

}  // namespace as2::python
