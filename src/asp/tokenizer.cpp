#include "asp/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "asp/symbol.h"

namespace as2::asp {
namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_word(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '\'';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

constexpr std::array<std::string_view, 9> kLongPunctuation = {
    ":-", ":~", "..", "<=", ">=", "!=", "==", "<>", "**"};
constexpr std::string_view kPunctuation = ".,;:|(){}[]<>=+-*/\\^?~&@$!";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

class Tokenizer {
 public:
  explicit Tokenizer(const SourceFile& source) : source_(source), text_(source.text()) {}

  Tokens run() {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") {
      fail(0, 3, "the file begins with a byte-order mark, which clingo does not read",
           {"save it as UTF-8 without a byte-order mark"});
    }
    while (at_ < text_.size()) {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '%') {
        comment();
      } else if (text_.substr(at_, 2) == "#!") {
        skip_line();
      } else {
        token();
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::size_t begin, std::size_t end, const std::string& message,
                         std::vector<std::string> notes = {}) const {
    throw InputError(source_.location(begin, end), message, std::move(notes));
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void comment() {
    const std::size_t begin = at_;
    if (peek(1) != '*') {
      skip_line();
      std::string_view content = text_.substr(begin, at_ - begin);
      content.remove_prefix(std::min(content.find_first_not_of('%'), content.size()));
      result_.comments.push_back({begin, at_, trimmed(content)});
      return;
    }
    // Block comments nest, and inside one a `%` hides the rest of its line, as in gringo.
    int depth = 0;
    do {
      if (at_ >= text_.size()) fail(begin, begin + 2, "comment is not closed", {"end it with `*%`"});
      if (peek() == '%' && peek(1) == '*') {
        ++depth;
        at_ += 2;
      } else if (peek() == '*' && peek(1) == '%') {
        --depth;
        at_ += 2;
      } else if (peek() == '%') {
        skip_line();
      } else {
        ++at_;
      }
    } while (depth > 0);
    result_.comments.push_back({begin, at_, trimmed(text_.substr(begin + 2, at_ - begin - 4))});
  }

  void push(Token::Kind kind, std::size_t begin) {
    result_.tokens.push_back({kind, begin, at_, text_.substr(begin, at_ - begin)});
  }

  void token() {
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (c == '"') {
      string();
    } else if (is_digit(c)) {
      number();
    } else if (is_word(c)) {
      word();
    } else if (c == '#') {
      directive();
    } else {
      for (const auto symbol : kLongPunctuation) {
        if (text_.substr(at_, symbol.size()) == symbol) {
          at_ += symbol.size();
          return push(Token::Kind::kPunctuation, begin);
        }
      }
      if (kPunctuation.find(c) == std::string_view::npos) {
        fail(begin, begin + 1, "unexpected character `" + std::string(1, c) + "`",
             {"outside strings and comments a program is ASCII"});
      }
      ++at_;
      push(Token::Kind::kPunctuation, begin);
    }
  }

  void string() {
    const std::size_t begin = at_++;
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') fail(begin, at_, "string is not closed on its line");
      at_ += peek() == '\\' && at_ + 1 < text_.size() && peek(1) != '\n' ? 2 : 1;
    }
    ++at_;
    push(Token::Kind::kString, begin);
  }

  void number() {
    const std::size_t begin = at_++;
    if (text_[begin] == '0' && (peek() == 'x' || peek() == 'o' || peek() == 'b')) {
      ++at_;
      while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f') || (peek() >= 'A' && peek() <= 'F')) ++at_;
    } else {
      while (is_digit(peek())) ++at_;
    }
    push(Token::Kind::kNumber, begin);
  }

  void word() {
    const std::size_t begin = at_;
    while (is_word(peek())) ++at_;
    const std::size_t letter = text_.find_first_not_of("_'", begin);
    const bool variable = letter >= at_ || !is_lower(text_[letter]);
    push(variable ? Token::Kind::kVariable : Token::Kind::kName, begin);
    const Token& token = result_.tokens.back();
    if (token.text.substr(0, 6) == "__as2_") {
      fail(token.begin, token.end,
           "`" + std::string(token.text) + "`: names that begin with `__as2_` are reserved", {"rename it"});
    }
  }

  void directive() {
    const std::size_t begin = at_++;
    while (is_word(peek())) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "#sum" && peek() == '+') ++at_;
    if (name != "#script") return push(Token::Kind::kDirective, begin);
    const std::size_t end = text_.find("#end", at_);
    if (end == std::string_view::npos) fail(begin, at_, "script is not closed", {"end it with `#end.`"});
    at_ = end + 4;
    push(Token::Kind::kScript, begin);
  }

  const SourceFile& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  Tokens result_;
};

}  // namespace

SourceFile::SourceFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

std::string_view SourceFile::slice(std::size_t begin, std::size_t end) const {
  return std::string_view(text_).substr(begin, end - begin);
}

int SourceFile::line(std::size_t offset) const {
  return static_cast<int>(std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) -
                          line_starts_.begin());
}

SourceLocation SourceFile::location(std::size_t begin, std::size_t end) const {
  const auto column = [&](std::size_t offset, int of_line) {
    return static_cast<int>(offset - line_starts_[static_cast<std::size_t>(of_line - 1)]) + 1;
  };
  SourceLocation place;
  place.file = name_;
  place.line = line(begin);
  place.column = column(begin, place.line);
  place.end_line = line(end);
  place.end_column = column(end, place.end_line);
  return place;
}

Tokens tokenize(const SourceFile& source) {
  return Tokenizer(source).run();
}

}  // namespace as2::asp
