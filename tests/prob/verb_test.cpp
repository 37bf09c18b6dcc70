// `as2 prob` from outside: fields, exit codes, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/verb_test.h"

namespace as2 {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ProbVerb : public testing::VerbTest {
 protected:
  ProbVerb() : VerbTest("prob") {
    write("pair.lp",
          "{ cell(I,V) : V=1..3 } = 1 :- I=1..2.\n"
          "total(S) :- S = #sum{V,I : cell(I,V)}.\n"
          "bigger :- cell(1,V), cell(2,W), V > W.\n"
          ":- cell(1,V), cell(2,V).  % differ\n");
    write("beliefs.json", R"j({"cell(1,_)": {"1": 0.9, "2": 0.1}, "cell(2,_)": {"1": 0.6, "3": 0.4}})j");
  }

  json prob(const std::string& arguments) { return answer(arguments); }
};

// The answers are (1,3), (2,1) and (2,3), with weights 0.36, 0.06 and 0.04.
TEST_F(ProbVerb, GivesEveryField) {
  const json answer = prob(
      "pair.lp --beliefs beliefs.json --query 'bigger' --query 'cell(1,2), not bigger' --query 'cell(2,_)=3' "
      "--distribution 'total(_)' --marginals --count --sample 5 --seed 3");
  EXPECT_NEAR(answer["log_p_program"].get<double>(), std::log(0.46), 1e-9);
  ASSERT_EQ(answer["queries"].size(), 3U);
  EXPECT_EQ(answer["queries"][0]["query"], "bigger");
  EXPECT_NEAR(answer["queries"][0]["p"].get<double>(), 0.06 / 0.46, 1e-9);
  EXPECT_NEAR(answer["queries"][1]["p"].get<double>(), 0.04 / 0.46, 1e-9);
  EXPECT_NEAR(answer["queries"][2]["p"].get<double>(), 0.40 / 0.46, 1e-9);
  EXPECT_NEAR(answer["distribution"]["total(4)"].get<double>(), 0.36 / 0.46, 1e-9);
  EXPECT_NEAR(answer["distribution"]["total(3)"].get<double>(), 0.06 / 0.46, 1e-9);
  EXPECT_NEAR(answer["marginals"]["cell(1,_)"]["1"].get<double>(), 0.36 / 0.46, 1e-9);
  EXPECT_EQ(answer["marginals"]["cell(2,_)"]["2"], 0.0);
  EXPECT_EQ(answer["count"], 6);
  EXPECT_EQ(answer["samples"].size(), 5U);
  EXPECT_EQ(answer["exact"], true);
  EXPECT_EQ(answer["bound"], 0.0);
}

TEST_F(ProbVerb, APositionLeftOutWeighsOne) {
  write("half.json", R"j({"cell(1,_)": {"1": 0.9, "2": 0.1}})j");
  EXPECT_NEAR(prob("pair.lp --beliefs half.json")["log_p_program"].get<double>(), std::log(2.0), 1e-9);
  EXPECT_NEAR(prob("pair.lp")["log_p_program"].get<double>(), std::log(6.0), 1e-9);
}

TEST_F(ProbVerb, AQueryThatCannotHoldHasProbabilityZeroAndIsSaid) {
  const testing::Finished result = run("pair.lp --beliefs beliefs.json --json --query 'total(99)'");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(json::parse(result.out)["queries"][0]["p"], 0.0);
  EXPECT_THAT(result.err, HasSubstr("'total(99)' can never hold"));
  EXPECT_EQ(prob("pair.lp --beliefs beliefs.json --query 'not total(99)'")["queries"][0]["p"], 1.0);
}

TEST_F(ProbVerb, WhatNoNumberHoldsIsAPowerOfE) {
  write("many.lp", "{ a(1..2000) }.\n");
  EXPECT_THAT(run("many.lp").out, HasSubstr("P(program) = e^1386.29;"));
}

// A variable of the shell that is not set must not become no option at all.
TEST_F(ProbVerb, EmptyValuesAndNumbersThatAreTooLargeAreRefused) {
  for (const char* arguments :
       {"pair.lp --beliefs ''", "pair.lp --query ''", "''", "pair.lp --assume ''",
        "pair.lp --sample 1 --seed 99999999999999999999", "pair.lp --sample 1000001"}) {
    EXPECT_EQ(run(arguments).exit_code, 2) << arguments;
  }
  EXPECT_THAT(run("pair.lp --beliefs ''").err, HasSubstr("--beliefs: the value is empty"));
}

TEST_F(ProbVerb, AFamilyOfAtomsIsNoQuery) {
  for (const char* query : {"total(_)", "bigger, not total(_)"}) {
    const testing::Finished result = run(std::string("pair.lp --json --query '") + query + "'");
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("'total(_)' is not one atom"));
    EXPECT_THAT(result.err, HasSubstr("--distribution"));
  }
  EXPECT_NEAR(prob("pair.lp --query 'cell(1,_)=2'")["queries"][0]["p"].get<double>(), 1.0 / 3, 1e-9)
      << "the name of a position has a `_` of its own";
}

