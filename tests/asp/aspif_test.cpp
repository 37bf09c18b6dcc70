// aspif: every read says what it expected; mutated text gives a program or an InputError, never anything
// else.

#include "asp/aspif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "as2/compile.h"
#include "asp/ground_builder.h"
#include "asp/ground_text.h"
#include "support/temporary_folder.h"

namespace as2::asp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::string& aspif) {
  try {
    build_ground_program(aspif, "x", {}, 1000);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Aspif, ReadsEveryPart) {
  const auto program = build_ground_program(
      "asp 1 0 0\n1 1 2 1 2 0 0\n1 0 1 3 1 2 2 1 1 -2 -4\n2 5 1 3 -7\n4 1 a 1 1\n4 3 b c 1 2\n4 1 f 0\n10 "
      "any text\n0\n",
      "x", {}, 1000);
  EXPECT_THAT(rules_text(program), ElementsAre("{a;b c}", "#3 :- 2 <= a*1, not b c*-4"));
  EXPECT_THAT(program.facts, ElementsAre("f"));
  ASSERT_EQ(program.minimize.size(), 1u);
  EXPECT_EQ(program.minimize[0].priority, 5);
  EXPECT_EQ(program.minimize[0].literals[0].weight, -7);
}

TEST(Aspif, SaysWhatItExpected) {
  EXPECT_THAT(error_of(""), HasSubstr("x:1: error: this is not aspif: `asp 1 0 0` expected"));
  EXPECT_THAT(error_of("asp 2 0 0\n0\n"), HasSubstr("major version 1 expected"));
  EXPECT_THAT(error_of("asp 1 0 0 incremental\n0\n"), HasSubstr("end of line expected"));
  EXPECT_THAT(error_of("asp 1 0 0\n1 2 0 0 0\n0\n"),
              HasSubstr("x:2: error: this is not aspif: kind of head"));
  EXPECT_THAT(error_of("asp 1 0 0\n1 0 1 0 0 0\n0\n"), HasSubstr("atom expected"));
  EXPECT_THAT(error_of("asp 1 0 0\n1 0 1 1 0 1 0\n0\n"), HasSubstr("literal other than 0"));
  EXPECT_THAT(error_of("asp 1 0 0\n1 0 1 2000000000 0 0\n0\n"), HasSubstr("atom expected"));
  EXPECT_THAT(error_of("asp 1 0 0\n1 0 99 1\n0\n"), HasSubstr("number of atoms expected"));
  EXPECT_THAT(error_of("asp 1 0 0\n4 9 a 0\n0\n"), HasSubstr("string"));
  EXPECT_THAT(error_of("asp 1 0 0\n11 1\n0\n"), HasSubstr("directive expected"));
  EXPECT_THAT(error_of("asp 1 0 0\n0\n1"), HasSubstr("end of the text"));
}

TEST(Aspif, WhatIsTooLargeIsRefusedWithItsSize) {
  const std::string small = "asp 1 0 0\n1 1 2 1 2 0 0\n1 0 1 3 0 2 1 -2\n4 1 f 0\n0\n";
  EXPECT_NO_THROW(build_ground_program(small, "x", {}, 9));
  try {
    build_ground_program(small, "x", {}, 8);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("4 atoms and facts, and 5 literals of rules, together more than 8"));
    EXPECT_THAT(error.what(), HasSubstr("--grounding-size"));
  }
}

TEST(Aspif, WhatNobodyHandlesThrows) {
  for (const char* line : {"3 1 1", "6 1 1", "7 0 1 1 1 0", "9 0 1 1"}) {
    EXPECT_THAT(error_of(std::string("asp 1 0 0\n") + line + "\n0\n"),
                HasSubstr("x:2: error: the ground program has"))
        << line;
  }
  EXPECT_THAT(error_of("asp 1 0 0\n4 10 __as2_c(0) 1 1\n0\n"), HasSubstr("number of a statement"));
  EXPECT_THAT(error_of("asp 1 0 0\n4 1 a 1 1\n4 1 b 1 1\n0\n"), HasSubstr("second name"));
  EXPECT_THAT(error_of("asp 1 0 0\n4 1 a 2 1 2\n0\n"), HasSubstr("one atom"));
}

