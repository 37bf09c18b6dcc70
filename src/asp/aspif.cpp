#include "asp/aspif.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <utility>

namespace as2::asp {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& name, AspifHandler& handler)
      : text_(text), handler_(handler), max_atom_(static_cast<std::int64_t>(text.size()) + 16) {
    place_.file = name;
    place_.line = 1;
  }

  void run() {
    header();
    for (;;) {
      if (at_ >= text_.size()) fail("directive expected, the text ends without `0`");
      handler_.set_here(place_);
      const int directive = number("directive expected", 0, 10);
      if (directive == 0) break;
      read(directive);
      end_line();
    }
    end_line();
    while (at_ < text_.size() && text_[at_] == '\n') ++at_;
    if (at_ < text_.size()) fail("end of the text expected behind `0`");
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    std::string found(text_.substr(std::min(at_, text_.size()), 20));
    found = found.substr(0, found.find('\n'));
    throw InputError(place_,
                     "this is not aspif: " + expected + (found.empty() ? "" : ", found `" + found + "`"),
                     {"aspif is what `gringo --output=intermediate` prints"});
  }

  void header() {
    if (text_.substr(0, 4) != "asp ") fail("`asp 1 0 0` expected");
    at_ = 3;
    number("major version 1 expected", 1, 1);
    number("minor version expected", 0, std::numeric_limits<std::int32_t>::max());
    number("revision expected", 0, std::numeric_limits<std::int32_t>::max());
    end_line();
  }

  void end_line() {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ >= text_.size()) return;
    if (text_[at_] != '\n') fail("end of line expected");
    ++at_;
    ++place_.line;
  }

  // The next number of the line.
  int number(const char* expected, std::int64_t lowest, std::int64_t highest) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < lowest || value > highest) fail(expected);
    at_ += static_cast<std::size_t>(end - begin);
    return static_cast<int>(value);
  }

  // A count can be no larger than what is left to read.
  int count(const char* expected) {
    return number(expected, 0, static_cast<std::int64_t>(text_.size() - at_));
  }

  int weight(const char* expected) {
    return number(expected, std::numeric_limits<std::int32_t>::min(),
                  std::numeric_limits<std::int32_t>::max());
  }

  Atom atom(const char* expected = "atom expected") {
    return static_cast<Atom>(number(expected, 1, max_atom_));
  }

  Lit literal() {
    const int value = number("literal expected", -max_atom_, max_atom_);
    if (value == 0) fail("literal other than 0 expected");
    return value;
  }

  std::vector<Atom> atoms() {
    std::vector<Atom> result(static_cast<std::size_t>(count("number of atoms expected")));
    for (auto& a : result) a = atom();
    return result;
  }

  std::vector<Lit> literals() {
    std::vector<Lit> result(static_cast<std::size_t>(count("number of literals expected")));
    for (auto& lit : result) lit = literal();
    return result;
  }

  std::vector<WeightedLit> weighted_literals() {
    std::vector<WeightedLit> result(static_cast<std::size_t>(count("number of weighted literals expected")));
    for (auto& [lit, its_weight] : result) {
      lit = literal();
      its_weight = weight("weight expected");
    }
    return result;
  }

  // Reads a length n, one blank and n bytes.
  std::string string() {
    const auto length = static_cast<std::size_t>(count("length of a string expected"));
    if (at_ >= text_.size() || text_[at_] != ' ') fail("blank expected before a string");
    ++at_;
    if (text_.size() - at_ < length) fail("string of " + std::to_string(length) + " bytes expected");
    std::string result(text_.substr(at_, length));
    if (result.find('\n') != std::string::npos) fail("string on one line expected");
    at_ += length;
    return result;
  }

  std::string_view rest_of_line() {
    if (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t begin = at_;
    at_ = std::min(text_.find('\n', at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  void read_rule() {
    Rule rule;
    rule.choice = number("kind of head expected: 0 disjunction, 1 choice", 0, 1) == 1;
    rule.head = atoms();
    rule.sum = number("kind of body expected: 0 conjunction, 1 sum", 0, 1) == 1;
    if (rule.sum) {
      rule.bound = weight("lower bound expected");
      rule.body = weighted_literals();
    } else {
      for (const Lit lit : literals()) rule.body.push_back({lit, 1});
    }
    handler_.rule(std::move(rule));
  }

  void read(int directive) {
    switch (directive) {
      case 1:
        return read_rule();
      case 2: {
        Minimize minimize;
        minimize.priority = weight("priority expected");
        minimize.literals = weighted_literals();
        return handler_.minimize(std::move(minimize));
      }
      case 3:
        return handler_.project(atoms());
      case 4: {
        std::string text = string();
        return handler_.output(std::move(text), literals());
      }
      case 5: {
        const Atom external = atom();
        return handler_.external(external, number("value of an external expected, 0 to 3", 0, 3));
      }
      case 6:
        return handler_.assumption(literals());
      case 7:
        handler_.heuristic();
        break;
      case 8: {
        const int from = number("node expected", std::numeric_limits<std::int32_t>::min(),
                                std::numeric_limits<std::int32_t>::max());
        const int to = number("node expected", std::numeric_limits<std::int32_t>::min(),
                              std::numeric_limits<std::int32_t>::max());
        return handler_.edge(from, to, literals());
      }
      case 9:
        handler_.theory();
        break;
      case 10:
        return handler_.comment(rest_of_line());
    }
    rest_of_line();
  }

  std::string_view text_;
  AspifHandler& handler_;
  std::int64_t max_atom_;  // gringo numbers without gaps: a larger atom is an error, and would cost memory
  std::size_t at_ = 0;
  SourceLocation place_;
};

}  // namespace

void AspifHandler::unhandled(const std::string& directive) const {
  throw InputError(here_, "the ground program has " + directive + ", which is not supported");
}

void AspifHandler::rule(Rule&&) {
  unhandled("a rule");
}
void AspifHandler::minimize(Minimize&&) {
  unhandled("a minimize statement");
}
void AspifHandler::project(const std::vector<Atom>&) {
  unhandled("a projection");
}
void AspifHandler::output(std::string&&, const std::vector<Lit>&) {
  unhandled("an output statement");
}
void AspifHandler::external(Atom, int) {
  unhandled("an external atom");
}
void AspifHandler::assumption(const std::vector<Lit>&) {
  unhandled("an assumption");
}
void AspifHandler::heuristic() {
  unhandled("a heuristic");
}
void AspifHandler::edge(int, int, const std::vector<Lit>&) {
  unhandled("an acyclicity edge");
}
void AspifHandler::theory() {
  unhandled("theory atoms");
}
void AspifHandler::comment(std::string_view) {
  unhandled("a comment");
}

void read_aspif(std::string_view text, const std::string& name, AspifHandler& handler) {
  Reader(text, name, handler).run();
}

}  // namespace as2::asp