TEST_F(ProbVerb, ContradictoryBeliefsAreAnErrorThatNamesThem) {
  write("clash.json", R"j({"cell(1,_)": {"1": 1}, "cell(2,_)": {"1": 1}})j");
  const testing::Finished result = run("pair.lp --beliefs clash.json --json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("P(program) = 0"));
  EXPECT_THAT(result.err, HasSubstr("cell(1,_), cell(2,_)\nnote: this set is minimal: if any one of these "
                                    "positions were free, there would be an answer set\nnote: `as2 decode"));
  write("never.json", R"j({"cell(1,_)": {"1": 1}})j");
  write("one.lp", "{ cell(1,1..2) } = 1.\n:- cell(1,1).\n");
  EXPECT_THAT(run("one.lp --beliefs never.json").err, HasSubstr("beliefs of cell(1,_)\nnote: `as2 decode"));
  const testing::Finished best = run("pair.lp --beliefs clash.json --json --approx top-k");
  EXPECT_EQ(best.exit_code, 1);
  EXPECT_THAT(best.err, HasSubstr("P(program) = 0: no answer set agrees with the zeros in the beliefs of "
                                  "cell(1,_), cell(2,_)"));
  write("none.lp", "{ a(1..2) } = 1.\n:- a(1).  % not one\n:- a(2).  % not two\n");
  const testing::Finished count = run("none.lp --count");
  EXPECT_EQ(count.exit_code, 0);
  EXPECT_THAT(count.out, HasSubstr("P(program) = 0"));
  EXPECT_THAT(count.out, HasSubstr("answer sets: 0\n"));
  EXPECT_EQ(json::parse(run("none.lp --count --json").out)["count"], 0);
  const testing::Finished none = run("none.lp");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("not one"));
  EXPECT_THAT(none.err, HasSubstr("not two"));
  write("many.json", "{\"cell(1,_)\": {\"1\": 1}, \"cell(2,_)\": {\"1\": 1}}\n{\"cell(1,_)\": {\"2\": 1}}\n");
  const testing::Finished many = run("pair.lp --beliefs many.json --json");
  EXPECT_EQ(many.exit_code, 1);
  std::istringstream lines(many.out);
  std::vector<json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_THAT(answers[0]["error"].get<std::string>(), HasSubstr("P(program) = 0"));
  EXPECT_NEAR(answers[1]["log_p_program"].get<double>(), std::log(2.0), 1e-9);
}

TEST_F(ProbVerb, PastItsBudgetItOffersApproximations) {
  const std::string sudoku = std::string(AS2_SOURCE_DIR) + "/programs/sudoku.lp";
  const testing::Finished result = run(sudoku + " --memory-budget 4");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("of all assignments settled"));
  EXPECT_THAT(result.err, HasSubstr("deciding positions by the fewest symbols left,"));
  EXPECT_THAT(result.err, HasSubstr("--approx top-k"));
  const json best = prob("pair.lp --beliefs beliefs.json --approx top-k --approx-size 1 --query 'cell(1,1)'");
  EXPECT_NEAR(best["log_p_program"].get<double>(), std::log(0.36), 1e-9);
  EXPECT_EQ(best["exact"], false);
  EXPECT_EQ(best["queries"][0]["p"], 1.0);
  EXPECT_GE(best["bound"].get<double>(), 0.10 / 0.46);
  const json all =
      prob("pair.lp --beliefs beliefs.json --approx top-k --distribution 'total(_)' --marginals");
  EXPECT_EQ(all["exact"], true);
  EXPECT_NEAR(all["distribution"]["total(4)"].get<double>(), 0.36 / 0.46, 1e-9);
  EXPECT_NEAR(all["marginals"]["cell(1,_)"]["1"].get<double>(), 0.36 / 0.46, 1e-9);
  const json drawn = prob("pair.lp --beliefs beliefs.json --approx sample --seed 5 --query 'cell(1,1)'");
  EXPECT_EQ(drawn["exact"], false);
  EXPECT_NEAR(drawn["queries"][0]["p"].get<double>(), 0.36 / 0.46, drawn["bound"].get<double>());
  EXPECT_THAT(run("pair.lp --beliefs beliefs.json --approx sample").out,
              HasSubstr("each probability is off by at most 0.00"));
  EXPECT_THAT(run("pair.lp --beliefs beliefs.json --approx sample").out, HasSubstr("with 95 % confidence\n"));
  EXPECT_THAT(run("pair.lp --beliefs beliefs.json --approx top-k --approx-size 1").out,
              HasSubstr("no probability is off by more than 0."));
}

