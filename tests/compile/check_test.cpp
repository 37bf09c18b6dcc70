// `as2 check` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/temporary_folder.h"

namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code = 0;
  std::string out;
};

// Standard output and exit code; standard error too if `arguments` redirects it.
Outcome check(const std::string& arguments) {
  const std::string command = "cd '" AS2_SOURCE_DIR "/programs' && '" +
                              std::string(std::getenv("AS2_BINARY")) + "' check " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) outcome.out.append(buffer, count);
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

class Check : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("AS2_BINARY") == nullptr) GTEST_SKIP() << "run through ctest";
  }
};

TEST_F(Check, PrintsATable) {
  const Outcome outcome = check("sudoku.lp");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("residual terms  2187\n"));
  EXPECT_THAT(outcome.out, HasSubstr("boxes    sudoku.lp:11  exclusive       9    729\n"));
}

TEST_F(Check, PrintsOneDocument) {
  const Outcome outcome = check("addition.lp -c n=4 --json 2>/dev/null");
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["positions"], 5);
  EXPECT_EQ(document["objectives"], 0);
  EXPECT_EQ(document["families"][0]["kind"], "linear");
  EXPECT_TRUE(document["warnings"].is_array());
}

TEST_F(Check, ReadsStandardInputAndSeveralFiles) {
  const Outcome outcome = check("sudoku.lp - --json <<EOF\ncell(1,1,5).\nEOF\n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["groups"], 28);
}

TEST_F(Check, ShowsGroundPassesAndGroups) {
  EXPECT_THAT(check("addition.lp --show=ground").out, HasSubstr("total(0)"));
  EXPECT_THAT(check("addition.lp --show=passes").out, HasSubstr("== exclusive\n"));
  EXPECT_THAT(check("n_queens.lp --show=groups").out, HasSubstr("at most one of"));
  EXPECT_THAT(check("addition.lp --show=positions").out, HasSubstr("digit(1,_): 0 1 2 3 4 5 6 7 8 9\n"));
  EXPECT_TRUE(nlohmann::json::parse(check("addition.lp --show=passes --json").out)["show"].is_array());
}

TEST_F(Check, ListsPositionsAsAJsonList) {
  const auto show = nlohmann::json::parse(check("sudoku.lp --show positions --json").out)["show"];
  ASSERT_EQ(show.size(), 81U);
  EXPECT_EQ(show[0]["position"], "cell(1,1,_)");
  EXPECT_EQ(show[0]["symbols"].size(), 9U);
}

TEST_F(Check, PrintsADocumentOnAnErrorToo) {
  const Outcome refused = check("no_such_file.lp --json 2>/dev/null");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(nlohmann::json::parse(refused.out)["error"].get<std::string>(), HasSubstr("no_such_file.lp"));
}

TEST_F(Check, SavesWhatNeedsNoGringo) {
  const as2::test::TemporaryFolder folder;
  const std::string saved = folder / "saved.as2c";
  EXPECT_EQ(check("sudoku.lp --save '" + saved + "'").code, 0);
  const Outcome again = check("'" + saved + "' --json");
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(nlohmann::json::parse(again.out)["residual_terms"], 2187);
}

TEST_F(Check, ListsTheGuessesAndWhatMadeThem) {
  const Outcome json = check("- --json <<EOF\n{ x }.\na :- not b, x.\nb :- not a, x.\nEOF\n");
  const auto document = nlohmann::json::parse(json.out);
  ASSERT_EQ(document["guesses"].size(), 1U) << json.out;
  EXPECT_EQ(document["guesses"][0]["atom"], "a");
  EXPECT_EQ(document["guesses"][0]["line"], 2);
  EXPECT_EQ(document["guesses"][0]["reason"], "negation");
  EXPECT_EQ(document["guesses"][0]["cycle"], nlohmann::json({"a", "not b", "not a"}));
  const Outcome text = check("- <<EOF\n{ x }.\na :- not b, x.\nb :- not a, x.\nEOF\n");
  EXPECT_THAT(text.out, HasSubstr("negation: a <- not b <- not a"));
}

// Rows of cells, or boxes of numbers: either statement could declare the positions.
TEST_F(Check, SaysWhichOfTwoChoicesDeclaresThePositions) {
  const std::string cells = "{ at(N,R,C) : N=1..2 } = 1 :- R=1..2, C=1..1.\n";
  const std::string numbers = "{ at(N,R,C) : R=1..2, C=1..1 } = 1 :- N=1..2.\n";
  const Outcome first = check("- --show positions 2>&1 <<EOF\n" + cells + numbers + "EOF\n");
  EXPECT_THAT(first.out, HasSubstr("at(_,1,1): 1 2"));
  EXPECT_THAT(first.out, HasSubstr("could declare the positions too; line 1 comes first and declares them"));
  EXPECT_THAT(first.out, HasSubstr("Put this statement first to have it the other way round."));
  const Outcome second = check("- --show positions 2>&1 <<EOF\n" + numbers + cells + "EOF\n");
  EXPECT_THAT(second.out, HasSubstr("at(1,_,1): 1 2"));
}

TEST_F(Check, AProgramInWhichNothingIsChosenIsAProgram) {
  const Outcome outcome = check("- --json <<EOF\np(1..3).\nq(X) :- p(X), not p(X+1).\nEOF\n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["positions"], 0);
}

TEST_F(Check, AnAssumedExternalIsAPosition) {
  const std::string program = " <<EOF\n#external a.\nb :- a.\nEOF\n";
  EXPECT_EQ(nlohmann::json::parse(check("- --json" + program).out)["positions"], 0);
  EXPECT_EQ(nlohmann::json::parse(check("- --assume a --json" + program).out)["positions"], 1);
  EXPECT_EQ(check("- --assume b --json 2>/dev/null" + program).code, 1);
}

TEST_F(Check, ExitsWithTheDocumentedCodes) {
  EXPECT_EQ(check("no_such_file.lp 2>/dev/null").code, 1);
  EXPECT_EQ(check("2>/dev/null").code, 2);
  EXPECT_EQ(check("sudoku.lp --show=nothing 2>/dev/null").code, 2);
  EXPECT_EQ(check("sudoku.lp -c b 2>/dev/null").code, 2);
  const Outcome refused = check("- 2>&1 <<EOF\na | b.\na :- b.\nb :- a.\nEOF\n");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.out, HasSubstr("error: "));
  EXPECT_THAT(refused.out, HasSubstr("note: "));
}

}  // namespace
