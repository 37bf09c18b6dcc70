#include "as2/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "as2/compile.h"
#include "support/random_program.h"
#include "support/temporary_folder.h"
#include "verify/clingo.h"

namespace as2::verify {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Verify : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!as2::testing::have_clingo()) GTEST_SKIP() << "no clingo";
  }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  // A stand-in for clingo: a shell script.
  std::string script(const std::string& body) const {
    const std::string path = file("clingo.sh", "#!/bin/sh\n" + body);
    chmod(path.c_str(), 0755);
    return path;
  }

  Verdict ask(const std::string& text, std::vector<std::string> chosen, std::vector<std::string> unchosen,
              const VerifyOptions& options = {}) const {
    return verify({file("p.lp", text)}, {{std::move(chosen), std::move(unchosen)}}, options).front();
  }

  const test::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

std::vector<std::string> families(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Violation& violation : verdict.violated) names.push_back(violation.family);
  return names;
}

std::vector<int> lines(const Verdict& verdict) {
  std::vector<int> result;
  for (const Violation& violation : verdict.violated) result.push_back(violation.location.line);
  return result;
}

constexpr const char* kSquare = R"({ cell(R,C,V) : V=1..2 } = 1 :- R=1..2, C=1..2.
:- cell(R,C,V), cell(R,D,V), C < D. % rows
:- cell(R,C,V), cell(S,C,V), R < S. % columns
)";

// A 2x2 square, its cells read row by row.
ChosenAtoms square(const std::string& digits) {
  ChosenAtoms result;
  for (int k = 0; k < 4; ++k) {
    for (const char v : {'1', '2'}) {
      const std::string atom =
          "cell(" + std::to_string(k / 2 + 1) + "," + std::to_string(k % 2 + 1) + "," + v + ")";
      (digits[static_cast<std::size_t>(k)] == v ? result.chosen : result.unchosen).push_back(atom);
    }
  }
  return result;
}

TEST_F(Verify, NamesWhatIsViolated) {
  const std::string path = file("square.lp", kSquare);
  const auto verdicts =
      verify({path}, {square("1221"), square("1122"), square("1212"), square("2112"), square("1111")});
  ASSERT_EQ(verdicts.size(), 5u);
  EXPECT_EQ(verdicts[0].valid, true);
  EXPECT_THAT(verdicts[0].violated, IsEmpty());
  EXPECT_EQ(verdicts[1].valid, false);
  EXPECT_THAT(families(verdicts[1]), ElementsAre("rows"));
  EXPECT_THAT(lines(verdicts[1]), ElementsAre(2));
  EXPECT_EQ(verdicts[1].violated[0].location.file, path);
  EXPECT_EQ(verdicts[2].valid, false);
  EXPECT_THAT(families(verdicts[2]), ElementsAre("columns"));
  EXPECT_EQ(verdicts[3].valid, true);
  EXPECT_THAT(families(verdicts[4]), ElementsAre("rows", "columns"));
}

TEST_F(Verify, NothingToVerify) {
  EXPECT_THAT(verify({file("p.lp", "{a}.")}, {}), IsEmpty());
}

TEST_F(Verify, MoreThanOneCallHolds) {
  std::vector<ChosenAtoms> assignments;
  for (int k = 0; k < 2500; ++k)
    assignments.push_back(square(k % 3 == 0 ? "1221" : k % 3 == 1 ? "1122" : "2112"));
  const auto verdicts = verify({file("square.lp", kSquare)}, assignments);
  for (std::size_t k = 0; k < verdicts.size(); ++k) {
    ASSERT_EQ(verdicts[k].valid, k % 3 != 1) << k;
    ASSERT_EQ(verdicts[k].violated.size(), k % 3 == 1 ? 1u : 0u) << k;
  }
}

