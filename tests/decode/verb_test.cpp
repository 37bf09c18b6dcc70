// `as2 decode` from outside: fields, exit codes, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/verb_test.h"

namespace as2 {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class DecodeVerb : public testing::VerbTest {
 protected:
  DecodeVerb() : VerbTest("decode") {
    write("pair.lp",
          "{ cell(I,V) : V=1..3 } = 1 :- I=1..2.\n"
          ":- cell(1,V), cell(2,V).  % differ\n");
    write("cost.lp",
          "{ pick(X) : X=1..3 } = 1.\n"
          ":~ pick(X). [X@2]\n"
          ":~ pick(X). [4-X@1]\n");
    write("beliefs.json", R"j({"cell(1,_)": {"1": 0.9, "2": 0.1}, "cell(2,_)": {"1": 0.6, "3": 0.4}})j");
  }

  json decode(const std::string& arguments) { return answer(arguments); }
};

TEST_F(DecodeVerb, GivesEveryFieldAndAnExplanation) {
  const json answer = decode("pair.lp --beliefs beliefs.json --explain --models 2");
  EXPECT_EQ(answer["status"], "optimal");
  EXPECT_NEAR(answer["log_probability"].get<double>(), std::log(0.9 * 0.4), 1e-9);
  EXPECT_EQ(answer["assignment"], json::parse(R"j({"cell(1,_)": "1", "cell(2,_)": "3"})j"));
  EXPECT_EQ(answer["atoms"], json::parse(R"j(["cell(1,1)", "cell(2,3)"])j"));
  EXPECT_TRUE(answer["nodes"].is_number_integer());
  ASSERT_EQ(answer["models"].size(), 2U);
  EXPECT_GT(answer["models"][0]["log_probability"], answer["models"][1]["log_probability"]);
  ASSERT_EQ(answer["changed"].size(), 1U);
  EXPECT_EQ(answer["changed"][0],
            json::parse(R"j({"position": "cell(2,_)", "read": "1", "decoded": "3", "p_read": 0.6,
                             "p_decoded": 0.4})j"));
  ASSERT_EQ(answer["conflicts"].size(), 1U);
  EXPECT_EQ(answer["conflicts"][0]["family"], "differ");
  EXPECT_EQ(answer["conflicts"][0]["line"], 2);
  EXPECT_EQ(answer["conflicts"][0]["positions"], json::parse(R"j(["cell(1,_)", "cell(2,_)"])j"));
}

TEST_F(DecodeVerb, UnsatisfiableAndDeadEndAreAnswers) {
  const json refuted =
      decode("pair.lp --beliefs beliefs.json --explain --pin 'cell(1,_)=2' --pin 'cell(2,_)=2'");
  EXPECT_EQ(refuted["status"], "unsatisfiable");
  EXPECT_TRUE(refuted["assignment"].is_null());
  EXPECT_TRUE(refuted["log_probability"].is_null());
  EXPECT_EQ(refuted["conflicts"].size(), 1U);
  EXPECT_EQ(refuted["conflicting_pins"], json::parse(R"j({"cell(1,_)": "2", "cell(2,_)": "2"})j"));
  const json stuck =
      decode("pair.lp --beliefs beliefs.json --method greedy --evidence 'cell(1,_),cell(2,_)'");
  EXPECT_EQ(stuck["status"], "dead_end");
  EXPECT_TRUE(stuck["assignment"].is_null());
  EXPECT_EQ(stuck["dead_end_position"], "cell(2,_)");
  EXPECT_EQ(decode("pair.lp --beliefs beliefs.json --method greedy --evidence 'cell(*'"), stuck);
  EXPECT_THAT(run("pair.lp --beliefs beliefs.json --method greedy --evidence 'sell(*'").err,
              HasSubstr("no position 'sell(*'"));
  // A pattern that leaves a parenthesis open ends where its line does, or at the blank behind its `*`.
  write("patterns.txt", "cell(1,*\ncell(2,*\n");
  for (const char* list : {"'cell(1,* cell(2,*'", "'cell(1,*\t cell( * , _) '", "patterns.txt",
                           "'ce*,cell(2, *'", "'cell( * ,_)'", "'cell(1,*' --evidence 'cell(2,*'"}) {
    EXPECT_EQ(decode(std::string("pair.lp --beliefs beliefs.json --method greedy --evidence ") + list), stuck)
        << list;
  }
  EXPECT_THAT(run("pair.lp --beliefs beliefs.json --method greedy --evidence 'cell(1,* sell(2,*'").err,
              HasSubstr("no position 'sell(2,*'"));
  write("evidence.txt", "cell(1,_)\n");
  const json greedy = decode("pair.lp --beliefs beliefs.json --method greedy --evidence evidence.txt");
  EXPECT_EQ(greedy["status"], "satisfied");
  EXPECT_EQ(greedy["assignment"]["cell(2,_)"], "3");
}

TEST_F(DecodeVerb, ObjectivesWeighOrComeFirst) {
  write("none.json", "{}");
  write("three.json", R"j({"pick(_)": {"1": 0.01, "2": 0.01, "3": 0.98}})j");
  EXPECT_EQ(decode("cost.lp --beliefs none.json --objective-first")["cost"], json::parse("[1,3]"));
  EXPECT_EQ(decode("cost.lp --beliefs three.json --objective-first")["assignment"]["pick(_)"], "1");
  EXPECT_EQ(decode("cost.lp --beliefs three.json")["assignment"]["pick(_)"], "3");
  EXPECT_EQ(decode("cost.lp --beliefs three.json --objective-weight 2=10")["assignment"]["pick(_)"], "1");
  EXPECT_EQ(decode("cost.lp --beliefs none.json --objective-weight 0 --objective-weight 1=1")["cost"][1], 1);
  EXPECT_EQ(decode("cost.lp --beliefs none.json --objective-weight 1=1 --objective-weight 0")["cost"][1], 1);
}

TEST_F(DecodeVerb, ManyDocumentsKeepTheirOrderAndABadOneItsPlace) {
  write("many.json", "{\"cell(1,_)\": {\"3\": 1}}\n{\"cell(9,_)\": {}}\n{\"cell(1,_)\": {\"2\": 1}}\n");
  const testing::Finished result = run("pair.lp --beliefs many.json --json");
  EXPECT_EQ(result.exit_code, 1);
  std::istringstream lines(result.out);
  std::vector<json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0]["assignment"]["cell(1,_)"], "3");
  EXPECT_THAT(answers[1]["error"].get<std::string>(), HasSubstr("many.json:2"));
  EXPECT_EQ(answers[2]["assignment"]["cell(1,_)"], "2");
}

