// What programs compile to: the numbers of the paper's Sudoku, names and order, kinds, merging, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "as2/compile.h"
#include "compile/position_hints.h"
#include "compile/position_index.h"
#include "compile/residual_terms.h"

namespace as2::compile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPrograms = AS2_SOURCE_DIR "/programs/";

ConstraintProgram program_of(const std::string& text) {
  return compile_text(text).program;
}

ConstraintProgram shipped(const std::string& name,
                          std::vector<std::pair<std::string, std::string>> constants = {}) {
  asp::GroundOptions options;
  options.constants = std::move(constants);
  return compile_files({kPrograms + name}, options).program;
}

std::int64_t terms(const ConstraintProgram& program) {
  const std::vector<std::int64_t> by_group = residual_terms(program);
  return std::accumulate(by_group.begin(), by_group.end(), std::int64_t{0});
}

std::vector<std::string> names(const ConstraintProgram& program) {
  std::vector<std::string> result;
  for (const Position& position : program.positions) result.push_back(position.name);
  return result;
}

std::vector<std::string> kinds(const ConstraintProgram& program) {
  std::vector<std::string> result;
  for (const Group& group : program.groups) result.emplace_back(group.kind());
  return result;
}

std::string refusal(const std::string& text, int line) {
  try {
    compile_text(text);
  } catch (const InputError& error) {
    EXPECT_EQ(error.location().line, line) << error.what();
    EXPECT_EQ(error.location().file, "program.lp") << error.what();
    EXPECT_THAT(error.what(), HasSubstr("note: "));
    return error.what();
  }
  return "compiled";
}

