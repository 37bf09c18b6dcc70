#include "infer/example_lines.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "compile/position_hints.h"
#include "files.h"
#include "json_text.h"
#include "text.h"

namespace as2::infer {
namespace {

using nlohmann::json;

constexpr const char* kForm =
    "a line is {\"images\": {position: file}, \"labels\": {position: symbol}, \"evidence\": [position], "
    "\"observed\": {atom: value}}, each part optional";

std::string printed(const json& value) {
  return shortened(json_text(value));
}

json parse_object(const std::string& text, const SourceLocation& place) {
  json parsed;
  try {
    parsed = parse_json(text, place);
  } catch (const json::exception& error) {
    throw InputError(place, "not JSON: " + shortened(error.what()), {kForm});
  }
  if (!parsed.is_object())
    throw InputError(place, "found " + printed(parsed) + ", expected an object", {kForm});
  return parsed;
}

std::string symbol_text(const json& value, const std::string& of, const SourceLocation& place) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_boolean()) return json_text(value);
  throw InputError(place, in_quotes(of) + " is " + printed(value) + ", expected a symbol");
}

// `total(_)` observed as 7 is the atom total(7).
std::string atom_with(const std::string& pattern, const std::string& value, const SourceLocation& place) {
  const auto in_word = [&](std::size_t k) {
    return k < pattern.size() && (std::isalnum(static_cast<unsigned char>(pattern[k])) || pattern[k] == '_');
  };
  std::size_t found = std::string::npos;
  for (std::size_t k = 0; k < pattern.size(); ++k) {
    if (pattern[k] != '_' || in_word(k + 1) || (k > 0 && in_word(k - 1))) continue;
    if (found != std::string::npos) throw InputError(place, in_quotes(pattern) + " has more than one '_'");
    found = k;
  }
  if (found == std::string::npos) {
    throw InputError(place, in_quotes(pattern) + " is " + in_quotes(value) + ", expected true or false",
                     {"or put a '_' where the value belongs: {\"total(_)\": \"7\"}"});
  }
  return pattern.substr(0, found) + value + pattern.substr(found + 1);
}

std::vector<std::string> read_observed(const json& given, const compile::PositionIndex& positions,
                                       const SourceLocation& place) {
  std::vector<std::string> literals;
  if (given.is_array()) {
    for (const json& literal : given) {
      if (!literal.is_string())
        throw InputError(place, "\"observed\" lists " + printed(literal) + ", expected an atom");
      literals.push_back(literal.get<std::string>());
    }
    return literals;
  }
  if (!given.is_object()) {
    throw InputError(place, "\"observed\" is " + printed(given) + ", expected atoms",
                     {"write {\"total(_)\": \"7\"} or [\"path(a,b)\", \"not path(b,a)\"]"});
  }
  for (const auto& [name, value] : given.items()) {
    if (positions.find(name) >= 0) {
      literals.push_back(name + "=" + symbol_text(value, name, place));
    } else if (value.is_boolean()) {
      literals.push_back((value.get<bool>() ? "" : "not ") + name);
    } else {
      literals.push_back(atom_with(name, symbol_text(value, name, place), place));
    }
  }
  return literals;
}

}  // namespace

ExampleReader::ExampleReader(const compile::ConstraintProgram& program, const PictureMap& pictures)
    : program_(program), pictures_(pictures), index_(program) {}

int ExampleReader::require_position(const std::string& name, const SourceLocation& place) const {
  if (const int position = index_.find(name); position >= 0) return position;
  throw InputError(place, "the program has no position " + in_quotes(name),
                   {compile::position_hint(program_, name)});
}

