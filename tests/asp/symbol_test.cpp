// Terms: parsing and printing are inverse, and the order is clingo's own.

#include "asp/symbol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "as2/error.h"
#include "child_process.h"

namespace as2::asp {
namespace {

std::string random_term(std::mt19937& random, int depth) {
  const auto pick = [&](unsigned n) { return random() % n; };
  static const std::vector<std::string> kAtoms = {
      "#inf", "#sup",  "0",   "1",     "-1", "12",       "a",      "b",       "ab",
      "-a",   "aB",    "a'",  "_a",    "()", "\"\"",     "\"a\"",  "\"b c\"", "\"x\\\"y\"",
      "-b",   "\"B\"", "-12", "\"é\"", "z9", "\"\\\\\"", "\"\\n\""};
  if (depth == 0 || pick(3) == 0) return kAtoms[pick(static_cast<unsigned>(kAtoms.size()))];
  static const std::vector<std::string> kNames = {"f", "g", "ff", "-f", "", "a"};
  const std::string name = kNames[pick(static_cast<unsigned>(kNames.size()))];
  const unsigned arity = 1 + pick(3);
  std::string text = name + "(";
  for (unsigned i = 0; i < arity; ++i) text += (i > 0 ? "," : "") + random_term(random, depth - 1);
  return text + (name.empty() && arity == 1 ? ",)" : ")");
}

std::vector<std::string> random_terms(int count) {
  std::mt19937 random(7);
  std::vector<std::string> terms;
  for (int i = 0; i < count; ++i) terms.push_back(random_term(random, 3));
  return terms;
}

TEST(Symbol, PrintsWhatItParsed) {
  for (const auto& term : random_terms(2000)) EXPECT_EQ(parse_symbol(term).str(), term);
}

TEST(Symbol, DeepOnesToo) {
  constexpr int kDeep = 2000;
  std::string text = "1";
  for (int k = 0; k < kDeep; ++k) text = (k % 2 == 0 ? "f(a," : "(") + text + (k % 2 == 0 ? ")" : ",b)");
  EXPECT_EQ(parse_symbol(text).str(), text);
  EXPECT_THROW(parse_symbol("f(" + text + ")"), InputError);
}

TEST(Symbol, Signature) {
  EXPECT_EQ(parse_symbol("cell(1,2,3)").signature(), "cell/3");
  EXPECT_EQ(parse_symbol("-a").signature(), "-a/0");
}

TEST(Symbol, RefusesWhatIsNoTerm) {
  for (const char* text : {"", "a(", "a(1", "a(1,", "X", "1a", "(1)", "\"x", "\"\\q\"", "99999999999", "a b",
                           "--a", "#in", "f(,)", "-\"a\""}) {
    EXPECT_THROW(parse_symbol(text), InputError) << text;
  }
  EXPECT_THROW(parse_symbol(std::string(100000, '(')), InputError);
}

// Asks clingo to compare every pair of neighbours in our order.
TEST(Symbol, OrderIsClingos) {
  const std::string gringo = find_program("gringo");
  if (gringo.empty()) GTEST_SKIP() << "no gringo";
  std::vector<Symbol> terms;
  for (const auto& term : random_terms(1500)) terms.push_back(parse_symbol(term));
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  ASSERT_GT(terms.size(), 500u);
  std::ostringstream program;
  for (std::size_t i = 0; i + 1 < terms.size(); ++i) {
    program << "wrong(" << i << ") :- " << terms[i].str() << " >= " << terms[i + 1].str() << ".\n";
  }
  program << "ran.\n";
  const ChildResult result = run_child(gringo, {"--text", "-"}, program.str(), {});
  EXPECT_EQ(result.out, "ran.\n") << result.err;
}

}  // namespace
}  // namespace as2::asp