TEST_F(Verify, ShowProjectAndObjectivesDoNotDisturb) {
  const std::string extras =
      "#show. #minimize { 1,R,C : cell(R,C,1) }. #show hello : cell(1,1,1). #project cell/3.\n";
  const auto verdicts =
      verify({file("square.lp", kSquare + extras)}, {square("1221"), square("2112"), square("1111")});
  EXPECT_EQ(verdicts[0].valid, true);
  EXPECT_EQ(verdicts[1].valid, true);
  EXPECT_EQ(verdicts[2].valid, false);
}

TEST_F(Verify, ConstantsReachClingo) {
  const std::string text = "#const n=1. { p(1..3) }. :- #count { X : p(X) } != n. % size\n";
  VerifyOptions two;
  two.constants = {{"n", "2"}};
  EXPECT_EQ(ask(text, {"p(1)"}, {"p(2)", "p(3)"}).valid, true);
  const Verdict verdict = ask(text, {"p(1)"}, {"p(2)", "p(3)"}, two);
  EXPECT_EQ(verdict.valid, false);
  EXPECT_THAT(families(verdict), ElementsAre("size"));
}

TEST_F(Verify, BoundsOfAChoiceAreItsOwn) {
  const std::string text = "2 { in(1..4) } 3. % size\n:- in(1), in(2).\n";
  EXPECT_EQ(ask(text, {"in(1)", "in(3)"}, {"in(2)", "in(4)"}).valid, true);
  const Verdict few = ask(text, {"in(1)"}, {"in(2)", "in(3)", "in(4)"});
  EXPECT_EQ(few.valid, false);
  EXPECT_THAT(lines(few), ElementsAre(1));
  EXPECT_THAT(lines(ask(text, {"in(1)", "in(2)", "in(3)", "in(4)"}, {})), ElementsAre(1, 2));
}

// Were the chosen atoms given as facts, `p` would be true; demanded by constraints, it has no support.
TEST_F(Verify, WhatNothingSupportsIsNotValid) {
  const std::string text = "{ q }.\n{ p } :- q.\n";
  EXPECT_EQ(ask(text, {"p", "q"}, {}).valid, true);
  EXPECT_EQ(ask(text, {}, {"p", "q"}).valid, true);
  const Verdict verdict = ask(text, {"p"}, {"q"});
  EXPECT_EQ(verdict.valid, false);
  EXPECT_THAT(lines(verdict), ElementsAre(2));
}

TEST_F(Verify, AtomsTheProgramDoesNotHave) {
  const Verdict absent = ask("{ p(1) }.\n", {"p(7)"}, {"p(1)"});
  EXPECT_EQ(absent.valid, false);
  EXPECT_THAT(families(absent), ElementsAre("p(7) cannot hold"));
  EXPECT_EQ(ask("{ p(1) }.\n", {}, {"p(1)", "p(7)"}).valid, true);
}

TEST_F(Verify, CluesAndStrings) {
  const std::string text = "{ at(X,\"a \\\"b\\\"\") : X=1..2 } = 1.\nat(1,\"a \\\"b\\\"\").\n";
  EXPECT_EQ(ask(text, {"at(1,\"a \\\"b\\\"\")"}, {"at(2,\"a \\\"b\\\"\")"}).valid, true);
  const Verdict verdict = ask(text, {"at(2,\"a \\\"b\\\"\")"}, {"at(1,\"a \\\"b\\\"\")"});
  EXPECT_EQ(verdict.valid, false);
  EXPECT_FALSE(verdict.violated.empty());
}

TEST_F(Verify, MissingClingoIsNoVerdict) {
  VerifyOptions options;
  options.clingo = "/nonexistent/clingo";
  const Verdict verdict = ask("{a}.", {"a"}, {}, options);
  EXPECT_FALSE(verdict.valid.has_value());
  EXPECT_THAT(verdict.message, HasSubstr("no clingo"));
}

TEST_F(Verify, AWishToStopEndsClingo) {
  const test::TemporaryFolder folder;
  const std::atomic<bool> stop{true};
  VerifyOptions options;
  options.clingo = folder.put_program("clingo", "sleep 3600");
  options.stop = &stop;
  EXPECT_THROW(ask("{a}.", {"a"}, {}, options), EnvironmentError);
}

