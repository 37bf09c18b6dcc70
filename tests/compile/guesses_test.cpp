// Guess and check: which atoms become guesses, why, and what is left for the family `founded`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "as2/compile.h"

namespace as2::compile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ConstraintProgram program_of(const std::string& text, std::vector<std::string> assume = {}) {
  asp::GroundOptions options;
  options.assume = std::move(assume);
  return compile_text(text, "program.lp", options).program;
}

std::vector<std::string> positions(const ConstraintProgram& program) {
  std::vector<std::string> names;
  for (const Position& position : program.positions) names.push_back(position.name);
  return names;
}

std::vector<std::string> families(const ConstraintProgram& program) {
  std::vector<std::string> names;
  for (const Family& family : program.families) names.push_back(family.name);
  return names;
}

// Per assignment without a violated group, its shown atoms in one text.
std::vector<std::string> answers(const ConstraintProgram& program) {
  std::vector<std::string> result;
  Assignment assignment(program.positions.size(), 0);
  while (true) {
    if (violated_groups(program, assignment).empty()) {
      std::string text;
      for (const std::string& atom : shown_atoms(program, assignment))
        text += (text.empty() ? "" : " ") + atom;
      result.push_back(text);
    }
    std::size_t k = 0;
    while (k < assignment.size() && ++assignment[k] == static_cast<int>(program.positions[k].symbols.size()))
      assignment[k++] = 0;
    if (k == assignment.size()) return result;
  }
}

