// Ground terms as clingo prints them: parsing, printing and clingo's term order.
//
// The order (checked against clingo in the tests):
//   #inf < numbers < constants < strings < functions and tuples < #sup
// Constants: positive before classically negated, then by name. Functions: positive before negated, then by
// arity, by name (a tuple has the empty name), by arguments. The empty tuple `()` is the constant with the
// empty name. Names and strings compare byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace as2::asp {

// Of ASP's own numbers, whatever the locale.
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Symbol {
  enum class Kind { kInfimum, kNumber, kConstant, kString, kFunction, kSupremum };

  Kind kind = Kind::kNumber;
  bool negative = false;  // `-a`, `-f(1)`
  std::int32_t number = 0;
  std::string name;  // of a constant or function, empty for a tuple; the content of a string, unescaped
  std::vector<Symbol> arguments;

  // As clingo prints it.
  std::string str() const;
  // `name/arity`, `-name/arity`; only for constants and functions.
  std::string signature() const;
};

// Parses one printed term; throws an InputError that quotes the text if it is not a term.
Symbol parse_symbol(std::string_view text);

// Negative, zero or positive as `a` stands before, with or after `b` in clingo's order.
int compare(const Symbol& a, const Symbol& b);

inline bool operator<(const Symbol& a, const Symbol& b) {
  return compare(a, b) < 0;
}
inline bool operator==(const Symbol& a, const Symbol& b) {
  return compare(a, b) == 0;
}

}  // namespace as2::asp
