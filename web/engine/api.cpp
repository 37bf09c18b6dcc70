#include "api.h"

#include <cstdlib>
#include <cstring>
#include <map>

#include "as2/error.h"

namespace as2::web {
namespace {

const std::map<std::string, Json (*)(const Json&)>& functions() {
  static const std::map<std::string, Json (*)(const Json&)> table = {
      {"open", open_boards},    {"solve", solve_picture},   {"again", solve_again}, {"film", film},
      {"check", check_program}, {"decode", decode_program}, {"tp", soft_tp},        {"prob", probabilities},
  };
  return table;
}

Json answer(const std::string& name, const std::string& request) {
  const auto function = functions().find(name);
  if (function == functions().end()) return {{"error", "no function '" + name + "'"}};
  try {
    return function->second(Json::parse(request));
  } catch (const InputError& error) {
    const SourceLocation& place = error.location();
    return {{"error", error.what()},
            {"place",
             {{"file", place.file},
              {"line", place.line},
              {"column", place.column},
              {"end_line", place.end_line},
              {"end_column", place.end_column}}}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace
}  // namespace as2::web

// The caller frees what it gets.
extern "C" char* as2_call(const char* name, const char* request) {
  using as2::web::Json;
  setenv("AS2_HOME", "/as2", 1);  // where the page puts models and programs
  const std::string text =
      as2::web::answer(name, request).dump(-1, ' ', false, Json::error_handler_t::replace);
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}