// The decoder floors beliefs at 1e-30, so that c(1,3), which weighs nothing, comes before answers that do.
TEST_F(ProbVerb, TheBestAnswersAreThoseThatWeighAnything) {
  write("floor.lp",
        "{ c(I,V) : V=1..4 } = 1 :- I=1..6.\n"
        ":- c(1,1).\n"
        ":- c(1,2), c(I,V), I>1, V != 2.\n"
        ":- c(1,4), c(I,V), I>1, V != 2.\n"
        ":- c(1,3), c(I,V), I>1, V != 1.\n");
  std::string beliefs = R"j({"c(1,_)": {"1": 0.999975, "2": 2e-5, "4": 5e-6})j";
  for (int i = 2; i <= 6; ++i)
    beliefs += ", \"c(" + std::to_string(i) + R"j(,_)": {"1": 0.99999, "2": 1e-5})j";
  write("floor.json", beliefs + "}");
  const std::string arguments = "floor.lp --beliefs floor.json --approx top-k --query 'c(1,4)'";
  const json one = prob(arguments + " --approx-size 1"), two = prob(arguments + " --approx-size 2"),
             all = prob(arguments + " --approx-size 3");
  EXPECT_EQ(one["exact"], false);
  EXPECT_EQ(one["queries"][0]["p"], 0.0);
  EXPECT_GE(one["bound"].get<double>(), 0.2);
  EXPECT_NEAR(two["queries"][0]["p"].get<double>(), 0.2, 1e-9);
  EXPECT_EQ(two["exact"], false) << "there might be a third";
  EXPECT_NEAR(all["queries"][0]["p"].get<double>(), 0.2, 1e-9);
  EXPECT_EQ(all["exact"], true);
  EXPECT_NEAR(all["log_p_program"].get<double>(), std::log(2.5e-5) + 5 * std::log(1e-5), 1e-9);
}

TEST_F(ProbVerb, AnApproximationThatFindsNothingSaysWhy) {
  write("clash.json", R"j({"cell(1,_)": {"1": 1}, "cell(2,_)": {"1": 1}})j");
  const testing::Finished clash = run("pair.lp --beliefs clash.json --approx top-k");
  EXPECT_EQ(clash.exit_code, 1);
  EXPECT_THAT(clash.err, HasSubstr("P(program) = 0"));
  const testing::Finished late =
      run(std::string(AS2_SOURCE_DIR) + "/programs/sudoku-b4.as2c --approx top-k --time-budget 1e-9");
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_THAT(late.err, HasSubstr("no answer set was found within the 1e-09 s of --time-budget"));
}

TEST_F(ProbVerb, RefusesWithTheRightExitCode) {
  EXPECT_THAT(run("pair.lp --sample 0").err, HasSubstr("0 not in range 1 to 1000000"));

  EXPECT_EQ(run("pair.lp --seed 3").exit_code, 2);
  EXPECT_EQ(run("pair.lp --approx-size 3").exit_code, 2);
  EXPECT_EQ(run("pair.lp --approx top-k --count").exit_code, 2);
  EXPECT_EQ(run("pair.lp --approx top-k --sample 3").exit_code, 2);
  EXPECT_EQ(run("pair.lp --approx guess").exit_code, 2);
  EXPECT_EQ(run("pair.lp --approx sample --time-budget 5").exit_code, 2);
  EXPECT_EQ(run("pair.lp --approx top-k --memory-budget 100").exit_code, 2);
  EXPECT_EQ(run("pair.lp --time-budget nan").exit_code, 2);
  EXPECT_EQ(run("pair.lp --memory-budget -1").exit_code, 2);
  EXPECT_EQ(run("pair.lp --query 'cell(1'").exit_code, 1);
  EXPECT_EQ(run("pair.lp --query 'bigger,,'").exit_code, 1);
  for (const std::string query : {"not", "bigger, not", "not not"}) {
    const testing::Finished negation = run("pair.lp --query '" + query + "'");
    EXPECT_EQ(negation.exit_code, 1) << query;
    EXPECT_THAT(negation.err, HasSubstr("`not` without an atom")) << query;
  }
  EXPECT_EQ(run("pair.lp --query 'cell(1,_)=7'").exit_code, 1);
  EXPECT_EQ(run("pair.lp --query 'cell(7,_)=1'").exit_code, 1);
  EXPECT_EQ(run("pair.lp --distribution 'sum(_)'").exit_code, 1);
  EXPECT_EQ(run("pair.lp --beliefs missing.json").exit_code, 1);
}