TEST_F(Verify, WhatClingoRefusesIsAnInputError) {
  EXPECT_THROW(ask("{a}. :- b", {"a"}, {}), InputError);
}

TEST_F(Verify, EveryAssignmentSpeaksOfTheSameAtoms) {
  EXPECT_THROW(verify({file("p.lp", "{a;b}.")}, {{{"a"}, {"b"}}, {{"a"}, {}}}), ContractError);
  EXPECT_THROW(verify({file("p.lp", "{a;b}.")}, {{{"a"}, {"b"}}, {{"c"}, {"a", "b"}}}), ContractError);
  EXPECT_THROW(verify({file("p.lp", "{a;b}.")}, {{{"a"}, {"a"}}}), ContractError);
}

// clasp's search for equivalent atoms would take `b` for `a` and lose the first edge's condition.
TEST_F(Verify, AnEdgeUnderEquivalentAtomsCounts) {
  const std::string text = "{a}. b :- a. {c}.\n#edge (1,1) : a, b.\n#edge (3,1).\n#edge (2,3) : c.\n";
  EXPECT_EQ(ask(text, {"a"}, {"c"}).valid, false);
  EXPECT_EQ(ask(text, {"c"}, {"a"}).valid, true);
}

TEST(ClingoExitCode, IsReadByItsBits) {
  EXPECT_EQ(outcome_of(10), Outcome::kStoppedEarly);
  EXPECT_EQ(outcome_of(11), Outcome::kStoppedEarly);
  EXPECT_EQ(outcome_of(0), Outcome::kStoppedEarly);
  EXPECT_EQ(outcome_of(1), Outcome::kStoppedEarly);
  EXPECT_EQ(outcome_of(20), Outcome::kSearchedAll);
  EXPECT_EQ(outcome_of(30), Outcome::kSearchedAll);
  EXPECT_EQ(outcome_of(33), Outcome::kOutOfMemory);
  EXPECT_EQ(outcome_of(65), Outcome::kRefusedInput);
  for (const int code : {-1, 32, 64, 66, 127, 128}) EXPECT_EQ(outcome_of(code), Outcome::kCrashed) << code;
}

// Only a finished search may call anything invalid, and only a model anything valid.
TEST_F(Verify, UnfinishedRunsGiveNoVerdict) {
  const std::string one_model =
      R"sh(echo '{"Call":[{"Witnesses":[{"Value":["__as2_case(1)"]}]}],"Result":"?"}')sh";
  const auto run = [&](const std::string& body) {
    VerifyOptions options;
    options.clingo = script("cat >/dev/null\n" + body);
    options.name_violated = false;
    return verify({file("p.lp", "{a}.")}, {{{"a"}, {}}, {{}, {"a"}}}, options);
  };
  auto verdicts = run(one_model + "\nexit 11");
  EXPECT_EQ(verdicts[0].valid, true);
  EXPECT_FALSE(verdicts[1].valid.has_value());
  EXPECT_THAT(verdicts[1].message, HasSubstr("stopped"));
  verdicts = run(one_model + "\nexit 30");
  EXPECT_EQ(verdicts[1].valid, false);
  for (const char* body :
       {"exit 33", "exit 128", "kill -9 $$", "exit 30", "echo garbage; exit 20", "echo '{'; exit 30"}) {
    verdicts = run(body);
    EXPECT_FALSE(verdicts[0].valid.has_value()) << body;
    EXPECT_FALSE(verdicts[1].valid.has_value()) << body;
    EXPECT_FALSE(verdicts[0].message.empty()) << body;
  }
  EXPECT_THROW(run("echo 'parse error' >&2; exit 65"), InputError);
}

