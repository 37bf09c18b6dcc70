#include "text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <numeric>

namespace as2 {
namespace {

constexpr std::size_t kMostBytes = 100;  // of a name in a message
constexpr std::size_t kMostLine = 2000;  // bytes of a line of a message

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMostBytes) return std::string(text);
  std::size_t end = kMostBytes;
  while (end > 0 && continues(text[end])) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string readable(std::string_view message) {
  std::string result;
  while (true) {
    const std::string_view line = message.substr(0, message.find('\n'));
    if (line.size() <= kMostLine) {
      result += line;
    } else {
      std::size_t head = kMostLine / 2, tail = line.size() - kMostLine / 2;
      while (head > 0 && continues(line[head])) --head;
      while (tail < line.size() && continues(line[tail])) ++tail;
      result.append(line.substr(0, head)).append(" … ").append(line.substr(tail));
    }
    if (line.size() == message.size()) break;
    result += '\n';
    message.remove_prefix(line.size() + 1);
  }
  for (std::size_t at = 0; (at = result.find('\0', at)) != std::string::npos;) result.replace(at, 1, "\\0");
  return result;
}

std::string in_quotes(std::string_view text) {
  return "'" + shortened(text) + "'";
}

std::string in_digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", number);
  return text;
}

std::string as_printed(std::string_view term) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\'';
  };
  std::string result;
  Strings strings;
  bool apart = false;
  for (const char c : term) {
    const bool string = strings.take(c);
    if (!string && std::isspace(static_cast<unsigned char>(c)) != 0) {
      apart = true;
      continue;
    }
    if (apart && !result.empty() && in_word(result.back()) && in_word(c)) result += ' ';
    apart = false;
    result += c;
  }
  return result;
}

std::vector<std::string> split_terms(std::string_view text, std::string_view separators) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  int depth = 0;
  Strings strings;
  const auto add = [&](std::size_t end) {
    std::string_view piece = text.substr(begin, end - begin);
    piece.remove_prefix(std::min(piece.find_first_not_of(kBlanks), piece.size()));
    pieces.emplace_back(piece.substr(0, piece.find_last_not_of(kBlanks) + 1));
    begin = end + 1;
  };
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (strings.take(c)) continue;
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (depth == 0 && separators.find(c) != std::string_view::npos) add(k);
  }
  add(text.size());
  return pieces;
}

std::size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xC2 && first < 0xE0 ? 2
                           : first >= 0xE0 && first < 0xF0 ? 3
                           : first >= 0xF0 && first < 0xF5 ? 4
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(size), continues)) return 0;
  if (size < 3) return size;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return overlong || outside ? 0 : size;
}

std::size_t characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string as_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    result += size > 0 ? text.substr(0, size) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

}  // namespace as2