TEST(Sudoku, HasThePapersNumbers) {
  const ConstraintProgram program = shipped("sudoku.lp");
  EXPECT_EQ(program.positions.size(), 81U);
  EXPECT_EQ(program.atoms, 729);
  EXPECT_EQ(program.families.size(), 3U);
  EXPECT_EQ(program.groups.size(), 27U);
  EXPECT_EQ(terms(program), 2187);
  for (const Group& group : program.groups) {
    EXPECT_STREQ(group.kind(), "exclusive");
    EXPECT_EQ(group.positions.size(), 9U);
    EXPECT_EQ(std::get<Slots>(group.content).size(), 9U);
  }
  EXPECT_EQ(program.positions[0].name, "cell(1,1,_)");
  EXPECT_EQ(program.positions[80].name, "cell(9,9,_)");
  EXPECT_THAT(program.positions[0].symbols, ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_EQ(program.families[2].name, "boxes");
}

TEST(Sudoku, WrittenPairwiseGivesTheSameGroups) {
  const ConstraintProgram counted = shipped("sudoku.lp");
  const ConstraintProgram pairwise = shipped("sudoku_pairwise.lp");
  EXPECT_EQ(counted.hash, pairwise.hash);
  const auto positions = [](const ConstraintProgram& program) {
    std::multiset<std::vector<int>> result;
    for (const Group& group : program.groups) result.insert(group.positions);
    return result;
  };
  EXPECT_EQ(positions(counted), positions(pairwise));
  EXPECT_EQ(terms(pairwise), 2187);
}

TEST(Sudoku, LargerBoardsCompile) {
  EXPECT_EQ(shipped("sudoku.lp", {{"b", "4"}}).groups.size(), 48U);
  const ConstraintProgram program = shipped("sudoku.lp", {{"b", "5"}});
  EXPECT_EQ(program.positions.size(), 625U);
  EXPECT_EQ(program.groups.size(), 75U);
}

TEST(Sudoku, ClueStaysInTheDomainAndFixesThePosition) {
  const Compiled compiled = compile_text(
      "{ cell(C,V) : V=1..3 } = 1 :- C=1..3.\n"
      "cell(1,2).\n"
      ":- V=1..3, #count{C : cell(C,V)} != 1.\n");
  const ConstraintProgram& program = compiled.program;
  EXPECT_EQ(program.atoms, 9);
  ASSERT_EQ(program.families.size(), 2U);
  EXPECT_EQ(program.families[0].name, "facts");
  EXPECT_EQ(program.families[0].location.line, 2);
  ASSERT_EQ(program.groups.size(), 2U);
  const auto& nogoods = std::get<Nogoods>(program.groups[0].content);
  ASSERT_EQ(nogoods.size(), 1U);
  EXPECT_THAT(nogoods[0].literals[0].symbols, ElementsAre(0, 2));
  EXPECT_TRUE(violated_groups(program, {1, 0, 2}).empty());
  EXPECT_THAT(violated_groups(program, {0, 1, 2}), ElementsAre(0));
}

TEST(Addition, HasOneSharedAggregate) {
  for (const int n : {2, 4, 8}) {
    const ConstraintProgram program = shipped("addition.lp", {{"n", std::to_string(n)}});
    EXPECT_EQ(program.positions.size(), static_cast<std::size_t>(n + 1));
    ASSERT_EQ(program.aggregates.size(), 1U);
    const Aggregate& aggregate = program.aggregates[0];
    EXPECT_EQ(aggregate.min, 0);
    EXPECT_EQ(aggregate.max, 9 * n);
    EXPECT_EQ(aggregate.constant, 0);
    EXPECT_THAT(aggregate.values[0], ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_EQ(program.positions[static_cast<std::size_t>(program.find_position("digit(1,_)"))].atoms[0],
              "digit(1,0)");
    ASSERT_EQ(program.groups.size(), 1U);
    const auto& linears = std::get<Linears>(program.groups[0].content);
    ASSERT_EQ(linears.size(), 1U);
    const Linear& linear = linears[0];
    EXPECT_EQ(program.positions[static_cast<std::size_t>(linear.guard)].name, "total(_)");
    for (int total = 0; total <= 9 * n; ++total) {
      const int symbol = program.find_symbol(linear.guard, std::to_string(total));
      const auto& allowed = linear.allowed[static_cast<std::size_t>(symbol)].intervals;
      EXPECT_THAT(allowed, ElementsAre(std::pair<std::int64_t, std::int64_t>(total, total)));
    }
    EXPECT_EQ(terms(program), 10 * n + 9 * n + 1);
  }
}

TEST(Names, FollowTheVaryingArguments) {
  EXPECT_THAT(names(program_of("{ at(X,Y,P) : X=1..2, Y=1..2 } = 1 :- P=(b;a).")),
              ElementsAre("at(_,_,a)", "at(_,_,b)"));
  EXPECT_THAT(program_of("{ at(X,Y,P) : X=1..2, Y=1..2 } = 1 :- P=(b;a).").positions[0].symbols,
              ElementsAre("(1,1)", "(1,2)", "(2,1)", "(2,2)"));
  const ConstraintProgram mixed = program_of("{ red(X); green(X) } = 1 :- X=1..2.");
  EXPECT_THAT(names(mixed), ElementsAre("{green(1),...}", "{green(2),...}"));
  EXPECT_THAT(mixed.positions[0].symbols, ElementsAre("green(1)", "red(1)"));
  EXPECT_THAT(program_of("{ p(1,\"a b\"); p(1,x); p(1,3); p(1,f(1)) } = 1.").positions[0].symbols,
              ElementsAre("3", "x", "\"a b\"", "f(1)"));
  EXPECT_THAT(names(program_of("{ in(10); in(9); in(b) }.")), ElementsAre("in(9)", "in(10)", "in(b)"));
  EXPECT_THAT(program_of("{ in(1) }.").positions[0].symbols, ElementsAre("false", "true"));
  // An argument that varies in one instance belongs to the symbol in all.
  EXPECT_THAT(names(program_of("{ p(X,V) : V=1..X } = 1 :- X=1..2.")), ElementsAre("p(1,_)", "p(2,_)"));
  EXPECT_THAT(names(program_of("{ only } = 1. { x; y } = 1.")), ElementsAre("{only}", "{x,...}"));
  // Positions that would otherwise share a name.
  EXPECT_THAT(names(program_of("d(1,(1;2),1). d(2,3,(3;4)). d(1,7,2). { c(X,Y) : d(I,X,Y) } = 1 :- I=1..2.")),
              ElementsAre("{c(1,1),...}", "{c(3,3),...}"));
}

TEST(Names, OfOnesThatAreNoPositionsAreTakenForWhatTheyAre) {
  const ConstraintProgram program = program_of(
      "{ gauge(M,V) : V=0..5 } = 1 :- M=1..2.  { plate(M,a); plate(M,b) } = 1 :- M=1..2.  { lamp }.\n"
      "load(S) :- S = #sum { V,M : gauge(M,V) }.  secret :- lamp.  #show gauge/2.  #show load/1.\n");
  const auto hint = [&](const std::string& name) { return position_hint(program, name); };
  EXPECT_EQ(hint("gauge(7,_)"), "the nearest position is 'gauge(1,_)'");
  EXPECT_EQ(hint("guage( 2, _ )"), "the nearest position is 'gauge(2,_)'");
  EXPECT_EQ(hint("gauge(2, 5)"), "the atom says that position 'gauge(2,_)' has the symbol '5'");
  EXPECT_EQ(hint("load(7)"),
            "it is an atom that the program derives; to require it, add the constraint `:- not load(7).`");
  const std::string names = "positions are named like lamp, gauge(1,_), plate(1,_)";
  EXPECT_EQ(hint("temperature"), names);
  EXPECT_EQ(hint("load(71)"), names) << "it can never hold";
  EXPECT_EQ(hint(std::string(100000, 'x')), names);
  EXPECT_EQ(position_hint(program_of("a."), "b"), "it has no position at all");
  EXPECT_EQ(symbol_names(program.positions[0]), "its symbols are false, true");
  EXPECT_EQ(symbol_names(program_of("{ p(1..20) } = 1.").positions[0]),
            "its symbols are 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …");
}

TEST(Names, AnIndexFindsThemAsPrinted) {
  const ConstraintProgram program = program_of("{ p(a,b,\"x  y\"); p(a,c,\"x  y\") } = 1. { lamp }.");
  const PositionIndex index(program);
  for (const std::string name :
       {"p(a,_,\"x  y\")", "p( a, _ ,\"x  y\" )", "p(a,_,\"x y\")", " lamp", "", "la mp"}) {
    EXPECT_EQ(index.find(name), program.find_position(name)) << name;
  }
  EXPECT_EQ(index.find(" lamp"), 0);
  EXPECT_EQ(index.find("p( a, _ ,\"x  y\" )"), 1);
  EXPECT_EQ(index.find("la mp"), -1);
}

TEST(Choices, FreeBoundedAndConditional) {
  EXPECT_EQ(program_of("{ a; b; c }.").groups.size(), 0U);
  EXPECT_THAT(kinds(program_of("2 { a; b; c } 2.")), ElementsAre("linear"));
  EXPECT_THAT(kinds(program_of("{ a; b; c } 1.")), ElementsAre("exclusive"));
  const ConstraintProgram conditional = program_of("{ p }. { c(V) : V=1..2 } = 1 :- p.");
  EXPECT_THAT(names(conditional), ElementsAre("p", "c(_)"));
  EXPECT_THAT(conditional.positions[1].symbols, ElementsAre("1", "2", "_"));
  EXPECT_EQ(conditional.atoms, 3);
  EXPECT_TRUE(violated_groups(conditional, {0, 2}).empty());
  EXPECT_TRUE(violated_groups(conditional, {1, 1}).empty());
  EXPECT_FALSE(violated_groups(conditional, {0, 1}).empty());
  EXPECT_FALSE(violated_groups(conditional, {1, 2}).empty());
  // Unconditional, with conditions on its elements: no `_`.
  EXPECT_THAT(program_of("{ p(1..2) }. { a(X) : p(X) } = 1.").positions[0].symbols, ElementsAre("1", "2"));
}

TEST(Choices, TheFirstStatementDeclaresLaterOnesConstrain) {
  const ConstraintProgram program = program_of(
      "{ m(R,C) : C=1..3 } = 1 :- R=1..3.  % one in a row\n"
      "{ m(R,C) : R=1..3 } = 1 :- C=1..3.  % one in a column\n");
  EXPECT_THAT(names(program), ElementsAre("m(1,_)", "m(2,_)", "m(3,_)"));
  ASSERT_EQ(program.groups.size(), 1U);
  EXPECT_STREQ(program.groups[0].kind(), "exclusive");
  EXPECT_EQ(program.families[0].name, "one in a column");
}

TEST(Kinds, BySourceForm) {
  const std::string cells = "{ c(I,V) : V=0..3 } = 1 :- I=1..3.\n";
  const auto kinds_of = [&](const std::string& rest) { return kinds(program_of(cells + rest)); };
  EXPECT_THAT(kinds_of(":- c(1,V), c(2,V)."), ElementsAre("exclusive"));
  EXPECT_THAT(kinds_of(":- c(I,V), c(J,V), I != J."), ElementsAre("exclusive"));
  EXPECT_THAT(kinds_of(":- c(1,X), c(2,Y), X >= Y."), ElementsAre("nogood"));
  EXPECT_THAT(kinds_of(":- c(1,1), c(2,2), c(3,3)."), ElementsAre("nogood"));
  EXPECT_THAT(kinds_of(":- #sum{V,I : c(I,V)} != 4."), ElementsAre("linear"));
  EXPECT_THAT(kinds_of(":- #count{V : c(I,V)} < 2."), ElementsAre("derived"));
  EXPECT_THAT(kinds_of(":- #max{V : c(I,V)} > 2."), ElementsAre("nogood", "nogood", "nogood"));
  EXPECT_THAT(kinds_of("low(I) :- c(I,V), V < 2. :- low(1), low(2), low(3)."), ElementsAre("nogood"));
  EXPECT_THAT(kinds_of("same :- c(1,V), c(2,V). :- same."), ElementsAre("derived"));
  EXPECT_THAT(kinds_of("total(S) :- S = #sum{V,I : c(I,V)}. :- total(S), S > 4."), ElementsAre("linear"));
  // One joint constraint, one aggregate, although one is written with negative weights.
  const ConstraintProgram both =
      program_of(cells + ":- #sum{V,I : c(I,V)} > 6. :- #sum{-V,I : c(I,V)} > -2.");
  EXPECT_EQ(both.aggregates.size(), 1U);
  EXPECT_THAT(kinds(both), ElementsAre("linear", "linear"));
}

TEST(Kinds, ExactlyOneNeedsThePigeonhole) {
  EXPECT_THAT(kinds(program_of("{ c(I,V) : V=1..3 } = 1 :- I=1..3. :- V=1..3, #count{I : c(I,V)} != 1.")),
              ElementsAre("exclusive"));
  EXPECT_THAT(kinds(program_of("{ c(I,V) : V=1..4 } = 1 :- I=1..3. :- V=1..4, #count{I : c(I,V)} != 1.")),
              ElementsAre("linear"));
  EXPECT_THAT(kinds(program_of("{ c(I,V) : V=1..3 } = 1 :- I=1..3. :- V=1..2, #count{I : c(I,V)} != 1.")),
              ElementsAre("linear"));
}

TEST(Groups, SymbolsThatSomePositionsLackJoinTheLargerGroup) {
  const ConstraintProgram program = program_of(
      "{ c(1,(1;2)) } = 1. { c(2,(1;2)) } = 1. { c(3,(1..3)) } = 1. { c(4,(1;3)) } = 1.\n"
      ":- c(I,V), c(J,V), I < J.");
  ASSERT_EQ(program.groups.size(), 1U);
  EXPECT_EQ(program.groups[0].positions.size(), 4U);
  EXPECT_EQ(std::get<Slots>(program.groups[0].content).size(), 1U + 2U);
}

TEST(Groups, AnInstanceThatIsAlwaysViolatedStands) {
  const Compiled compiled = compile_text("{ a; b }. p. :- p.  % never\n");
  ASSERT_EQ(compiled.program.groups.size(), 1U);
  EXPECT_TRUE(compiled.program.groups[0].positions.empty());
  EXPECT_THAT(residual_terms(compiled.program), ElementsAre(4));
  EXPECT_THAT(violated_groups(compiled.program, {0, 0}), ElementsAre(0));
  ASSERT_FALSE(compiled.warnings.empty());
  EXPECT_THAT(compiled.warnings.back().message, HasSubstr("never"));
}

TEST(Groups, AFamilyWithoutInstancesIsListedAndWarnedAbout) {
  const Compiled compiled = compile_text("{ a; b }.\n:- aa.\n");
  ASSERT_EQ(compiled.program.families.size(), 1U);
  EXPECT_EQ(compiled.program.groups.size(), 0U);
  EXPECT_FALSE(compiled.warnings.empty());
}

TEST(Definitions, RecursionIsOneContiguousComponent) {
  const ConstraintProgram program = shipped("reachability.lp");
  int recursive = 0;
  int covered = 0;
  for (const Component& component : program.components) {
    EXPECT_EQ(component.begin, covered);
    covered = component.end;
    recursive += component.recursive;
    for (int node = component.begin; node < component.end; ++node) {
      for (const NodeRef& input : program.nodes[static_cast<std::size_t>(node)].inputs()) {
        EXPECT_LT(input.node, component.recursive ? component.end : node);
        EXPECT_FALSE(component.recursive && input.node >= component.begin && input.negated);
      }
    }
  }
  EXPECT_EQ(covered, static_cast<int>(program.nodes.size()));
  EXPECT_GE(recursive, 1);
  EXPECT_GT(program.definitions, 0);
}

TEST(Objectives, KeepTheirStatementsAndPriorities) {
  const ConstraintProgram program = program_of(
      "{ a; b }.\n"
      ":~ a. [2@1,x]  % first\n"
      ":~ b. [2@1,x]  % second\n"
      "#minimize{ 3@2 : a, b }.\n");
  ASSERT_EQ(program.objective_statements.size(), 3U);
  ASSERT_EQ(program.objectives.size(), 2U);
  EXPECT_EQ(program.objectives[0].priority, 2);
  EXPECT_THAT(cost_of(program, {1, 1}), ElementsAre(3, 2));
  EXPECT_THAT(cost_of(program, {1, 0}), ElementsAre(0, 2));
  EXPECT_EQ(program.objectives[0].costs[0].statement, 2);
}

TEST(Shown, FollowsTheShowStatements) {
  const ConstraintProgram program =
      program_of("{ a(2); a(1); b }. c :- b. f. #show a/1. #show t(X) : a(X), b.");
  EXPECT_THAT(shown_atoms(program, {0, 1, 1}), ElementsAre("a(1)", "a(2)"));
  Assignment all(3, 1);
  EXPECT_THAT(shown_atoms(program, all), ElementsAre("a(1)", "a(2)", "t(1)", "t(2)"));
  EXPECT_THAT(shown_atoms(program_of("{ b }. c :- b. f."), {1}), ElementsAre("b", "c", "f"));
}

TEST(Hash, IsOfTheMeaning) {
  const std::string text = "{ c(I,V) : V=1..3 } = 1 :- I=1..3.\n:- c(I,V), c(J,V), I < J.\n";
  const std::string hash = program_of(text).hash;
  EXPECT_EQ(hash, program_of("% a comment\n\n" + text).hash);
  EXPECT_NE(hash, program_of(text + ":- c(1,1).\n").hash);
}

TEST(Refusals, NameThePlaceAndAWayOut) {
  EXPECT_THAT(refusal("{ x }.\na ; b :- x.\na :- b.\nb :- a.\n", 2), HasSubstr("disjunct"));
  EXPECT_THAT(refusal("{ x }.\na :- #sum{ -1 : a; 1 : x } >= 0.\n", 2), HasSubstr("aggregate"));
}

TEST(Scale, TenThousandPositions) {
  const ConstraintProgram program = program_of(
      "{ c(I,V) : V=1..3 } = 1 :- I=1..10000.\n"
      ":- c(I,V), c(I+1,V).\n"
      ":- #count{ I : c(I,1) } > 9000.\n"
      "d(I) :- c(I,1), c(I+1,2).\n");
  EXPECT_EQ(program.positions.size(), 10000U);
  EXPECT_EQ(program.groups.size(), 9999U + 1U);
  EXPECT_EQ(program.definitions, 9999);
}

}  // namespace
}  // namespace as2::compile