TEST_F(Verify, TimeLimit) {
  std::string pigeons = "{ in(P,H) : H=1..11 } = 1 :- P=1..12. :- in(P,H), in(Q,H), P < Q. { a }.";
  VerifyOptions options;
  options.time_limit_seconds = 1;
  const Verdict verdict = ask(pigeons, {"a"}, {}, options);
  EXPECT_FALSE(verdict.valid.has_value());
  EXPECT_THAT(verdict.message, HasSubstr("the limit is 1 s"));
}

// On random programs: an assignment is valid if and only if some answer set of the plain program agrees with
// it.
TEST_F(Verify, AgreesWithEnumeration) {
  int valid = 0;
  int invalid = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string text = (seed % 3 == 0 ? as2::testing::random_cyclic_program(seed, false)
                                            : as2::testing::random_program(seed))
                                 .text();
    const auto sets = as2::testing::answer_sets(text);
    std::vector<std::string> atoms;
    for (const auto& set : sets) atoms.insert(atoms.end(), set.atoms.begin(), set.atoms.end());
    std::sort(atoms.begin(), atoms.end());
    atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
    if (atoms.empty() || sets.empty()) continue;
    as2::testing::Random random(seed);
    std::vector<ChosenAtoms> assignments;
    std::vector<bool> expected;
    for (int k = 0; k < 40; ++k) {
      // Takes an answer set and often flips one atom.
      const auto& set = random.pick(sets);
      const int flipped = random.chance(60) ? random.below(static_cast<int>(atoms.size())) : -1;
      ChosenAtoms assignment;
      for (int i = 0; i < static_cast<int>(atoms.size()); ++i) {
        const std::string& atom = atoms[static_cast<std::size_t>(i)];
        const bool holds = std::binary_search(set.atoms.begin(), set.atoms.end(), atom) != (i == flipped);
        (holds ? assignment.chosen : assignment.unchosen).push_back(atom);
      }
      expected.push_back(std::any_of(sets.begin(), sets.end(),
                                     [&](const auto& other) { return other.atoms == assignment.chosen; }));
      assignments.push_back(std::move(assignment));
    }
    VerifyOptions options;
    options.name_violated = false;
    const auto verdicts = verify({file("random.lp", text)}, assignments, options);
    for (std::size_t k = 0; k < verdicts.size(); ++k) {
      ASSERT_TRUE(verdicts[k].valid.has_value()) << verdicts[k].message;
      EXPECT_EQ(*verdicts[k].valid, expected[k]) << text;
      ++(expected[k] ? valid : invalid);
    }
  }
  EXPECT_GT(valid, 300);
  EXPECT_GT(invalid, 300);
}

// What the rules do not derive, and what they derive although it was guessed otherwise, is the family
// `founded`.
TEST_F(Verify, NamesWhatIsNotFounded) {
  const std::string loops = "{ x }.\na :- b.  b :- a.\na :- not c, x.\nc :- not a, x.\n";
  EXPECT_EQ(ask(loops, {"x", "a"}, {}).valid, true);
  EXPECT_EQ(ask(loops, {"x"}, {"a"}).valid, true);
  const Verdict circular = ask(loops, {"a"}, {"x"});
  EXPECT_EQ(circular.valid, false);
  EXPECT_THAT(families(circular), ElementsAre("founded"));
  const Verdict missing = ask("{ x; y }.\nx :- y.\n", {"y"}, {"x"});
  EXPECT_EQ(missing.valid, false);
  EXPECT_THAT(families(missing), ElementsAre("founded"));
  EXPECT_EQ(missing.violated[0].location.line, 2);
  const Verdict both = ask("{ x }.\na | b :- x.\n", {"x", "a", "b"}, {});
  EXPECT_EQ(both.valid, false);
  EXPECT_THAT(families(both), ElementsAre("founded"));
  const Verdict without_body = ask("a | b | c.\nc :- a, b.\n", {"a", "b"}, {});
  EXPECT_THAT(families(without_body), ElementsAre("founded"));
  EXPECT_THAT(lines(without_body), ElementsAre(1));
  const Verdict by_itself = ask("{ x }.\n{ p } :- x.\np :- p.\n", {"p"}, {"x"});
  EXPECT_THAT(families(by_itself), ElementsAre("choice@2"));
  const Verdict cycle = ask("{ e(1..2) }.\n#edge (1,2) : e(1).\n#edge (2,1) : e(2).\n", {"e(1)", "e(2)"}, {});
  EXPECT_EQ(cycle.valid, false);
  EXPECT_THAT(families(cycle), ElementsAre("acyclic"));
}

