#include "task/settings.h"

#include <stdexcept>

// Where toml++ takes for granted what it should refuse (the name after `[.`), a build with assertions says so
// by an exception; without them the next check of toml++ does.
#define TOML_ASSERT(expression) ((expression) ? void() : throw std::logic_error("no TOML"))
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "files.h"
#include "text.h"

namespace as2::task {
namespace {

using nlohmann::json;

SourceLocation place(const toml::source_region& region, const std::string& file) {
  return {file, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column),
          static_cast<int>(region.end.line), static_cast<int>(region.end.column)};
}

// Outside of strings and comments TOML is ASCII; toml++ looks other letters up in tables that have holes.
void refuse_other_letters(const std::string& text, const std::string& name) {
  int line = 1;
  std::string inside;  // what ends the string or comment we are in
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (c == '\n') ++line;
    if (!inside.empty()) {
      if (c == '\\' && inside[0] == '"') {
        line += text.compare(++k, 1, "\n") == 0 ? 1 : 0;
      } else if (text.compare(k, inside.size(), inside) == 0) {
        k += inside.size() - 1;
        inside.clear();
      } else if (c == '\n' && inside.size() == 1) {
        inside.clear();  // a string that is not closed, which toml++ refuses
      }
    } else if (c == '#') {
      inside = "\n";
    } else if (c == '"' || c == '\'') {
      inside = std::string(text.compare(k, 3, std::string(3, c)) == 0 ? 3 : 1, c);
      k += inside.size() - 1;
    } else if (static_cast<unsigned char>(c) >= 0x80 ||
               (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r' && c != '\n')) {
      throw InputError({name, line, 0, 0, 0}, "a character that TOML has only in strings and comments",
                       {"put it into quotes"});
    }
  }
}

toml::table parse(const std::string& text, const std::string& name) {
  refuse_other_letters(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw InputError(place(error.source(), name), std::string(error.description()));
  } catch (const std::logic_error& error) {
    throw InputError(SourceLocation{name}, error.what(),
                     {"a table's header is a name in brackets, like [train]"});
  }
}

json to_json(const toml::node& node, const std::string& file) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* array = node.as_array()) {
    json values = json::array();
    for (const toml::node& element : *array) values.push_back(to_json(element, file));
    return values;
  }
  throw InputError(place(node.source(), file), "a date or an inline table cannot stand here",
                   {"use a number, a string, true, false or a list of those"});
}

}  // namespace

void Settings::add_file(const std::string& path) {
  add_text(read_file(path), path);
}

void Settings::add_text(const std::string& text, const std::string& name) {
  const toml::table root = parse(text, name);
  const auto add = [&](const auto& self, const toml::table& table, const std::string& prefix) -> void {
    for (const auto& [key, node] : table) {
      const std::string full = prefix + std::string(key.str());
      if (const toml::table* inner = node.as_table()) {
        self(self, *inner, full + ".");
      } else {
        entries_[full] = {to_json(node, name), place(node.source(), name), false};
      }
    }
  };
  add(add, root, "");
}

void Settings::add_override(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError("--set " + assignment + ": expected key=value, as in --set train.rate=1e-3");
  }
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  if (value.find_first_of("\r\n") != std::string::npos)
    throw UsageError("--set " + in_quotes(key) + ": a value stands on one line");
  json parsed = value;
  try {
    const toml::table table = parse("v = " + value, "--set");
    parsed = to_json(*table.get("v"), "--set");
  } catch (const InputError&) {
    // A bare word is a string.
  }
  entries_[key] = {parsed, {"--set " + assignment}, false, true};
}

void Settings::set(const std::string& key, json value) {
  entries_[key] = {std::move(value), {}, false};
}

json& Settings::fetch(const std::string& key, json fallback) {
  Entry& entry = entries_.emplace(key, Entry{std::move(fallback), {}, false}).first->second;
  entry.used = true;
  return entry.value;
}