int ExampleReader::require_pictured(const std::string& name, const SourceLocation& place) const {
  const int position = require_position(name, place);
  if (std::binary_search(pictures_.positions.begin(), pictures_.positions.end(), position)) return position;
  std::string pictured = "no position has pictures";
  if (!pictures_.positions.empty()) {
    pictured = "pictures belong to ";
    for (std::size_t k = 0; k < std::min<std::size_t>(pictures_.positions.size(), 4); ++k)
      pictured += (k > 0 ? ", " : "") + program_.positions[pictures_.positions[k]].name;
    if (pictures_.positions.size() > 4) pictured += ", …";
  }
  throw InputError(place,
                   "position " + in_quotes(name) + " is not perceived: the network reads no picture there",
                   {pictured});
}

ExampleLine ExampleReader::parse(const std::string& text, const SourceLocation& place) const {
  const json object = parse_object(text, place);
  ExampleLine line;
  line.place = place;
  for (const auto& [key, value] : object.items()) {
    if (key != "images" && key != "labels" && key != "evidence" && key != "observed")
      throw InputError(place, "an example has no " + in_quotes(key), {kForm});
    if ((key == "images" || key == "labels") && !value.is_object())
      throw InputError(place, in_quotes(key) + " is " + printed(value) + ", expected an object of positions",
                       {kForm});
  }
  const std::filesystem::path folder = std::filesystem::path(place.file).parent_path();
  const json images = object.value("images", json::object()), labels = object.value("labels", json::object());
  for (const auto& [name, file] : images.items()) {
    const int position = require_pictured(name, place);
    if (!file.is_string() || file.get<std::string>().empty())
      throw InputError(place,
                       "the picture of " + in_quotes(name) + " is " + printed(file) + ", expected a file");
    // JSON's own check takes `p(1,_)` and `p(1, _)` for two.
    if (!line.images.emplace(position, (folder / file.get<std::string>()).string()).second)
      throw InputError(place, in_quotes(name) + " is given twice");
  }
  for (const auto& [name, value] : labels.items()) {
    const int position = require_position(name, place);
    const std::string symbol = symbol_text(value, name, place);
    const int index = program_.find_symbol(position, symbol);
    if (index < 0) {
      throw InputError(place, name + " has no symbol " + in_quotes(symbol),
                       {compile::symbol_names(program_.positions[position])});
    }
    if (!line.labels.emplace(position, index).second)
      throw InputError(place, in_quotes(name) + " is given twice");
  }
  line.lists_evidence = object.contains("evidence");
  if (line.lists_evidence) {
    const json& listed = object["evidence"];
    if (!listed.is_array())
      throw InputError(place, "\"evidence\" is " + printed(listed) + ", expected a list of positions");
    std::set<int> evidence;
    for (const json& name : listed) {
      if (!name.is_string())
        throw InputError(place, "\"evidence\" lists " + printed(name) + ", expected a position");
      const int position = require_position(name.get<std::string>(), place);
      if (line.labels.count(position) == 0 && line.images.count(position) == 0) {
        throw InputError(place,
                         name.get<std::string>() + " is evidence but has neither a picture nor a label");
      }
      evidence.insert(position);
    }
    for (const auto& [position, file] : line.images) {
      if (evidence.count(position) == 0)
        throw InputError(place, program_.positions[position].name + " has a picture but is not evidence",
                         {"add it to \"evidence\", or leave its picture out"});
    }
    line.evidence.assign(evidence.begin(), evidence.end());
  } else if (object.contains("images")) {
    for (const auto& [position, file] : line.images) line.evidence.push_back(position);
  } else {
    for (const auto& [position, symbol] : line.labels) {
      if (std::binary_search(pictures_.positions.begin(), pictures_.positions.end(), position))
        line.evidence.push_back(position);
    }
  }
  if (object.contains("observed")) line.observed = read_observed(object["observed"], index_, place);
  return line;
}

std::vector<ExampleLine> ExampleReader::read(const std::string& path) const {
  std::vector<ExampleLine> examples;
  std::istringstream lines(read_file(path));
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    examples.push_back(parse(text, {path, number}));
  }
  if (examples.empty()) throw InputError({path}, "has no example", {kForm});
  return examples;
}

}  // namespace as2::infer
