// What the page asks of the runtime: a name and a JSON document in, a JSON document out.
#pragma once

#include <nlohmann/json.hpp>

namespace as2::web {

using Json = nlohmann::ordered_json;

// Pictures of boards (boards.cpp).
Json open_boards(const Json& request);  // {model}: the weights' name; replaces what was open under that name
Json solve_picture(const Json& request);  // {file}: in the module's own file system
Json solve_again(const Json& request);    // {corrections: {position: symbol, or "" for blank, or pixels}}
Json film(const Json& request);           // {model}: each pass of its reasoner on the board as it is now

// Programs (programs.cpp).
Json check_program(const Json& request);   // {program} or {compiled}, {constants}: the one in use from now on
Json decode_program(const Json& request);  // {beliefs, models}
Json soft_tp(const Json& request);         // {beliefs}
Json probabilities(const Json& request);   // {beliefs, queries}: exact, by a circuit

}  // namespace as2::web