TEST_F(DecodeVerb, RefusesWithTheRightExitCode) {
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_EQ(run("pair.lp --beliefs beliefs.json --method best").exit_code, 2);
  EXPECT_EQ(
      run("pair.lp --beliefs beliefs.json --unique --evidence 'cell(1,_)' --unique-margin nan").exit_code, 2);
  EXPECT_EQ(run("pair.lp --beliefs beliefs.json --pin nonsense").exit_code, 2);
  EXPECT_EQ(run("pair.lp --beliefs beliefs.json --time-budget nan").exit_code, 2);
  EXPECT_EQ(run("pair.lp --beliefs missing.json").exit_code, 1);
  const testing::Finished unknown = run("pair.lp --beliefs beliefs.json --pin 'cell(7,_)=1'");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("no position 'cell(7,_)'"));
  EXPECT_EQ(run("pair.lp --beliefs beliefs.json --pin 'cell(1,_)=9'").exit_code, 1);
  EXPECT_EQ(run("cost.lp --beliefs beliefs.json --objective-weight 7=1").exit_code, 1);
  EXPECT_EQ(run("cost.lp --beliefs beliefs.json --objective-weight x").exit_code, 2);
  EXPECT_EQ(run("cost.lp --beliefs beliefs.json --objective-weight 1=2 --objective-weight 1=3").exit_code, 2);
  EXPECT_EQ(run("cost.lp --beliefs beliefs.json --objective-weight 2 --objective-weight 3").exit_code, 2);
}

