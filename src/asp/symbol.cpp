#include "asp/symbol.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "as2/error.h"

namespace as2::asp {
namespace {

constexpr std::size_t kMaxDepth = 2000;

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || c == '_' || c == '\'';
}
bool is_name_char(char c) {
  return is_name_start(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  // The terms whose arguments are being read stand on a list: they may lie deeper within each other than the
  // thread's stack is.
  Symbol whole() {
    std::vector<Symbol> open;
    for (;;) {
      if (open.size() > kMaxDepth) fail("a term nested at most " + std::to_string(kMaxDepth) + " deep");
      Symbol symbol;
      if (begin_term(symbol)) {
        open.push_back(std::move(symbol));
        continue;
      }
      bool complete = true;
      while (complete && !open.empty()) {
        open.back().arguments.push_back(std::move(symbol));
        complete = end_argument(open.back());
        if (!complete) continue;
        symbol = std::move(open.back());
        open.pop_back();
      }
      if (!complete) continue;
      if (at_ != text_.size()) fail("end of the term");
      return symbol;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw InputError("`" + std::string(text_) + "` is not a ground term: " + expected +
                     " expected at character " + std::to_string(at_ + 1));
  }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // Reads a term, or one with arguments up to the first of them: then true.
  bool begin_term(Symbol& symbol) {
    if (take("#inf")) {
      take("imum");
      symbol.kind = Symbol::Kind::kInfimum;
    } else if (take("#sup")) {
      take("remum");
      symbol.kind = Symbol::Kind::kSupremum;
    } else if (next_is('"')) {
      symbol.kind = Symbol::Kind::kString;
      symbol.name = quoted();
    } else if (take('(')) {
      symbol.kind = next_is(')') ? Symbol::Kind::kConstant : Symbol::Kind::kFunction;
      return !take(')');
    } else {
      symbol.negative = take('-');
      if (at_ < text_.size() && is_digit(text_[at_])) {
        number(symbol);
      } else {
        return function(symbol);
      }
    }
    return false;
  }

  void number(Symbol& symbol) {
    const std::size_t begin = symbol.negative ? at_ - 1 : at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    const char* end = text_.data() + at_;
    const auto result = std::from_chars(text_.data() + begin, end, symbol.number);
    if (result.ec != std::errc()) fail("a 32-bit number");
    symbol.negative = false;
  }

  bool function(Symbol& symbol) {
    const std::size_t begin = at_;
    if (at_ >= text_.size() || !is_name_start(text_[at_])) fail("a term");
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    symbol.name = std::string(text_.substr(begin, at_ - begin));
    symbol.kind = Symbol::Kind::kConstant;
    if (!take('(')) return false;
    symbol.kind = Symbol::Kind::kFunction;
    return !take(')');
  }

  // Whether the argument just read was the last; else the next follows. `(a,b)`; a tuple of one is `(a,)`.
  bool end_argument(const Symbol& symbol) {
    const bool lone = symbol.name.empty() && symbol.arguments.size() == 1;
    if (take(')')) {
      if (lone) fail("`,)` after a tuple of one");
      return true;
    }
    if (!take(',')) fail("`,` or `)`");
    return lone && take(')');
  }

  std::string quoted() {
    std::string content;
    take('"');
    while (!take('"')) {
      if (at_ >= text_.size()) fail("a closing quote");
      if (take('\\')) {
        if (take('n')) {
          content += '\n';
        } else if (next_is('"') || next_is('\\')) {
          content += text_[at_++];
        } else {
          fail("one of \\n, \\\\ and \\\"");
        }
      } else {
        content += text_[at_++];
      }
    }
    return content;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void print(const Symbol& symbol, std::string& out) {
  switch (symbol.kind) {
    case Symbol::Kind::kInfimum:
      out += "#inf";
      return;
    case Symbol::Kind::kSupremum:
      out += "#sup";
      return;
    case Symbol::Kind::kNumber:
      out += std::to_string(symbol.number);
      return;
    case Symbol::Kind::kString:
      out += '"';
      for (const char c : symbol.name) {
        if (c == '\n') {
          out += "\\n";
        } else {
          if (c == '"' || c == '\\') out += '\\';
          out += c;
        }
      }
      out += '"';
      return;
    case Symbol::Kind::kConstant:
    case Symbol::Kind::kFunction:
      if (symbol.negative) out += '-';
      out += symbol.name;
      if (symbol.kind == Symbol::Kind::kConstant && !symbol.name.empty()) return;
      out += '(';
      for (std::size_t i = 0; i < symbol.arguments.size(); ++i) {
        if (i > 0) out += ',';
        print(symbol.arguments[i], out);
      }
      if (symbol.name.empty() && symbol.arguments.size() == 1) out += ',';
      out += ')';
      return;
  }
}

template <typename T>
int order(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

}  // namespace

std::string Symbol::str() const {
  std::string out;
  print(*this, out);
  return out;
}

std::string Symbol::signature() const {
  return (negative ? "-" : "") + name + "/" + std::to_string(arguments.size());
}

Symbol parse_symbol(std::string_view text) {
  return Parser(text).whole();
}

int compare(const Symbol& a, const Symbol& b) {
  if (a.kind != b.kind) return order(a.kind, b.kind);
  if (a.kind == Symbol::Kind::kNumber) return order(a.number, b.number);
  if (a.negative != b.negative) return a.negative ? 1 : -1;
  if (const int c = order(a.arguments.size(), b.arguments.size()); c != 0) return c;
  if (const int c = a.name.compare(b.name); c != 0) return c;
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    if (const int c = compare(a.arguments[i], b.arguments[i]); c != 0) return c;
  }
  return 0;
}

}  // namespace as2::asp
