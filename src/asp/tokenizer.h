// The tokens of a program in clingo's input language, and its comments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "as2/error.h"

namespace as2::asp {

// One source text with its name in messages.
class SourceFile {
 public:
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  std::string_view slice(std::size_t begin, std::size_t end) const;
  // The place of the bytes [begin, end), lines and columns counted from 1 as clingo does.
  SourceLocation location(std::size_t begin, std::size_t end) const;
  // Line of a byte, from 1.
  int line(std::size_t offset) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

struct Token {
  enum class Kind {
    kName,         // constants, predicates, `not`
    kVariable,     // variables and `_`
    kNumber,       // decimal, 0x…, 0o…, 0b…
    kString,       // with its quotes
    kDirective,    // `#show`, `#count`, `#inf`, …
    kPunctuation,  // everything else, `:-`, `:~`, `..`, `<=`, `>=`, `!=`, `==`, `**` being one token each
    kScript,       // `#script (…) … #end`
  };
  Kind kind = Kind::kPunctuation;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view text;  // points into the source
};

// True for a token with this text that is no string.
inline bool token_is(const Token& token, std::string_view text) {
  return token.text == text && token.kind != Token::Kind::kString;
}

struct Comment {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view content;  // without `%`, `%*`, `*%` and surrounding blanks
};

struct Tokens {
  std::vector<Token> tokens;
  std::vector<Comment> comments;
};

// Splits a source into tokens; throws InputError at an unclosed string, comment or script and at a character
// the language does not have. The source must outlive the result.
Tokens tokenize(const SourceFile& source);

}  // namespace as2::asp