TEST_F(DecodeVerb, FindsTheReadingWithOneCompletion) {
  // x(1) leaves y open, x(2) does not; x(3) cannot be completed.
  write("xy.lp",
        "{ x(V) : V=1..3 } = 1.\n{ y(V) : V=1..2 } = 1.\n"
        ":- x(2), y(1).\n:- x(3), y(V).\n");
  write("xy.json", R"j({"x(_)": {"1": 0.5, "2": 0.2, "3": 0.3}})j");
  const json answer = decode("xy.lp --beliefs xy.json --unique --evidence 'x(_)'");
  EXPECT_EQ(answer["status"], "optimal");
  EXPECT_EQ(answer["assignment"], json::parse(R"j({"x(_)": "2", "y(_)": "2"})j"));
  EXPECT_EQ(answer["unique"],
            json::parse(R"j({"found": true, "rank": 2, "readings": 2, "complete": true})j"));
  const json strict = decode("xy.lp --beliefs xy.json --unique --evidence 'x(_)' --unique-margin 0.5");
  EXPECT_EQ(strict["assignment"]["x(_)"], "1");
  EXPECT_EQ(strict["unique"]["found"], false);
  EXPECT_TRUE(strict["unique"]["rank"].is_null());
  EXPECT_EQ(strict["unique"]["complete"], true);
  const json tired = decode("xy.lp --beliefs xy.json --unique --evidence 'x(_)' --unique-readings 1");
  EXPECT_EQ(tired["unique"]["complete"], false);
  EXPECT_THAT(run("xy.lp --beliefs xy.json --unique --evidence 'x(_)'").out,
              HasSubstr("unique: the reading of rank 2 has exactly one completion (2 tested)"));
  EXPECT_EQ(run("xy.lp --beliefs xy.json --unique").exit_code, 2);
  EXPECT_EQ(decode("xy.lp --beliefs xy.json --unique --evidence 'x(_)' --models 2")["models"].size(), 1U);
  EXPECT_EQ(run("xy.lp --beliefs xy.json --unique --evidence 'x(_)' --objective-first").exit_code, 2);
  EXPECT_EQ(run("xy.lp --beliefs xy.json --unique-margin 3").exit_code, 2);
  EXPECT_EQ(run("xy.lp --beliefs xy.json --evidence 'x(_)'").exit_code, 2);
}

TEST_F(DecodeVerb, SpeaksToPeopleToo) {
  const testing::Finished result = run("pair.lp --beliefs beliefs.json --explain");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("cell(1,1) cell(2,3)"));
  EXPECT_THAT(result.out, HasSubstr("changed: cell(2,_) read 1 (p = 0.6), decoded 3 (p = 0.4)"));
  EXPECT_THAT(result.out, HasSubstr("broken by the reading: differ (pair.lp:2)"));
}

TEST_F(DecodeVerb, EveryModelCarriesItsAtoms) {
  const json answer = decode("pair.lp --beliefs beliefs.json --models 2");
  EXPECT_EQ(answer["models"][0]["atoms"], answer["atoms"]);
  EXPECT_EQ(answer["models"][1]["atoms"].size(), 2U);
  EXPECT_NE(answer["models"][1]["atoms"], answer["atoms"]);
}

TEST_F(DecodeVerb, RefusesOptionsWithoutEffect) {
  for (const std::string option :
       {"--evidence 'cell(1,_)'", "--method greedy --models 2", "--method greedy --node-budget 5",
        "--method greedy --time-budget 1", "--method greedy --objective-first", "--time-budget nan",
        "--objective-first", "--objective-weight 2"}) {
    EXPECT_EQ(run("pair.lp --beliefs beliefs.json " + option).exit_code, 2) << option;
  }
  EXPECT_EQ(run("pair.lp --beliefs beliefs.json --method greedy --evidence 'cell(1,_)'").exit_code, 0);
  EXPECT_EQ(run("cost.lp --objective-first --objective-weight 2").exit_code, 2);
}

TEST_F(DecodeVerb, SaysHowToNameAFileThatBeginsWithADash) {
  for (const std::string name : {"-dash.lp", "-cats.lp", "--json.lp"}) {
    write(name, "{a}.");
    const testing::Finished refused = run(name);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err,
                HasSubstr("note: " + name + " was taken for an option; to name the file, write ./" + name));
    EXPECT_EQ(run("./" + name).exit_code, 0);
    EXPECT_EQ(run("-- " + name).exit_code, 0);
  }
  EXPECT_THAT(run("--blief b.json").err, HasSubstr("note: there is no option --blief"));
}

TEST_F(DecodeVerb, ABudgetWithSeveralModelsGivesAnHonestGap) {
  write("gap.lp", "{y}. {e;g;h}=1. :- y. :~ not e, not y. [1]\n");
  write("gap.json", R"j({"{e,...}": {"e": 0.35, "g": 0.65}})j");
  const auto score = [](const json& answer) {
    return answer["log_probability"].get<double>() - answer["cost"][0].get<double>();
  };
  const double best = score(decode("gap.lp --beliefs gap.json"));
  int answered = 0;
  for (const std::string budget : {"1", "2", "3", "5"}) {
    const json answer = decode("gap.lp --beliefs gap.json --models 2 --node-budget " + budget);
    if (answer["assignment"].is_null()) continue;
    ++answered;
    const double gap = answer.value("gap", 0.0);
    EXPECT_GE(gap, 0) << budget;
    EXPECT_GE(score(answer) + gap, best - 1e-9) << budget;
  }
  EXPECT_GT(answered, 0);
}

