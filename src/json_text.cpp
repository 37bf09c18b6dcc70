#include "json_text.h"

namespace as2 {

void check_json(std::string_view text, SourceLocation place) {
  constexpr int kMost = 500;
  int depth = 0, lines = 0;
  std::size_t values = 1;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    lines += byte == '\n' ? 1 : 0;
    if (byte == '"') {
      quoted = !quoted;
    } else if (quoted) {
      at += byte == '\\' ? 1 : 0;
    } else if (byte == ',' || byte == ':') {
      ++values;
    } else if (byte == ']' || byte == '}') {
      --depth;
    } else if (byte == '[' || byte == '{') {
      ++values;
      if (++depth <= kMost) continue;
      if (place.line > 0) place.line += lines;
      throw InputError(std::move(place), "JSON with more than " + std::to_string(kMost) +
                                             " lists and objects within each other");
    }
  }
  // What destroys a value allocates, and ends the program where it cannot. So whether there is memory for the
  // document, and for destroying it, is asked before there is one; bytes per value as measured.
  char* volatile room = new char[80 * values + 2 * text.size()];
  delete[] room;
}

}  // namespace as2