std::string refusal(const std::string& text) {
  try {
    compile_text(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "compiled";
}

TEST(Idioms, AnEvenLoopIsAChoice) {
  const ConstraintProgram program = program_of("a :- not b.\nb :- not a.\n");
  EXPECT_THAT(program.positions, SizeIs(1));
  EXPECT_THAT(program.groups, IsEmpty());
  EXPECT_THAT(answers(program), ElementsAre("b", "a"));
  ASSERT_THAT(program.guesses, SizeIs(1));
  EXPECT_TRUE(program.positions[0].guess);
  EXPECT_EQ(program.positions[0].location.line, 1);
  EXPECT_EQ(program.guesses[0].reason, GuessReason::kNegation);
  EXPECT_THAT(program.guesses[0].cycle, ElementsAre("a", "not b", "not a"));
}

TEST(Idioms, DoubleNegationIsAChoice) {
  const ConstraintProgram program = program_of("a :- not not a.");
  EXPECT_THAT(positions(program), ElementsAre("a"));
  EXPECT_THAT(program.groups, IsEmpty());
  EXPECT_THAT(answers(program), ElementsAre("", "a"));
}

TEST(Idioms, ARuleAgainstItsOwnHeadIsAConstraint) {
  const ConstraintProgram program = program_of("{ b }.\nf :- not f, b.  % no b\n");
  EXPECT_THAT(positions(program), ElementsAre("b"));
  EXPECT_THAT(program.guesses, IsEmpty());
  ASSERT_THAT(families(program), ElementsAre("no b"));
  EXPECT_EQ(program.families[0].location.line, 2);
  EXPECT_THAT(answers(program), ElementsAre(""));
}

TEST(Idioms, InertiaNeedsOneGuessPerFluentAndStep) {
  const ConstraintProgram program = program_of(
      "{ holds(on,0); holds(off,0) } = 1. { flip(1..3) }.\n"
      "holds(on,T) :- holds(off,T-1), flip(T). holds(off,T) :- holds(on,T-1), flip(T).\n"
      "holds(on,T) :- holds(on,T-1), not holds(off,T), T=1..3.\n"
      "holds(off,T) :- holds(off,T-1), not holds(on,T), T=1..3.\n");
  EXPECT_THAT(program.guesses, SizeIs(3));
  EXPECT_THAT(answers(program), SizeIs(16));
}

TEST(Idioms, WinMoveGuessesWhatCutsTheCycles) {
  const std::string rule = "win(X) :- move(X,Y), not win(Y).\n";
  const ConstraintProgram ring = program_of(rule + "move(1,2). move(2,3). move(3,4). move(4,1).");
  EXPECT_THAT(ring.guesses, SizeIs(1));
  EXPECT_THAT(answers(ring), SizeIs(2));
  const ConstraintProgram odd = program_of(rule + "move(1,2). move(2,3). move(3,1).");
  EXPECT_THAT(odd.guesses, SizeIs(1));
  EXPECT_THAT(families(odd), ElementsAre("founded"));
  EXPECT_THAT(answers(odd), IsEmpty());
  // One position in two cycles cuts both.
  const ConstraintProgram eight = program_of(rule + "move(1,2). move(2,1). move(1,3). move(3,1).");
  EXPECT_THAT(eight.guesses, SizeIs(1));
  EXPECT_THAT(positions(eight), ElementsAre("win(1)"));
}

TEST(Guesses, AnAtomChosenAndDerived) {
  const ConstraintProgram program = program_of("{ x; y }.\nx :- y.\n");
  EXPECT_THAT(answers(program), ElementsAre("", "x", "x y"));
  ASSERT_THAT(program.guesses, SizeIs(1));
  EXPECT_EQ(program.positions[static_cast<std::size_t>(program.guesses[0].position)].name, "x");
  EXPECT_EQ(program.guesses[0].reason, GuessReason::kChosenAndDerived);
  EXPECT_THAT(families(program), ElementsAre("founded"));
  // The choice is conditional: following the rules would lose two answer sets.
  EXPECT_THAT(answers(program_of("{ d(0..2) } = 1. a(N) :- d(N), N > 0. { a(1); a(2) } = 1 :- d(0).")),
              SizeIs(4));
}

TEST(Guesses, AnExactlyOneChoiceStaysAPositionWhenItsAtomsAreDerived) {
  const ConstraintProgram program = program_of("{ x }. { c(1..3) } = 1. c(2) :- x.");
  EXPECT_THAT(positions(program), ElementsAre("x", "c(_)"));
  EXPECT_THAT(program.guesses, IsEmpty());
  EXPECT_THAT(families(program), ElementsAre("founded"));
  EXPECT_THAT(answers(program), SizeIs(4));
}

TEST(Guesses, AChoiceBesideRulesThatExcludeEachOtherIsAPosition) {
  // As NeurASP writes Sudoku: what is read is given, what is not read is chosen.
  const ConstraintProgram program = program_of(
      "{ seen(P,(none;1;2;3)) } = 1 :- P=1..2.\na(P,N) :- seen(P,N), N != none.\n"
      "{ a(P,N) : N=1..3 } = 1 :- seen(P,none).\n");
  EXPECT_THAT(positions(program), ElementsAre("a(1,_)", "a(2,_)", "seen(1,_)", "seen(2,_)"));
  EXPECT_THAT(program.guesses, IsEmpty());
  EXPECT_THAT(answers(program), SizeIs(36));
  // Two rules may fire at once: then both atoms hold.
  const ConstraintProgram both = program_of("{ s; t; u }. a(1) :- s. a(2) :- t. { a(1..2) } = 1 :- u.");
  EXPECT_THAT(both.positions, SizeIs(5));
  EXPECT_THAT(answers(both), SizeIs(8));
}

TEST(Choices, SayWhichOfTwoDeclaresThePositions) {
  const Compiled compiled =
      compile_text("{ m(R,C) : C=1..3 } = 1 :- R=1..3.\n{ m(R,C) : R=1..3 } = 1 :- C=1..3.\n");
  ASSERT_THAT(compiled.notes, SizeIs(1));
  EXPECT_EQ(compiled.notes[0].location.line, 2);
  EXPECT_THAT(compiled.notes[0].message, HasSubstr("line 1"));
  EXPECT_THAT(compiled.warnings, IsEmpty());
}

TEST(Guesses, AChoiceThatDependsOnItselfSupportsNothingInACircle) {
  const ConstraintProgram program = program_of(
      "edge(1,2). edge(2,3). edge(3,2). reached(1).\n"
      "{ in(X,Y) } :- reached(X), edge(X,Y).\nreached(Y) :- in(X,Y).\n#show in/2.\n");
  // Nothing; 1-2; 1-2-3; 1-2-3-2. Never 2-3-2 alone.
  EXPECT_THAT(answers(program), SizeIs(4));
  const auto guess =
      std::find_if(program.guesses.begin(), program.guesses.end(), [&](const Guess& candidate) {
        return program.positions[static_cast<std::size_t>(candidate.position)].name == "in(2,3)";
      });
  ASSERT_NE(guess, program.guesses.end());
  EXPECT_EQ(guess->reason, GuessReason::kChoiceInLoop);
  EXPECT_EQ(guess->cycle.front(), "in(2,3)");
  EXPECT_EQ(guess->cycle.back(), "in(2,3)");
}

TEST(Guesses, FactsOfAChosenPredicateBreakTheCircle) {
  const ConstraintProgram program = program_of("a(1..2). {b(X)} :- a(X). {a(X) : b(X)}.");
  EXPECT_THAT(answers(program), SizeIs(4));
  EXPECT_THAT(program.guesses, IsEmpty());
}

TEST(Guesses, MonotoneAggregatesArePartOfTheLeastFixpoint) {
  const ConstraintProgram program = program_of(
      "{ x(1..3) }. a(I) :- x(I), I < 3. a(3) :- #sum{ 2,I : a(I); 1,x : x(3) } >= 3. a(1) :- a(3), x(3).\n"
      "#show a/1.");
  EXPECT_THAT(program.guesses, IsEmpty());
  EXPECT_THAT(answers(program), ElementsAre("", "a(1)", "a(2)", "a(1) a(2) a(3)", "", "a(1) a(3)",
                                            "a(1) a(2) a(3)", "a(1) a(2) a(3)"));
}

TEST(Disjunction, OfAtomsThatNothingElseDerivesIsAPosition) {
  const ConstraintProgram program = program_of("{ n(1..2) }.\nc(X,r) | c(X,g) | c(X,b) :- n(X).\n");
  EXPECT_THAT(positions(program), ElementsAre("n(1)", "n(2)", "c(1,_)", "c(2,_)"));
  EXPECT_THAT(program.positions[2].symbols, ElementsAre("b", "g", "r", "_"));
  EXPECT_EQ(program.positions[2].location.line, 2);
  EXPECT_THAT(answers(program), SizeIs(16));
}

// A rule or an #external that speaks of one head's predicate is not where the disjunction stands.
TEST(Disjunction, IsNamedAfterTheRuleThatHasAllItsHeads) {
  const ConstraintProgram program = program_of(
      "#external q.\np(2) :- q.\n{ x }.\nq(1) ; p(1) ; r :- q.\np(1) ; q(1) :- x.\n#external p(3).\n");
  ASSERT_THAT(positions(program), ElementsAre("x", "{p(1),...}"));
  EXPECT_EQ(program.positions[1].location.line, 5);
  ASSERT_THAT(program.families, SizeIs(1));
  EXPECT_EQ(program.families[0].name, "rule@5");
}

TEST(Disjunction, IsShiftedWhereAnotherRuleDerivesAHead) {
  const ConstraintProgram program = program_of("{ x }. a | b. b :- x.");
  EXPECT_THAT(answers(program), SizeIs(3));
}

TEST(Disjunction, AConditionalHeadOfOneAtomIsNone) {
  const ConstraintProgram program = program_of("d(1). { x }. a(X) : d(X) :- x.");
  EXPECT_THAT(program.guesses, IsEmpty());
  EXPECT_THAT(answers(program), ElementsAre("d(1)", "x a(1) d(1)"));
}

TEST(Disjunction, ConditionsMayDependOnChoices) {
  EXPECT_THAT(answers(program_of("{ b; d }. a : b; c :- d. #show a/0. #show c/0.")), SizeIs(5));
}

TEST(Disjunction, WithAHeadCycleIsRefusedByName) {
  const std::string error = refusal("{ x }.\na | b :- x.\na :- b.\nb :- a.\n");
  EXPECT_THAT(error, HasSubstr("program.lp:2:"));
  EXPECT_THAT(error, HasSubstr("in the cycle a, b"));
  EXPECT_THAT(error, HasSubstr("note: "));
}

TEST(Aggregates, ThatAreNotMonotoneAreRefusedInsideTheirOwnRecursion) {
  const std::string error = refusal("{ b }.\na :- #sum{ -1 : a; 1 : b } >= 0.\n");
  EXPECT_THAT(error, HasSubstr("program.lp:2:"));
  EXPECT_THAT(error, HasSubstr("recursion through an aggregate that is not monotone: a\n"));
  // gringo writes these as disjunctions, which are not the user's.
  for (const std::string text :
       {"{ a }.\np :- #sum{ 1 : a; 1 : p; -1 : q } >= 1.\nq :- p.\n",
        "{ v(0) }.\nv(X) :- X = 1..3, #sum{ 2,Y : v(Y), Y != X; -3,z : v(0) } >= 1.\n",
        "{ a; b }.\np :- #sum{ 2 : a; -1 : b; 1 : p } = 1.\n"}) {
    EXPECT_THAT(refusal(text), HasSubstr("program.lp:2:")) << text;
    EXPECT_THAT(refusal(text), HasSubstr("recursion through an aggregate that is not monotone")) << text;
  }
}

TEST(Externals, AreFalseTrueFreeOrAssumed) {
  const std::string text = "#external a.\n#external b. [true]\n#external c. [free]\nd :- a. e :- b.\n";
  EXPECT_THAT(answers(program_of(text)), ElementsAre("b e", "b c e"));
  const ConstraintProgram assumed = program_of(text, {"a"});
  EXPECT_THAT(positions(assumed), ElementsAre("a", "c"));
  EXPECT_EQ(assumed.positions[0].location.line, 1);
  EXPECT_THAT(assumed.guesses, IsEmpty());
  EXPECT_THAT(answers(assumed), SizeIs(4));
}

// clingo takes an atom for external if simplification leaves no rule for it: `e` holds in the first program
// and not in the second.
TEST(Externals, ThatAreTrueOrFreeStandInNoHead) {
  for (const std::string text :
       {"{ x }.\n#external e. [true]\ne :- e.\n", "{ x }.\n#external e. [true]\ne :- y.\ny :- e.\n",
        "{ x }.\n#external e. [free]\n{ e; x } :- not x.\n"}) {
    EXPECT_THAT(refusal(text), HasSubstr("program.lp:2:")) << text;
    EXPECT_THAT(refusal(text), HasSubstr("`e` is external with [")) << text;
  }
  EXPECT_THAT(answers(program_of("#external e.\n{ x }.\ne :- x.\n")), ElementsAre("", "e x"));
  EXPECT_THAT(answers(program_of("#external e. [true]\ne.\n")), ElementsAre("e"));
  // gringo writes the statements of one atom in reverse order, and the last one counts.
  EXPECT_THAT(answers(program_of("#external e.\n#external e. [true]\n")), ElementsAre(""));
}

TEST(Edges, MustNotCloseACycle) {
  const ConstraintProgram program =
      program_of("{ e(1,2); e(2,3); e(3,1); e(3,4) }.\n#edge (X,Y) : e(X,Y).\n");
  EXPECT_THAT(families(program), ElementsAre("acyclic"));
  EXPECT_EQ(program.families[0].location.line, 2);
  EXPECT_THAT(answers(program), SizeIs(14));
}

TEST(NothingChosen, IsAProgramWithOneAnswerOrNone) {
  const ConstraintProgram facts = program_of("p(1..2). q(X) :- p(X), not r(X). r(1).");
  EXPECT_THAT(facts.positions, IsEmpty());
  EXPECT_THAT(answers(facts), ElementsAre("p(1) p(2) q(2) r(1)"));
  EXPECT_THAT(answers(program_of("p. :- p.")), IsEmpty());
}

TEST(Founded, IsViolatedExactlyByWhatTheRulesDoNotDerive) {
  const ConstraintProgram program = program_of("{ x }. a :- b. b :- a. a :- not c, x. c :- not a, x.");
  ASSERT_THAT(positions(program), ElementsAre("a", "x"));
  EXPECT_THAT(answers(program), ElementsAre("", "c x", "a b x"));
  // A guess without support: a and b would support each other.
  EXPECT_THAT(violated_groups(program, {1, 0}), SizeIs(1));
}

}  // namespace
}  // namespace as2::compile
