// Program text through gringo to GroundProgram: tags are resolved, statements located, and messages refer to
// the user's text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "as2/compile.h"
#include "asp/ground_text.h"
#include "support/temporary_folder.h"

namespace as2::asp {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

GroundProgram ground_it(const std::string& text) {
  return ground_text(text, "p.lp");
}

std::string error_of(const std::string& text) {
  try {
    ground_it(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Ground, FilesThatIncludeEachOtherAsDeepAsTheyLike) {
  constexpr int kFiles = 20000;
  const test::TemporaryFolder folder;
  for (int n = 0; n < kFiles; ++n) {
    folder.put("f" + std::to_string(n) + ".lp", n + 1 < kFiles ? "#include \"f" + std::to_string(n + 1) +
                                                                     ".lp\".\n" + (n == 0 ? "{ b }.\n" : "")
                                                               : "{ a }.\n");
  }
  const GroundProgram program = ground({folder / "f0.lp"});
  ASSERT_EQ(program.statements.size(), 2u);
  EXPECT_EQ(program.statements[0].location.file, folder / ("f" + std::to_string(kFiles - 1) + ".lp"));
  EXPECT_EQ(program.statements[1].location.line, 2);
}

// As clingo does, but not in silence.
TEST(Ground, NumbersThatGringoWouldWrapAreNamed) {
  const GroundProgram program = ground_it(
      "{ p(2147483647); p(-2147483648); p(0x7fffffff) }.\n{ q(2147483648); q(99999999999) }.\n"
      "{ r(0xffffffff) ; r(99999999999999999999) }.\n");
  std::string places;
  for (const Warning& warning : program.warnings) {
    EXPECT_THAT(warning.message, HasSubstr("does not fit in 32 bits; gringo silently wraps it around"));
    places += warning.location.str() + " ";
  }
  EXPECT_EQ(places, "p.lp:2:5-15 p.lp:2:20-31 p.lp:3:5-15 p.lp:3:21-41 ");
  GroundOptions options;
  for (const char* fits : {"2147483647", "-2147483648", "0x7fffffff", "f(-2147483648,\"4294967299\")"}) {
    options.constants = {{"n", fits}};
    EXPECT_NO_THROW(ground_text("{ a(n) }.", "p.lp", options)) << fits;
  }
  for (const char* wraps : {"99999999999", "0xffffffffff", "f(4294967297)", "--4294967299", "--2147483648",
                            "2-(4294967297)", "0b111111111111111111111111111111111"}) {
    options.constants = {{"n", wraps}};
    try {
      ground_text("{ a(n) }.", "p.lp", options);
      FAIL() << wraps;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("in the constant 'n=" + std::string(wraps) + "'"),
                                      HasSubstr("does not fit in 32 bits")));
    }
  }
}

TEST(Ground, ConstraintBecomesHeadlessRuleOfItsStatement) {
  const auto program = ground_it("{a;b}.\n:- a, not b.  % not alone\n");
  ASSERT_EQ(program.statements.size(), 2u);
  EXPECT_EQ(program.statements[1].kind, StatementKind::kConstraint);
  EXPECT_EQ(program.statements[1].name, "not alone");
  EXPECT_EQ(program.statements[1].location.str(), "p.lp:2:1-13");
  EXPECT_EQ(program.statements[1].text, ":- a, not b.");
  EXPECT_THAT(rules_text(program), UnorderedElementsAre("{a;b} [0]", ":- a, not b [1]"));
}

TEST(Ground, ExactlyOneChoiceAndItsBoundsBelongToTheChoice) {
  const auto program = ground_it("{a(1..2)} = 1.");
  for (const auto& rule : program.rules) {
    const bool headless_or_choice = rule.choice || rule.head.empty();
    EXPECT_EQ(rule.statement, headless_or_choice ? 0 : -1);
  }
  EXPECT_THAT(rules_text(program), testing::Contains("{a(1);a(2)} [0]"));
  EXPECT_TRUE(std::any_of(program.rules.begin(), program.rules.end(),
                          [](const Rule& rule) { return rule.head.empty() && rule.body.size() == 1; }));
}

TEST(Ground, BodyOfAChoiceIsCarriedByTheAuxiliaryAtom) {
  const auto program = ground_it("{p(1..2)}. {a;b} = 1 :- p(X).");
  int bounds = 0;
  for (const auto& rule : program.rules) {
    if (!rule.head.empty()) continue;
    EXPECT_EQ(rule.statement, 1);
    ++bounds;
  }
  EXPECT_EQ(bounds, 1);
}

TEST(Ground, OneElementChoice) {
  EXPECT_THAT(rules_text(ground_it("{a} = 1.")), UnorderedElementsAre("{a} [0]", ":- not a [0]"));
}

TEST(Ground, ClueStaysInTheDomainOfItsChoice) {
  const auto program = ground_it("{c(1..3)} = 1.\nc(2).\n");
  EXPECT_EQ(program.statements[1].kind, StatementKind::kClue);
  const auto rules = rules_text(program);
  EXPECT_THAT(rules, testing::Contains("c(2) [1]"));
  EXPECT_THAT(rules, testing::Contains("{c(1);c(2);c(3)} [0]"));
  EXPECT_THAT(program.facts, IsEmpty());
}

TEST(Ground, ClueThroughFactsIsAClueAndThroughOtherAtomsIsNot) {
  EXPECT_EQ(ground_it("{c(1..3)}. given(2). c(X) :- given(X).").statements[1].kind, StatementKind::kClue);
  EXPECT_EQ(ground_it("{c(1..3)}. {given(2)}. c(X) :- given(X).").statements[2].kind, StatementKind::kRule);
}

TEST(Ground, ConditionalLiteralAtTheEndOfABodyKeepsItsMeaning) {
  const auto program = ground_it("{q(1..2)}. d(1..2). {a} :- q(X) : d(X).");
  const auto rules = rules_text(program);
  EXPECT_TRUE(std::any_of(rules.begin(), rules.end(), [](const std::string& rule) {
    return rule.find("{a}") == 0 && rule.find("[2]") == std::string::npos &&
           rule.find("[1]") != std::string::npos;
  }));
}

TEST(Ground, CostTuplesOfWeakConstraintsAndMinimize) {
  const auto program =
      ground_it("{a;b}.\n:~ a. [3@2,x]\n:~ b. [3@2,x]\n#minimize{1,q : a, b; 7 }.\n#maximize{2@1 : a}.\n");
  ASSERT_EQ(program.cost_tuples.size(), 5u);
  std::vector<std::string> costs;
  for (const auto& cost : program.cost_tuples) {
    costs.push_back(std::to_string(cost.statement) + ":" + std::to_string(cost.weight) + "@" +
                    std::to_string(cost.priority) + (cost.lit == 0 ? " always" : ""));
  }
  EXPECT_THAT(costs, UnorderedElementsAre("1:3@2", "2:3@2", "3:1@0", "3:7@0 always", "4:-2@1"));
  EXPECT_EQ(program.statements[4].kind, StatementKind::kMinimize);
  EXPECT_EQ(program.minimize.size(), 3u);
}

TEST(Ground, ShowIsKeptApart) {
  const auto all = ground_it("{a}. b. #show x(1) : a.");
  EXPECT_TRUE(all.show_all);
  ASSERT_EQ(all.shown_terms.size(), 1u);
  EXPECT_EQ(all.shown_terms[0].first, "x(1)");
  EXPECT_NE(all.shown_terms[0].second, 0);
  const auto some = ground_it("{a;-c(1)}. b. #show a/0. #show -c/1. #show.");
  EXPECT_FALSE(some.show_all);
  EXPECT_THAT(some.shown_signatures, ElementsAre("a/0", "-c/1"));
  EXPECT_THAT(some.facts, ElementsAre("b"));
  EXPECT_THAT(some.names, testing::Contains("a"));
}

TEST(Ground, ClassicalNegationHasItsOwnStatement) {
  const auto program = ground_it("{b;c}. a :- b.\n-a :- c.");
  const auto& statement = program.statements.back();
  EXPECT_EQ(statement.kind, StatementKind::kClassicalNegation);
  EXPECT_EQ(statement.location.line, 2);
  const std::string k = std::to_string(program.statements.size() - 1);
  EXPECT_THAT(rules_text(program), testing::Contains(":- -a, a [" + k + "]"));
}

TEST(Ground, HeadsThatAreLiteralsAreConstraints) {
  const auto program = ground_it("{a;b}. not a :- b. #false :- a. not not b :- a. 1 > 2 :- a, b.");
  EXPECT_THAT(rules_text(program), testing::IsSupersetOf({":- a [2]", ":- a, not b [3]"}));
  int constraints = 0;
  for (const auto& statement : program.statements)
    constraints += statement.kind == StatementKind::kConstraint;
  EXPECT_EQ(constraints, 4);
  EXPECT_THAT(program.warnings, IsEmpty());
}

TEST(Ground, ConstraintThatAlwaysFails) {
  EXPECT_THAT(rules_text(ground_it("{a}. :- 1 < 2.")), testing::Contains(":- [1]"));
}

TEST(Ground, FamilyNames) {
  const auto program =
      ground_it("{a}. % rows\n:- a. % rows\n:- not a. % rows\n:- a, a.\n:- a; a. :- a, not a. %* both *%\n");
  std::vector<std::string> names;
  for (const auto& statement : program.statements) names.push_back(statement.name);
  EXPECT_THAT(names, ElementsAre("rows#3", "rows", "rows#2", "constraint@4", "constraint@5", "both"));
}

TEST(Ground, FamilyWithoutInstancesIsWarnedAbout) {
  const auto program = ground_it("{cell(1..2)} = 1.\n:- cel(1).\n");
  ASSERT_EQ(program.warnings.size(), 2u);
  EXPECT_EQ(program.warnings[0].location.str(), "p.lp:2:4-10");
  EXPECT_THAT(program.warnings[0].message, HasSubstr("does not occur in any rule head"));
  EXPECT_EQ(program.warnings[1].location.str(), "p.lp:2:1-11");
  EXPECT_THAT(program.warnings[1].message, HasSubstr("no ground instances"));
}

TEST(Ground, WarningsOfTwinsAreNotRepeated) {
  EXPECT_EQ(ground_it("{a}.\n:~ a, zzz. [1]\n").warnings.size(), 1u);
}

TEST(Ground, ConstantsCanBeOverridden) {
  GroundOptions options;
  options.constants = {{"n", "3"}};
  const auto program = ground_text("#const n=2. {a(1..n)}.", "p.lp", options);
  EXPECT_EQ(program.rules.size(), 3u);
  EXPECT_THAT(program.warnings, IsEmpty());
  const auto other = ground_text("#const m=2. {a(1..m)}.", "p.lp", options);
  ASSERT_EQ(other.warnings.size(), 1u);
  EXPECT_THAT(other.warnings[0].message, HasSubstr("constant `n`"));
}

TEST(Ground, ReadsStandardInput) {
  const test::TemporaryFolder folder;
  const int before = dup(STDIN_FILENO);
  ASSERT_NE(std::freopen(folder.put("input.lp", "{a}.\n:- b(X), a(.\n").c_str(), "r", stdin), nullptr);
  std::string error;
  try {
    ground({"-"});
  } catch (const InputError& caught) {
    error = caught.what();
  }
  dup2(before, STDIN_FILENO);
  close(before);
  EXPECT_THAT(error, HasSubstr("-:2:12-13: error: syntax error"));
}

TEST(Ground, SyntaxErrorIsLocatedInTheUsersFile) {
  EXPECT_THAT(error_of("{a}.\n:- a, .\n"), HasSubstr("p.lp:2:7-8: error: syntax error"));
  EXPECT_THAT(error_of("{a}.\n:- a, b"), HasSubstr("p.lp:2:1-8: error: the file ends inside a statement"));
}

TEST(Ground, UnsafeVariableIsLocatedAndQuotedAsWritten) {
  const std::string error = error_of("{a(1)}.\n :- a(1), not a(X).\n");
  EXPECT_THAT(error, HasSubstr("p.lp:2:"));
  EXPECT_THAT(error, HasSubstr("unsafe variables"));
  EXPECT_THAT(error, HasSubstr(":- a(1), not a(X)."));
  EXPECT_THAT(error, HasSubstr("'X' is unsafe"));
  EXPECT_EQ(error.find("__as2_"), std::string::npos) << error;
}

TEST(Ground, ABodyWithPoolsIsQuotedWhole) {
  EXPECT_THAT(error_of("{a(1..2)}.\n:- a(1;2), not a(X;1), a(2;1).\n"),
              HasSubstr("\n  :- a(1;2), not a(X;1), a(2;1).\n"));
  EXPECT_THAT(error_of("{a(1..2)}.\n{b(X) : a(1;2)} = 1 :- a(1;2), a(X;1), not a(2;1).\n"),
              HasSubstr("\n  {b(X) : a(1;2)} = 1 :- a(1;2), a(X;1), not a(2;1).\n"));
}

struct Refusal {
  const char* text;
  const char* place;
  const char* construct;
};

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithPlaceConstructAndRemedy) {
  const std::string error = error_of(GetParam().text);
  EXPECT_THAT(error, HasSubstr(GetParam().place));
  EXPECT_THAT(error, HasSubstr(GetParam().construct));
  EXPECT_THAT(error, HasSubstr("\nnote: "));
}