TEST_F(DecodeVerb, ObjectivesFirstLeaveAGapInLogPToo) {
  // Both answers cost nothing; which is likelier is not known after one node.
  write("first.lp",
        "{ c(I,V) : V=1..3 } = 1 :- I=1..5. :- c(I,V), c(J,V), c(K,V), I<J, J<K. :~ c(1,1), c(2,1). [1]\n");
  write("first.json", R"j({"c(1,_)": {"1": 0.5, "2": 0.3, "3": 0.2}, "c(2,_)": {"1": 0.6, "2": 0.4},
                           "c(3,_)": {"1": 0.7, "3": 0.3}, "c(4,_)": {"1": 0.9, "2": 0.1}})j");
  const double best =
      decode("first.lp --beliefs first.json --objective-first")["log_probability"].get<double>();
  int limited = 0;
  for (int budget = 1; budget < 12; ++budget) {
    const json answer =
        decode("first.lp --beliefs first.json --objective-first --node-budget " + std::to_string(budget));
    if (answer["status"] != "satisfied") continue;
    ++limited;
    if (answer["cost"][0] != 0) continue;
    EXPECT_GE(answer["log_probability"].get<double>() + answer["gap"].get<double>(), best - 1e-9) << budget;
  }
  EXPECT_GT(limited, 0);
}

TEST_F(DecodeVerb, ObjectivesTooLargeToWeighAreRefused) {
  for (const std::string weight : {"1e19", "1e308"}) {
    write("none.json", "{}");
    const auto refused = run("cost.lp --beliefs none.json --objective-weight " + weight);
    EXPECT_EQ(refused.exit_code, 1) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("--objective-first"));
  }
}

TEST_F(DecodeVerb, WhatCanNeverHoldIsUnsatisfiable) {
  write("never.lp", "3{a;b}.\n");
  write("none.json", "{}");
  EXPECT_EQ(decode("never.lp --beliefs none.json")["status"], "unsatisfiable");
}

TEST_F(DecodeVerb, SumsPast32BitsAreRefusedAsByClingo) {
  write("sum.lp", "{a;b}. d(S) :- S=#sum{2147483647,1:a;2,2:b}.\n");
  write("none.json", "{}");
  const auto refused = run("sum.lp --beliefs none.json");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("2147483649"));
}

TEST_F(DecodeVerb, ManyIndependentAtomsTakeLinearMemory) {
  write("many.lp", "{a(1..30000)}.\n");
  write("none.json", "{}");
  const auto result = run("many.lp --beliefs none.json --models 3 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out);
  EXPECT_EQ(answer["status"], "optimal");
  EXPECT_EQ(answer["models"].size(), 3U);
  EXPECT_LE(answer["nodes"].get<int>(), 8);
  // Four times the atoms take four times the memory; of what grew with their square it would be sixteen.
  const auto peak = [] {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_maxrss;
  };
  const long before = peak();
  write("more.lp", "{a(1..120000)}.\n");
  ASSERT_EQ(run("more.lp --beliefs none.json --models 3 --json").exit_code, 0);
  EXPECT_LT(peak(), 6 * before);
}

// `as2 prob` weighs a guess 1, and so does this: where all other positions have beliefs, the numbers agree.
TEST_F(DecodeVerb, AGuessWithoutBeliefsWeighsOne) {
  write("loop.lp", "{ x }.\na :- not b, x.\nb :- not a, x.\n");
  write("x.json", R"j({"x": {"true": 0.8, "false": 0.2}})j");
  for (const char* method : {"map", "greedy"}) {
    const json answer = decode(std::string("loop.lp --beliefs x.json --method ") + method);
    EXPECT_NEAR(answer["log_probability"].get<double>(), std::log(0.8), 1e-9) << method;
  }
  const json models = decode("loop.lp --beliefs x.json --models 3")["models"];
  double sum = 0;
  for (const json& model : models) sum += std::exp(model["log_probability"].get<double>());
  const auto prob = testing::run_as2(folder_.path(), "prob loop.lp --beliefs x.json --json");
  ASSERT_EQ(prob.exit_code, 0) << prob.err;
  EXPECT_NEAR(std::log(sum), json::parse(prob.out)["log_p_program"].get<double>(), 1e-9);
  write("both.json", R"j({"x": {"true": 0.8, "false": 0.2}, "a": {"true": 0.1, "false": 0.9}})j");
  EXPECT_NEAR(decode("loop.lp --beliefs both.json")["log_probability"].get<double>(), std::log(0.8 * 0.9),
              1e-9);
}

TEST_F(DecodeVerb, APositionPinnedTwiceIsRefused) {
  write("two.lp", "{ d(1..2) } = 1.\n");
  write("none.json", "{}");
  const auto twice = run("two.lp --beliefs none.json --pin 'd(_)=1' --pin 'd(_)=2'");
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.err, HasSubstr("d(_) is pinned twice"));
}