// Definitions that depend on a guess through a negation read what was guessed; only loops derive.
TEST_F(Verify, NamesAGuessThatItsOwnNegationRefutes) {
  const Verdict through_another = ask("a :- b.\nb :- not a.\n", {"b"}, {});
  EXPECT_EQ(through_another.message, "");
  EXPECT_THAT(families(through_another), ElementsAre("founded"));
  const Verdict through_a_sum =
      ask("{ p(1..2) }.\np(3) :- #sum{ 3,X : p(X) } <= 4.\n", {"p(1)"}, {"p(2)", "p(3)"});
  EXPECT_THAT(families(through_a_sum), ElementsAre("founded"));
  EXPECT_THAT(lines(through_a_sum), ElementsAre(2));
  const Verdict unsupported = ask("{ x }.\n{ p } :- x.\n{ q } :- p.\n", {"p", "q"}, {"x"});
  EXPECT_THAT(lines(unsupported), ElementsAre(2));
}

// A constraint may be written as a rule that negates its own head.
TEST_F(Verify, NamesARuleThatNegatesItsHead) {
  const std::string text = "{ a; b }.\nc :- a.\nf :- not f, a, b. % not both\nf :- b, not c.\n";
  EXPECT_EQ(ask(text, {"a"}, {"b"}).valid, true);
  EXPECT_EQ(ask(text, {"b"}, {"a"}).valid, true);
  const Verdict both = ask(text, {"a", "b"}, {});
  EXPECT_EQ(both.valid, false);
  EXPECT_EQ(both.message, "");
  EXPECT_THAT(families(both), ElementsAre("not both"));
  EXPECT_THAT(lines(both), ElementsAre(3));
  EXPECT_THAT(lines(ask("{ a }.\nf; f :- not f, a.\n", {"a"}, {})), ElementsAre(2));
  const Verdict disjunction = ask("{ a }.\n{ g }.\nf; g :- not f, a.\n", {"a"}, {"g"});
  EXPECT_EQ(disjunction.message, "");
  EXPECT_THAT(lines(disjunction), ElementsAre(3, 3));
}

TEST_F(Verify, AnAssumedExternalIsOpen) {
  const std::string text = "#external a.\nb :- a.\n";
  EXPECT_EQ(ask(text, {"a"}, {}).valid, false);
  VerifyOptions options;
  options.assume = {"a"};
  EXPECT_EQ(ask(text, {"a"}, {}, options).valid, true);
  EXPECT_EQ(ask(text, {}, {"a"}, options).valid, true);
}

// Externals are no rules, but what they hold counts where the violated statements are looked for.
TEST_F(Verify, NamesWhatAnExternalViolates) {
  const Verdict always = ask("#external e. [true]\n{ a }.\n:- e, not a. % a with e\n", {}, {"a"});
  EXPECT_EQ(always.valid, false);
  EXPECT_THAT(families(always), ElementsAre("a with e"));
  VerifyOptions options;
  options.assume = {"e"};
  const std::string text = "#external e.\n{ a }.\n:- e, a. % not both\n";
  EXPECT_THAT(families(ask(text, {"a", "e"}, {}, options)), ElementsAre("not both"));
}

// A choice that does not fire and a constraint on the atom that is picked nevertheless.
TEST_F(Verify, NamesEveryViolatedConstraint) {
  const Verdict verdict = ask("{ p } :- a.\n{ a }.\n:- p. % no p\n", {"p"}, {"a"});
  EXPECT_EQ(verdict.valid, false);
  EXPECT_THAT(families(verdict), ElementsAre("choice@1", "no p"));
}