double Settings::number(const std::string& key, double fallback, double low, double high) {
  const json& value = fetch(key, fallback);
  if (!value.is_number() || !(value >= low && value <= high)) {
    std::ostringstream expected;
    expected << "a number from " << low << " to " << high;
    refuse(key, expected.str());
  }
  return value;
}

std::int64_t Settings::integer(const std::string& key, std::int64_t fallback, std::int64_t low,
                               std::int64_t high) {
  const json& value = fetch(key, fallback);
  if (!value.is_number_integer() || value < low || value > high) {
    refuse(key, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

bool Settings::boolean(const std::string& key, bool fallback) {
  const json& value = fetch(key, fallback);
  if (!value.is_boolean()) refuse(key, "true or false");
  return value;
}

std::string Settings::text(const std::string& key, const std::string& fallback) {
  const json& value = fetch(key, fallback);
  if (!value.is_string()) refuse(key, "a string");
  return value;
}

std::string Settings::choice(const std::string& key, const std::string& fallback,
                             const std::vector<std::string>& choices) {
  const json& value = fetch(key, fallback);
  for (const std::string& word : choices) {
    if (value == word) return word;
  }
  std::string expected = "one of";
  for (const std::string& word : choices) expected += (&word == choices.data() ? " " : ", ") + word;
  refuse(key, expected);
}

std::vector<std::string> Settings::texts(const std::string& key, const std::vector<std::string>& fallback) {
  const json& value = fetch(key, fallback);
  if (value.is_string()) return {value.get<std::string>()};
  const bool strings = value.is_array() &&
                       std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_string(); });
  if (!strings) refuse(key, "a string or a list of strings");
  return value;
}

json Settings::section(const std::string& section, bool overrides) {
  json object = json::object();
  const std::string prefix = section + ".";
  for (auto& [key, entry] : entries_) {
    if (key.compare(0, prefix.size(), prefix) != 0 || (overrides && !entry.override)) continue;
    entry.used = true;
    json* inner = &object;
    std::size_t begin = prefix.size();
    for (std::size_t dot; (dot = key.find('.', begin)) != std::string::npos; begin = dot + 1) {
      inner = &(*inner)[key.substr(begin, dot - begin)];
    }
    (*inner)[key.substr(begin)] = entry.value;
  }
  return object;
}

void Settings::refuse_unused(bool overrides) const {
  for (const auto& [key, entry] : entries_) {
    if (entry.used || (overrides && !entry.override)) continue;
    for (const auto& [section, why] : reasons_) {
      if (key == section || key.rfind(section + ".", 0) == 0)
        throw InputError(entry.location, "'" + key + "' has no effect here: " + why);
    }
    std::string nearest;
    std::size_t distance = 4;
    for (const auto& [other, candidate] : entries_) {
      if (!candidate.used) continue;
      if (const std::size_t d = edit_distance(key, other); d < distance) distance = d, nearest = other;
    }
    std::vector<std::string> notes;
    if (!nearest.empty()) notes.push_back("did you mean '" + nearest + "'?");
    throw InputError(entry.location, "no setting is called '" + key + "'", notes);
  }
}

void Settings::refuse(const std::string& key, const std::string& expected) const {
  const Entry& entry = entries_.at(key);
  throw InputError(entry.location, "'" + key + "' is " + entry.value.dump() + ", expected " + expected);
}

SourceLocation Settings::location(const std::string& key) const {
  const auto entry = entries_.find(key);
  return entry == entries_.end() ? SourceLocation{} : entry->second.location;
}

// JSON's scalars and lists are TOML's as well.
std::string Settings::resolved() const {
  std::map<std::string, std::string> sections;
  for (const auto& [key, entry] : entries_) {
    if (!entry.used) continue;
    const std::size_t dot = key.rfind('.');
    const std::string section = dot == std::string::npos ? "" : key.substr(0, dot);
    sections[section] += key.substr(section.empty() ? 0 : dot + 1) + " = " + entry.value.dump() + '\n';
  }
  std::string text;
  for (const auto& [section, lines] : sections) {
    if (!section.empty()) text += "\n[" + section + "]\n";
    text += lines;
  }
  return text;
}

}  // namespace as2::task
