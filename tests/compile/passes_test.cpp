// One test per pass, on its dump: it contains what the pass finds, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "as2/compile.h"
#include "compile/formula.h"
#include "compile/passes.h"

namespace as2::compile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> dumps(const std::string& text) {
  std::map<std::string, std::string> result;
  compile(asp::ground_text(text, "program.lp"),
          [&](const std::string& pass, const std::string& dump) { result[pass] = dump; });
  return result;
}

const std::string kCells = "{ c(I,V) : V=1..3 } = 1 :- I=1..3.\n";

TEST(Passes, EveryPassHasANameAPurposeAndADump) {
  const auto all = dumps(kCells + ":- c(I,V), c(J,V), I < J. :~ c(1,1). [1]");
  EXPECT_EQ(all.size(), passes().size());
  for (const Pass& pass : passes()) {
    EXPECT_STRNE(pass.name, "");
    EXPECT_STRNE(pass.purpose, "");
    EXPECT_EQ(all.count(pass.name), 1U) << pass.name;
  }
}

TEST(Passes, AWishToStopEndsThemWithTheOneTheyAreAt) {
  std::atomic<bool> stop{false};
  std::vector<std::string> run;
  const auto observe = [&](const std::string& pass, const std::string&) {
    run.push_back(pass);
    stop = run.size() == 2;
  };
  EXPECT_THROW(compile(asp::ground_text(kCells, "program.lp"), observe, &stop), EnvironmentError);
  EXPECT_EQ(run.size(), 2U);
}

TEST(Passes, NormaliseFoldsFactsAndKeepsClues) {
  EXPECT_THAT(
      dumps("{ a; b }. a. f(1). p :- b, f(1).")["normalise"],
      AllOf(HasSubstr("{ a; b }"), HasSubstr("clue a\n"), HasSubstr("p :- b.\n"), Not(HasSubstr("f(1)"))));
  // By hand, because gringo folds most of it itself: 1 is a fact, 3 has no rule, 2 and 4 follow.
  asp::GroundProgram ground;
  ground.names = {"", "", "", "", "", "x"};
  const auto rule = [&](std::vector<asp::Atom> head, std::vector<asp::Lit> body) {
    asp::Rule next;
    next.head = std::move(head);
    for (const asp::Lit lit : body) next.body.push_back({lit, 1});
    ground.rules.push_back(std::move(next));
  };
  rule({1}, {});
  rule({2}, {1, -3});
  rule({4}, {2, 3});
  rule({}, {5, 2, -4});
  ground.rules.push_back({true, false, 0, {5}, {{2, 1}}, -1});
  const NormalProgram normal = normalise(ground);
  EXPECT_EQ(normal.truth[2], Truth::kAlways);
  EXPECT_EQ(normal.truth[4], Truth::kNever);
  EXPECT_TRUE(normal.rules.empty());
  ASSERT_EQ(normal.choices.size(), 1U);
  EXPECT_TRUE(normal.choices[0].body.empty());
  ASSERT_EQ(normal.constraints.size(), 1U);
  EXPECT_EQ(normal.constraints[0].body.size(), 1U);
}

TEST(Passes, StrataPutsDependenciesFirst) {
  EXPECT_EQ(dumps("{ x; y }. b :- not a, x. a :- x, y.")["strata"], "a\nb\n");
  EXPECT_THAT(dumps("{ x; y }. r :- s, x. s :- r, y. s :- x, y.")["strata"], HasSubstr("  (recursive)\n"));
}

TEST(Passes, ChoicesFindsExactlyOne) {
  const std::string dump = dumps("{ a; b } = 1. { c; d } 1. 1 { e } :- c.")["choices"];
  EXPECT_THAT(dump, AllOf(HasSubstr("exactly one of "), HasSubstr("exactly one of e if "),
                          HasSubstr("free c\nfree d\n"), Not(HasSubstr("free a"))));
}

TEST(Passes, PositionsStandInTermOrder) {
  EXPECT_EQ(dumps("{ c(10,V) : V=(b;a;2) } = 1. { c(9,V) : V=1..2 } = 1. { z }.")["positions"],
            "z: false true\nc(9,_): 1 2\nc(10,_): 2 a b\n");
}

TEST(Passes, DefinitionsTurnAuxiliariesBackIntoAggregates) {
  const std::string dump =
      dumps(kCells + "low :- c(1,1). low :- c(1,2). t :- #sum{ V,I : c(I,V) } != 5.")["definitions"];
  EXPECT_THAT(dump, AllOf(HasSubstr("low = c(1,_)=1|2\n"), HasSubstr(" in 3..4 6..9\n")));
}

