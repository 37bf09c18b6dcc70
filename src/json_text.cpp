#include "json_text.h"

#include <set>
#include <vector>

#include "text.h"

namespace as2 {
namespace {

// What stands inside the quotes of a key; escapes count as what they stand for.
std::string key_text(std::string_view quoted) {
  if (quoted.find('\\') != std::string_view::npos) {
    const auto parsed = nlohmann::json::parse(quoted, nullptr, false);
    if (parsed.is_string()) return parsed.get<std::string>();
  }
  return std::string(quoted.substr(1, quoted.size() - 2));
}

// A list or an object that is open, with the keys it has had so far.
struct Open {
  std::set<std::string> keys;
  std::string last;
};

// Whose value it is: the last key of the objects around.
std::string owner(const std::vector<Open>& open) {
  for (std::size_t n = open.size() - 1; n-- > 0;) {
    if (!open[n].keys.empty()) return " of " + in_quotes(open[n].last);
  }
  return "";
}

}  // namespace

void check_json(std::string_view text, SourceLocation place) {
  constexpr std::size_t kMost = 500;
  const int first_line = place.line;
  int lines = 0;
  const auto here = [&] {
    if (first_line > 0) place.line = first_line + lines;
    return place;
  };
  std::size_t values = 1;
  std::vector<Open> open;
  std::string_view quoted;  // the last text in quotes
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    lines += byte == '\n' ? 1 : 0;
    if (byte == '"') {
      std::size_t end = at + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size()) break;  // no end; the parser says so
      quoted = text.substr(at, end + 1 - at);
      at = end;
    } else if (byte == ',' || byte == ':') {
      ++values;
      if (byte == ',' || open.empty() || quoted.empty()) continue;
      open.back().last = key_text(quoted);
      if (!open.back().keys.insert(open.back().last).second)
        throw InputError(here(), in_quotes(open.back().last) + owner(open) + " is given twice");
    } else if (byte == ']' || byte == '}') {
      if (!open.empty()) open.pop_back();
    } else if (byte == '[' || byte == '{') {
      ++values;
      open.emplace_back();
      if (open.size() > kMost) {
        throw InputError(
            here(), "JSON with more than " + std::to_string(kMost) + " lists and objects within each other");
      }
    }
  }
  // What destroys a value allocates, and ends the program where it cannot. So whether there is memory for the
  // document, and for destroying it, is asked before there is one; bytes per value as measured.
  char* volatile room = new char[80 * values + 2 * text.size()];
  delete[] room;
}

}  // namespace as2