INSTANTIATE_TEST_SUITE_P(
    Constructs, Refused,
    testing::Values(Refusal{"#program step(t).", "p.lp:1:1-18", "clingo by itself grounds only `base`"},
                    Refusal{"a.\n\n#script (lua) x.y = 1. #end.", "p.lp:3:1-29", "`#script`"},
                    Refusal{"#!/usr/bin/clingo\n#script (lua) #end.", "p.lp:2:1-20", "`#script`"},
                    Refusal{"# #script (lua) #end.", "p.lp:1:1-22", "`#script`"},
                    Refusal{"#theory t { x {} }.", "p.lp:1:1-20", "`#theory`"},
                    Refusal{"a :- &diff{x-y} <= 3.", "p.lp:1:1-22", "theory atoms"},
                    Refusal{"&diff{x-y} <= 3 :- a.", "p.lp:1:1-22", "theory atoms"},
                    Refusal{"1 $< $x.", "p.lp:1:1-9", "constraint terms"},
                    Refusal{"__as2_c(1).", "p.lp:1:1-8", "reserved"},
                    Refusal{"#include <incmode>.", "p.lp:1:1-20", "incremental"},
                    Refusal{"#include \"nowhere.lp\".", "p.lp:1:1-23", "cannot be found"}));

TEST(Ground, BitwiseAndIsNoTheoryAtom) {
  EXPECT_THAT(ground_it("{p(1..3)}. q(X&1) :- p(X). r(|X|) :- p(X).").names, testing::Contains("q(1)"));
}