// The positions alone do not make a certificate: what follows from them must be what clingo derives.
TEST_F(Verify, ComparesTheAtomsThatFollow) {
  const std::vector<std::string> program = {
      file("shown.lp", "{ a; b }.\nc :- a.\n#show c/0.\n#show t : b.\n")};
  const auto ask_for = [&](const std::vector<std::string>& shown) {
    ChosenAtoms atoms;
    atoms.chosen = {"a", "b"};
    atoms.shown = shown;
    return verify(program, {atoms}).front();
  };
  EXPECT_EQ(ask_for({"t", "c"}).valid, true);
  const Verdict wrong = ask_for({"c", "a"});
  EXPECT_EQ(wrong.valid, false);
  EXPECT_THAT(wrong.message, HasSubstr("{t} more and lacks {a}"));
  ChosenAtoms nothing;
  nothing.shown.emplace();
  const Verdict external = verify({file("external.lp", "#external e. [true]\ne :- e.\n")}, {nothing}).front();
  EXPECT_EQ(external.valid, false);
  EXPECT_THAT(external.message, HasSubstr("{e} more and lacks {}"));
}

TEST_F(Verify, AnAtomThatAChoiceOffersIsNotExternal) {
  const std::string program = "{ p; q } = 1.\n#external q. [true]\n";
  EXPECT_EQ(ask(program, {"p"}, {"q"}).valid, true);
  EXPECT_EQ(ask(program, {"q"}, {"p"}).valid, true);
  EXPECT_EQ(ask(program, {"p", "q"}, {}).valid, false);
}

TEST_F(Verify, AProgramWithoutPositionsIsValidOrNot) {
  EXPECT_EQ(ask("p(1..2). q(X) :- p(X).\n", {}, {}).valid, true);
  EXPECT_EQ(ask("p.\n:- p.\n", {}, {}).valid, false);
}

// The compiled program's own evaluation and clingo agree, on the verdict and on the statements that fail.
TEST_F(Verify, AgreesWithTheCompiledProgram) {
  int named = 0;
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    const std::string path = file("random.lp", as2::testing::random_program(seed).text());
    const compile::ConstraintProgram program = compile::compile_files({path}).program;
    as2::testing::Random random(seed);
    std::vector<compile::Assignment> assignments;
    std::vector<ChosenAtoms> atoms;
    for (int k = 0; k < 30; ++k) {
      compile::Assignment assignment;
      for (const auto& position : program.positions) {
        assignment.push_back(random.below(static_cast<int>(position.symbols.size())));
      }
      atoms.push_back(chosen_atoms(program, assignment));
      assignments.push_back(std::move(assignment));
    }
    const auto verdicts = verify({path}, atoms);
    for (std::size_t k = 0; k < verdicts.size(); ++k) {
      std::set<std::string> expected;
      for (const int group : compile::violated_groups(program, assignments[k])) {
        const int family = program.groups[static_cast<std::size_t>(group)].family;
        expected.insert(program.families[static_cast<std::size_t>(family)].name);
      }
      const std::vector<std::string> found = families(verdicts[k]);
      EXPECT_EQ(verdicts[k].valid, expected.empty()) << as2::testing::random_program(seed).text();
      EXPECT_EQ(found.empty(), expected.empty()) << verdicts[k].message;
      // Where a choice or a clue is broken, clingo also sees what the clue says; else the names are the same.
      const auto of_a_constraint = [](const std::string& name) { return name.rfind("constraint@", 0) == 0; };
      if (!std::all_of(found.begin(), found.end(), of_a_constraint)) continue;
      EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected)
          << verdicts[k].message << '\n'
          << as2::testing::random_program(seed).text();
      named += static_cast<int>(found.size());
    }
  }
  EXPECT_GT(named, 500);
}

}  // namespace
}  // namespace as2::verify