TEST(Passes, ConstraintsAreGatheredPerPosition) {
  EXPECT_EQ(dumps(kCells + ":- not c(1,1), not c(1,2), c(2,V), V != 2.  % odd\n")["constraints"],
            "odd: not c(1,_)=3, c(2,_)=1\nodd: not c(1,_)=3, c(2,_)=3\n");
}

TEST(Passes, WhatAConjunctionSettlesLeavesItsDisjunctions) {
  // a alone violates it, b not without c: nothing is left for a definition to decide.
  EXPECT_THAT(dumps("{ a; b }. d :- a. d :- b. :- d, a.  % no\n")["groups"], HasSubstr("no: nogood"));
  EXPECT_THAT(dumps("{ a; b; c }. d :- a. d :- b, c. :- d, not a.  % no\n")["constraints"],
              HasSubstr("no: not not a, b, c"));
}

TEST(Passes, KindsAndCliquesAndExclusive) {
  auto all = dumps(kCells + ":- c(I,1), c(J,1), I < J.  % ones\n");
  EXPECT_THAT(all["kinds"], HasSubstr("  not c(1,_)=1, c(2,_)=1\n"));
  EXPECT_EQ(all["cliques"], "ones:\n  at most one of c(1,_)=1 c(2,_)=1 c(3,_)=1\n");
  EXPECT_EQ(all["exclusive"], "ones:\n  group\n    at most one of c(1,_)=1 c(2,_)=1 c(3,_)=1\n");
}

TEST(Passes, ObjectivesShownCircuitGroupsHash) {
  auto all = dumps("{ a; b; c }. d :- a. d :- b. :~ d. [2@3]  % price\n:- d, c.  % no\n#show d/0.\n");
  EXPECT_THAT(all["objectives"], HasSubstr("2@3 if (a or b)  % price"));
  EXPECT_EQ(all["shown"], "d if (a or b)\n");
  EXPECT_THAT(all["circuit"], HasSubstr(" d = a or b\n"));
  EXPECT_THAT(all["groups"], HasSubstr("no: derived"));
  EXPECT_EQ(all["hash"].size(), 17U);
}

TEST(ValueSets, Algebra) {
  const ValueSet low = interval(1, 3);
  const ValueSet high = interval(6, 9);
  EXPECT_EQ(str(unite(low, high)), "1..3 6..9");
  EXPECT_EQ(str(unite(low, interval(4, 5))), "1..5");
  EXPECT_EQ(str(intersection(unite(low, high), interval(3, 7))), "3 6..7");
  EXPECT_EQ(str(complement(low)), "..0 4..");
  EXPECT_EQ(complement(complement(unite(low, high))), unite(low, high));
  EXPECT_EQ(str(affine(unite(low, high), -1, 10)), "1..4 7..9");
  EXPECT_EQ(str(simplified(unite(low, high), unite(interval(2, 3), interval(8, 8)))), "2..8");
  EXPECT_TRUE(intersection(low, high).intervals.empty());
  EXPECT_FALSE(unite(low, high).contains(5));
  EXPECT_TRUE(unite(low, high).contains(6));
}

TEST(Formulas, EqualThingsAreIdentical) {
  Formulas formulas({3, 3, 2});
  const Formula a = formulas.set(0, {0});
  const Formula b = formulas.set(1, {0, 1});
  EXPECT_EQ(formulas.negation(formulas.negation(a)), a);
  EXPECT_EQ(formulas.conjunction({a, formulas.set(0, {1})}), kFalse);
  EXPECT_EQ(formulas.disjunction({a, formulas.set(0, {1, 2})}), kTrue);
  EXPECT_EQ(formulas.conjunction({a, b, a}), formulas.conjunction({b, a}));
  // 2·a + 3·b ≥ 4, and the same with both literals negated and the bound shifted.
  const Formula direct = formulas.test({{a, 2}, {b, 3}}, at_least(4));
  const Formula negated =
      formulas.test({{formulas.negation(a), 2}, {formulas.negation(b), 3}}, complement(at_least(2)));
  EXPECT_EQ(direct, negated);
  EXPECT_EQ(formulas.sums(), 1);
  EXPECT_EQ(formulas.test({{a, 1}, {formulas.set(0, {2}), 5}}, interval(5, 5)), formulas.set(0, {2}));
}

}  // namespace
}  // namespace as2::compile