TEST(Ground, AShowStatementWithoutAtomsIsWarnedOf) {
  const auto program =
      ground_it("{ set(1..2) } = 1.\nb :- set(3).\n#show set/1.\n#show b/0.\n#show sett/1.\n");
  std::vector<std::string> shows;
  for (const Warning& warning : program.warnings) {
    if (warning.message.find("#show") != std::string::npos)
      shows.push_back(std::to_string(warning.location.line) + warning.message.substr(0, 14));
  }
  EXPECT_THAT(shows, ElementsAre("5`#show sett/1."));
}

TEST(Ground, HeuristicAndProjectAreIgnoredWithAWarning) {
  const auto program =
      ground_it("{a}.\n#heuristic a. [1,sign]\n#project a.\n#defined zz/1.\n#program base.\n");
  ASSERT_EQ(program.warnings.size(), 2u);
  EXPECT_EQ(program.warnings[0].location.line, 2);
  EXPECT_EQ(program.warnings[1].location.line, 3);
}

TEST(Ground, PoolsInHeadsGiveEveryArity) {
  const auto program = ground_it("{a(1;2,3)}. a(2,3).");
  EXPECT_EQ(program.statements[1].kind, StatementKind::kClue);
  EXPECT_THAT(program.statements[0].heads, UnorderedElementsAre("a/1", "a/2"));
}

