// Errors of the library. The library never prints, aborts or exits: it throws one of these, and only
// `cli/` turns them into messages and exit codes: InputError and NumericError 1, UsageError 2,
// EnvironmentError and a lack of memory 4, everything else 3.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace as2 {

// A place in a user's file. Lines and columns start at 1; 0 means "not known".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;

  // clingo's form: `sudoku.lp:3:1-20`, `sudoku.lp:3:1-5:2`, or just the file.
  std::string str() const;
};

// The user's input is at fault. `what()` is the whole message, clingo-style:
// `sudoku.lp:3:1-20: error: …` and, where there is a remedy, `note: …` lines after it.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message, std::vector<std::string> notes = {});
  InputError(SourceLocation location, const std::string& message, std::vector<std::string> notes = {});

  const SourceLocation& location() const { return location_; }

 private:
  SourceLocation location_;
};

// Neither the input nor AS2 is at fault, but what it runs on: a full disk, the network, a lost peer, a
// program that is not installed. `what()` has the same form as InputError's; a note says what to do.
class EnvironmentError : public std::runtime_error {
 public:
  explicit EnvironmentError(const std::string& message, std::vector<std::string> notes = {});
  EnvironmentError(SourceLocation location, const std::string& message, std::vector<std::string> notes = {});
};

// A computation went wrong numerically: a loss became infinite or not a number. A note says how to go on.
class NumericError : public std::runtime_error {
 public:
  explicit NumericError(const std::string& message, std::vector<std::string> notes = {});
};

// The caller asked for something the command or the function does not offer.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A function was called against its contract; carries the expression and the place.
class ContractError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void throw_contract_error(const char* expression, const char* file, int line,
                                       const std::string& message);

}  // namespace as2

// Checks a precondition of a public function; throws ContractError with the expression and the place.
#define AS2_REQUIRE(condition, message)                                                     \
  do {                                                                                      \
    if (!(condition)) ::as2::throw_contract_error(#condition, __FILE__, __LINE__, message); \
  } while (false)