TEST_F(ProbVerb, WhatIsMisspeltGetsAHint) {
  const auto said = [&](const std::string& question) { return run("pair.lp " + question).err; };
  EXPECT_THAT(said("--distribution 'total(_'"), HasSubstr("error: 'total(_' is no atom"));
  EXPECT_THAT(said("--query 'cel(1,_)=1'"), HasSubstr("note: the nearest position is 'cell(1,_)'"));
  EXPECT_THAT(said("--query 'total(4)=1'"), HasSubstr("add the constraint `:- not total(4).`"));
  EXPECT_THAT(said("--query 'cell(1,_)=7'"), HasSubstr("has no symbol '7'\nnote: its symbols are 1, 2, 3"));
}

// One decision follows another, as many as there are positions.
TEST_F(ProbVerb, AChainLongerThanTheStackIsDeep) {
  write("chain.lp", "{ a(1..n) }.\n:- a(X), a(X+1).\n");
  const std::string prob = "\"$AS2_BINARY\" prob chain.lp -c n=3000 --json";
  const testing::Finished chain = run("--help >/dev/null; ulimit -s 512; " + prob);
  ASSERT_EQ(chain.exit_code, 0) << chain.err;
  // The ways are Fibonacci's numbers: φ^(n+2) / √5.
  EXPECT_NEAR(json::parse(chain.out)["log_p_program"].get<double>(),
              3002 * std::log((1 + std::sqrt(5.0)) / 2) - std::log(5.0) / 2, 1e-6);
  // What waits to be done counts as memory, too.
  const testing::Finished small = run("chain.lp -c n=3000 --memory-budget 4");
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_THAT(small.err, HasSubstr("the circuit does not fit its budget"));
}

TEST_F(ProbVerb, AnAtomThatShowHidesIsNoZero) {
  write("hidden.lp", "{ a(1..2) }.\nb :- a(1).\nc :- b, a(2).\n#show a/1.\n");
  const testing::Finished hidden = run("hidden.lp --query c");
  EXPECT_EQ(hidden.exit_code, 1);
  EXPECT_THAT(hidden.err, HasSubstr("hidden by #show"));
  EXPECT_EQ(run("hidden.lp --query d").exit_code, 0);
  // Standard input is read once.
  const testing::Finished piped = run("- --query c < hidden.lp");
  EXPECT_EQ(piped.exit_code, 1);
  EXPECT_EQ(piped.err, hidden.err);
  EXPECT_THAT(run("- --query d < hidden.lp").err, HasSubstr("'d' can never hold"));
  // What is false everywhere is not hidden if it would be shown.
  write("false.lp", "{ a(1..2) }.\nb :- a(1), not a(1).\n#show b/0.\n");
  EXPECT_EQ(prob("false.lp --query b")["queries"][0]["p"], 0.0);
}

TEST_F(ProbVerb, SpeaksToPeopleToo) {
  const testing::Finished result = run("pair.lp --beliefs beliefs.json --query bigger --count");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("P(program) = 0.46"));
  EXPECT_THAT(result.out, HasSubstr("P(bigger) = 0.13"));
  EXPECT_THAT(result.out, HasSubstr("answer sets: 6"));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("without beliefs")));
  EXPECT_THAT(
      run("pair.lp").out,
      HasSubstr("P(program) = 6 (log 1.79176); 2 positions without beliefs weigh 1 with every symbol\n"));
  write("half.json", R"j({"cell(1,_)": {"1": 0.9, "2": 0.1}})j");
  EXPECT_THAT(run("pair.lp --beliefs half.json").out, HasSubstr("; 1 position without beliefs weighs 1 "));
  EXPECT_EQ(prob("pair.lp --beliefs half.json")["without_beliefs"], 1);
}

// 1 − (1 − 1/3) is 0.33333333333333337 as a double; people read twelve digits, programs all of them.
TEST_F(ProbVerb, NumbersForPeopleAreRounded) {
  write("three.lp", "{ c(1..3) } = 1.\n");
  const auto digits = [](const std::string& text) {
    std::size_t most = 0, now = 0;
    for (const char c : text) most = std::max(most, now = c >= '0' && c <= '9' ? now + 1 : 0);
    return most;
  };
  const std::string questions = "three.lp --query 'c(1)' --distribution 'c(_)' --marginals";
  EXPECT_EQ(digits(run(questions).out), 12U) << run(questions).out;
  EXPECT_GT(digits(run(questions + " --json").out), 12U);
}

}  // namespace
}  // namespace as2