TEST_F(DecodeVerb, GroundingLimitsAreOptions) {
  write("long.lp", "{a}. p(0). p(X+1) :- p(X), X < 100000000.\n");
  write("none.json", "{}");
  const auto slow = run("long.lp --beliefs none.json --grounding-seconds 0.2");
  EXPECT_EQ(slow.exit_code, 1);
  EXPECT_THAT(slow.err, HasSubstr("0.2 s"));
  const auto large = run("long.lp --beliefs none.json --grounding-mib 64");
  EXPECT_EQ(large.exit_code, 1);
  EXPECT_THAT(large.err, HasSubstr("64 MiB"));
  EXPECT_THAT(large.err, HasSubstr("--grounding-mib"));
  write("wide.lp", "{a(1..1000)}.\n");
  const auto wide = run("wide.lp --beliefs none.json --grounding-size 1000");
  EXPECT_EQ(wide.exit_code, 1);
  EXPECT_THAT(wide.err, HasSubstr("together more than 1000"));
  EXPECT_EQ(run("wide.lp --beliefs none.json --grounding-size 10000").exit_code, 0);
}

TEST_F(DecodeVerb, WithoutBeliefsEveryPositionIsUniformAndThatIsSaid) {
  const testing::Finished result = run("pair.lp --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NEAR(json::parse(result.out)["log_probability"].get<double>(), -2 * std::log(3), 1e-9);
  EXPECT_THAT(result.err, HasSubstr("without --beliefs every position is uniform"));
}

TEST_F(DecodeVerb, AConstantThatCannotBeReadIsNamed) {
  for (const std::string constant : {"'n=3 x'", "n=3+", "N=3", "n=X", "'n=\"x'"}) {
    const auto result = run("pair.lp --beliefs beliefs.json -c " + constant);
    EXPECT_EQ(result.exit_code, 1) << constant;
    EXPECT_THAT(result.err, HasSubstr("error: the constant '")) << constant;
    EXPECT_THAT(result.err, HasSubstr("like n=3")) << constant;
  }
}

// Whatever is quoted, and by whomever: CLI11 quotes arguments whole.
TEST_F(DecodeVerb, MessagesStayReadable) {
  const std::string much(100000, 'x');
  for (const std::string& arguments :
       {"pair.lp --method " + much, "pair.lp --pin " + much, "pair.lp --models " + much, "pair.lp -c " + much,
        "pair.lp --" + much, "pair.lp -c 'n=" + much + "('"}) {
    const auto result = run(arguments);
    EXPECT_NE(result.exit_code, 0) << arguments.substr(0, 30);
    EXPECT_LT(result.err.size(), 5000U) << arguments.substr(0, 30);
    EXPECT_GT(result.err.size(), 20U) << arguments.substr(0, 30);
  }
}

TEST_F(DecodeVerb, OptionsBeforeTheProgramTakeOneValueEach) {
  const std::string usual = run("pair.lp --beliefs beliefs.json -c n=3 --json").out;
  EXPECT_THAT(usual, HasSubstr("\"status\""));
  EXPECT_EQ(run("-c n=3 pair.lp --beliefs beliefs.json --json").out, usual);
}

TEST_F(DecodeVerb, AConstantGivenTwiceIsNamed) {
  const auto twice = run("pair.lp --beliefs beliefs.json -c n=3 -c n=4");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("n is given twice: 3 and 4"));
  EXPECT_THAT(run("pair.lp --beliefs beliefs.json -c n=3 -c ' n = 4'").err,
              HasSubstr("given twice: 3 and 4"));
  const auto blanks = run("pair.lp --beliefs beliefs.json -c ' n = 3'");
  EXPECT_EQ(blanks.err, run("pair.lp --beliefs beliefs.json -c n=3").err) << "it occurs in the program";
}

}  // namespace
}  // namespace as2