TEST(Ground, DisjunctiveAndConditionalHeadsNameTheirPredicates) {
  const auto program = ground_it("{b; c(1)}. a(1) : b, c(1); -d(2,3) | e :- b.");
  EXPECT_EQ(program.statements[1].kind, StatementKind::kRule);
  EXPECT_THAT(program.statements[1].heads, UnorderedElementsAre("a/1", "-d/2", "e/0"));
}

TEST(Ground, ExternalsKeepTheirValues) {
  const auto program =
      ground_it("#external a(1..2).\n#external b. [true]\n#external c. [free]\nd :- a(1), b, c.\n");
  std::vector<std::pair<std::string, ExternalValue>> values;
  for (const External& external : program.externals)
    values.emplace_back(program.names[external.atom], external.value);
  EXPECT_THAT(values, UnorderedElementsAre(std::make_pair("a(1)", ExternalValue::kFalse),
                                           std::make_pair("a(2)", ExternalValue::kFalse),
                                           std::make_pair("b", ExternalValue::kTrue),
                                           std::make_pair("c", ExternalValue::kFree)));
  EXPECT_EQ(program.statements[1].kind, StatementKind::kExternal);
  EXPECT_EQ(program.statements[1].location.line, 2);
}

TEST(Ground, AnAssumedAtomIsLeftOpenAndMustBeExternal) {
  GroundOptions options;
  options.assume = {" a( 2 )"};
  const auto program = ground_text("#external a(1..2).\nd :- a(2).\n", "p.lp", options);
  for (const External& external : program.externals) {
    EXPECT_EQ(external.value == ExternalValue::kFree, program.names[external.atom] == "a(2)");
  }
  options.assume = {"d"};
  try {
    ground_text("#external a(1..2).\nd :- a(2).\n", "p.lp", options);
    ADD_FAILURE() << "d is no external atom";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find("error: `d` is not an external atom"), 0u) << error.what();
  }
}

TEST(Ground, EdgesBecomeRulesAndOneFamily) {
  const auto program = ground_it("{e(1..2)}.\n#edge (a,b) : e(1).\n#edge (b,a) : e(2).\n");
  EXPECT_EQ(program.statements[1].name, "acyclic");
  EXPECT_EQ(program.statements[1].location.line, 2);
  const auto about_nodes = std::count_if(program.rules.begin(), program.rules.end(), [](const Rule& rule) {
    return rule.head.empty() && rule.statement == 1;
  });
  EXPECT_EQ(about_nodes, 2);
}

TEST(Ground, HeadAggregatesAreChoices) {
  const auto program = ground_it("d(1..3). 1 #sum { X : a(X) : d(X) } 3. a(2).");
  EXPECT_EQ(program.statements[0].kind, StatementKind::kChoice);
  EXPECT_EQ(program.statements[1].kind, StatementKind::kClue);
}

}  // namespace
}  // namespace as2::asp
