#include "task/settings.h"

#include <stdexcept>

// Where toml++ takes for granted what it should refuse (the name after `[.`), a build with assertions says so
// by an exception; without them the next check of toml++ does.
#define TOML_ASSERT(expression) ((expression) ? void() : throw std::logic_error("no TOML"))
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "files.h"
#include "json_text.h"
#include "text.h"

namespace as2::task {
namespace {

using nlohmann::json;

// toml++ looks letters beyond ASCII up in tables that have holes, so it is never shown one: each is written
// as a mark that the text does not hold and eight ASCII letters, which may stand wherever a letter may, and
// is read back out of what was parsed. The mark holds the text's hash, since an escape may spell what the
// text does not.
class AsciiToml {
 public:
  AsciiToml(const std::string& text, const std::string& file) : file_(file) {
    std::size_t number = std::hash<std::string>()(text);
    do {
      mark_ = "q" + std::to_string(number++) + "q";
    } while (text.find(mark_) != std::string::npos);
    const std::size_t byte_order_mark = text.compare(0, 3, "\xEF\xBB\xBF") == 0 ? 3 : 0;
    for (std::string_view rest = std::string_view(text).substr(byte_order_mark); !rest.empty();) {
      const std::size_t size = character_size(rest);
      if (size == 0) {
        throw InputError({file, static_cast<int>(lines_.size()), 0, 0, 0}, "this line is not UTF-8",
                         {"save the file as UTF-8"});
      }
      if (size == 1) {
        text_ += rest[0];
        if (rest[0] == '\n') lines_.push_back(text_.size());
      } else {
        text_ += mark_ + std::string(2 * (kMostBytes - size), 'a');
        for (const char c : rest.substr(0, size))
          text_ += {static_cast<char>('a' + (c >> 4 & 15)), static_cast<char>('a' + (c & 15))};
      }
      rest.remove_prefix(size);
    }
  }

  toml::table parse() const {
    try {
      return toml::parse(text_, file_);
    } catch (const toml::parse_error& error) {
      std::string description = original(error.description());
      // toml++ ends with the character it stumbled over, which may be the first of a mark.
      const std::size_t at = offset(error.source().begin), end = description.rfind("q'");
      if (text_.compare(at, mark_.size(), mark_) == 0 && end != std::string::npos)
        description.replace(end, 1, original(std::string_view(text_).substr(at, width())));
      throw InputError(place(error.source()), description);
    } catch (const std::logic_error& error) {
      throw InputError(SourceLocation{file_}, error.what(),
                       {"a table's header is a name in brackets, like [train]"});
    }
  }

  // What `parsed`, a part of what toml++ read, is in the text.
  std::string original(std::string_view parsed) const {
    std::string result;
    for (std::size_t at;
         (at = parsed.find(mark_)) != std::string_view::npos && at + width() <= parsed.size();) {
      result += parsed.substr(0, at);
      for (std::size_t k = at + mark_.size(); k < at + width(); k += 2) {
        if (const int byte = (parsed[k] - 'a') << 4 | (parsed[k + 1] - 'a'))
          result += static_cast<char>(byte);
      }
      parsed.remove_prefix(at + width());
    }
    return result.append(parsed);
  }

  SourceLocation place(const toml::source_region& region) const {
    return {file_, static_cast<int>(region.begin.line), column(region.begin),
            static_cast<int>(region.end.line), column(region.end)};
  }

 private:
  static constexpr std::size_t kMostBytes = 4;  // of a letter
  std::size_t width() const { return mark_.size() + 2 * kMostBytes; }

  // Where toml++'s position lies in what it was shown, or the letter around it begins.
  std::size_t offset(const toml::source_position& position) const {
    if (!position) return text_.size();
    const std::size_t at = lines_.at(position.line - 1) + position.column - 1, mark = text_.rfind(mark_, at);
    return mark != std::string::npos && mark + width() > at ? mark : std::min(at, text_.size());
  }
  int column(const toml::source_position& position) const {
    if (!position) return 0;
    const std::size_t begin = lines_.at(position.line - 1);
    return 1 + static_cast<int>(
                   characters(original(std::string_view(text_).substr(begin, offset(position) - begin))));
  }

  std::string file_, mark_, text_;
  std::vector<std::size_t> lines_{0};  // where they begin
};

json to_json(const toml::node& node, const AsciiToml& source) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_string()) return source.original(value->get());
  if (const auto* array = node.as_array()) {
    json values = json::array();
    for (const toml::node& element : *array) values.push_back(to_json(element, source));
    return values;
  }
  throw InputError(source.place(node.source()), "a date or an inline table cannot stand here",
                   {"use a number, a string, true, false or a list of those"});
}

}  // namespace

void Settings::add_file(const std::string& path) {
  add_text(read_file(path, kLargestText), path);
  files_.push_back(path);
}

void Settings::add_text(const std::string& text, const std::string& name) {
  const AsciiToml source(text, name);
  const auto add = [&](const auto& self, const toml::table& table, const std::string& prefix) -> void {
    for (const auto& [key, node] : table) {
      const std::string full = prefix + source.original(key.str());
      if (const toml::table* inner = node.as_table()) {
        self(self, *inner, full + ".");
      } else {
        entries_[full] = {to_json(node, source), source.place(node.source()), false};
      }
    }
  };
  add(add, source.parse(), "");
}

void Settings::add_override(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError("--set " + assignment + ": expected key=value, as in --set train.rate=1e-3");
  }
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  if (value.find_first_of("\r\n") != std::string::npos)
    throw UsageError("--set " + in_quotes(key) + ": a value stands on one line");
  if (as_utf8(assignment) != assignment)
    throw UsageError("--set " + in_quotes(as_utf8(assignment)) + ": this is not UTF-8");
  if (is_override(key)) {
    throw UsageError("'" + key + "' is set twice, to " + entries_.at(key).value.dump() + " and to " + value +
                     ": by --set, or by an option of its own");
  }
  json parsed = value;
  try {
    const AsciiToml source("v = " + value, "--set");
    parsed = to_json(*source.parse().get("v"), source);
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
  refuse(key, "one of " + joined(choices));
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
      if (!inner->is_null() && !inner->is_object()) {  // `model.reasoner=3`, and `model.reasoner.kind`
        const std::string table = key.substr(0, dot);
        throw InputError(location(table), "'" + table + "' is a table of settings, not a value");
      }
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
    static const std::map<std::string, std::string> elsewhere = {// what others call it
                                                                 {"train.lr", "train.rate"},
                                                                 {"train.learning_rate", "train.rate"},
                                                                 {"train.batch_size", "train.batch"},
                                                                 {"train.seed", "seed"}};
    const auto other_name = elsewhere.find(key);
    std::string nearest = other_name != elsewhere.end() ? other_name->second : "";
    std::size_t distance = nearest.empty() ? 4 : 0;
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
  throw InputError(entry.location, "'" + key + "' is " + json_text(entry.value) + ", expected " + expected);
}

bool Settings::is_override(const std::string& key) const {
  const auto entry = entries_.find(key);
  return entry != entries_.end() && entry->second.override;
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
    sections[section] += key.substr(section.empty() ? 0 : dot + 1) + " = " + json_text(entry.value) + '\n';
  }
  std::string text;
  for (const auto& [section, lines] : sections) {
    if (!section.empty()) text += "\n[" + section + "]\n";
    text += lines;
  }
  return text;
}

}  // namespace as2::task
