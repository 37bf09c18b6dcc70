// Small things that messages are made of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace as2 {

// Levenshtein distance, for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);

// The text, or its beginning and `…` where it is too long to be read in a message.
std::string shortened(std::string_view text);
// A message in which no line is too long to be read: of a longer one the beginning and the end are kept.
// A NUL, where what() would end, is written `\0`.
std::string readable(std::string_view message);
// The text, shortened, between `'`: how messages quote what they were given.
std::string in_quotes(std::string_view text);

// The words with commas between them; `…` in place of those beyond `most`.
template <typename Words>
std::string joined(const Words& words, std::size_t most = std::string::npos) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += ", ";
    if (most-- == 0) return text + "…";
    text += word;
  }
  return text;
}

// The number in at most twelve digits, for people: 0.5 where the nearest double is 0.49999999999999994.
std::string in_digits(double number);

// Reads a text character by character and knows what stands inside a string, which may hold anything.
class Strings {
 public:
  // Whether the next character belongs to a string, its quotes included.
  bool take(char c) {
    if (!inside_) return inside_ = c == '"';
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      inside_ = false;
    }
    return true;
  }

 private:
  bool inside_ = false, escaped_ = false;
};

// The term as clingo prints it: without blanks outside strings. Where blanks part two words one stays, so
// that `p(a b)` does not become `p(ab)`.
std::string as_printed(std::string_view term);

// Splits at any of the separators where it stands outside parentheses, braces and quotes, since positions and
// atoms are terms. The pieces have no blanks around them and may be empty.
std::vector<std::string> split_terms(std::string_view text, std::string_view separators);

// Bytes of the character at the front of a text that is not empty; 0 if it is not UTF-8 (overlong forms and
// surrogates included).
std::size_t character_size(std::string_view text);
// Characters of a text in UTF-8, for columns.
std::size_t characters(std::string_view text);
// The text with U+FFFD in place of whatever is not UTF-8, since JSON can hold nothing else.
std::string as_utf8(std::string_view text);

}  // namespace as2