const char* const kProgram = R"(
#const n=2.
{ c(I,V) : V=1..3 } = 1 :- I=1..n.  % cells
c(1,2).
{ p(X) } :- c(X,1).
d(X) :- p(X), not c(2,X).
-d(X) :- c(X,3).
:- #sum{V,I : c(I,V)} > 4.  % "sum"
:- d(1), p(2).
:~ d(X). [X@2,t("a b",X)]
#minimize { V@1,I : c(I,V) }.
#show s(X) : d(X).
#show c/2.
)";

std::string compiled_text() {
  const test::TemporaryFolder folder;
  folder.put("p.lp", kProgram);
  return save_compiled({folder / "p.lp"});
}

std::string text_of(const GroundProgram& program) {
  std::string text;
  for (const auto& rule : rules_text(program)) text += rule + "\n";
  for (const auto& statement : program.statements) {
    text += std::to_string(static_cast<int>(statement.kind)) + " " + statement.name + " " +
            statement.location.str() + " " + statement.text;
    for (const auto& head : statement.heads) text += " " + head;
    text += "\n";
  }
  for (const auto& fact : program.facts) text += fact + ".\n";
  for (const auto& cost : program.cost_tuples) {
    text += std::to_string(cost.statement) + " " + std::to_string(cost.weight) + "@" +
            std::to_string(cost.priority) + " " + std::to_string(cost.lit) + "\n";
  }
  for (const auto& signature : program.shown_signatures) text += "#show " + signature + "\n";
  for (const auto& [term, lit] : program.shown_terms) text += "#show " + term + std::to_string(lit) + "\n";
  for (const auto& warning : program.warnings) text += warning.location.str() + " " + warning.message + "\n";
  return text + (program.show_all ? "all" : "some");
}

TEST(Compiled, RoundTrip) {
  const test::TemporaryFolder folder;
  folder.put("p.lp", std::string(kProgram) + ":- misspelt(1).");
  const std::string saved = save_compiled({folder / "p.lp"});
  folder.put("p.as2c", saved);
  const auto direct = ground({folder / "p.lp"});
  EXPECT_EQ(text_of(ground({folder / "p.as2c"})), text_of(direct));
  EXPECT_EQ(direct.warnings.size(), 2u);
  EXPECT_EQ(direct.statements.size(), 12u);
}

TEST(Compiled, RefusesWhatItCannotDo) {
  const test::TemporaryFolder folder;
  folder.put("p.lp", "{a}.");
  folder.put("p.as2c", save_compiled({folder / "p.lp"}));
  GroundOptions options;
  options.constants = {{"n", "2"}};
  EXPECT_THROW(ground({folder / "p.as2c"}, options), InputError);
  EXPECT_THROW(ground({folder / "p.as2c", folder / "p.lp"}), InputError);
  EXPECT_THROW(load_compiled("asp 1 0 0\n0\n", "plain"), InputError);
  EXPECT_THROW(load_compiled("asp 1 0 0\n10 as2 map {\"version\":2}\n0\n", "newer"), InputError);
  EXPECT_THROW(load_compiled("asp 1 0 0\n10 as2 map [[[\n0\n", "broken"), InputError);
}

// Loads the text; anything but a program or an InputError ends the test.
bool loads(const std::string& text) {
  try {
    load_compiled(text, "mutant");
    return true;
  } catch (const InputError&) {
    return false;
  }
}

TEST(Fuzz, Truncated) {
  const std::string text = compiled_text();
  for (std::size_t n = 0; n + 2 < text.size(); ++n) EXPECT_FALSE(loads(text.substr(0, n))) << n;
}

TEST(Fuzz, Mutated) {
  const std::string text = compiled_text();
  std::mt19937 random(11);
  const std::string alphabet = "0123456789- \n_abc(),\"\\";
  int good = 0;
  int bad = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string mutant = text;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % mutant.size();
      switch (random() % 5) {
        case 0:
          mutant[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          mutant.erase(at, 1 + random() % 8);
          break;
        case 2:
          mutant.insert(at, std::to_string(random()));
          break;
        case 3:
          mutant[at] = static_cast<char>(random() % 256);
          break;
        default: {
          // Moves a line elsewhere.
          const std::size_t begin = mutant.rfind('\n', at);
          const std::size_t end = mutant.find('\n', at);
          if (begin == std::string::npos || end == std::string::npos || begin == end) break;
          const std::string line = mutant.substr(begin, end - begin);
          mutant.insert(random() % mutant.size(), line);
        }
      }
      if (mutant.empty()) mutant = "x";
    }
    ++(loads(mutant) ? good : bad);
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 1000);
}

}  // namespace
}  // namespace as2::asp
