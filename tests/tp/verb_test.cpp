// `as2 tp` as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "files.h"
#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::test {
namespace {

class TpVerb : public ::testing::Test {
 protected:
  TpVerb() {
    write("square.lp",
          "{ cell(R,C,V) : V=1..2 } = 1 :- R=1..2, C=1..2.\n"
          ":- cell(R,C1,V), cell(R,C2,V), C1 < C2.  % rows\n"
          ":- cell(R1,C,V), cell(R2,C,V), R1 < R2.  % columns\n");
  }

  void write(const std::string& name, const std::string& text) { write_file(folder_ / name, text); }
  testing::Finished as2(const std::string& arguments) {
    return testing::run_as2(folder_.str(), "tp square.lp " + arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(TpVerb, UniformBeliefsGiveThePapersResidualAndItsGradient) {
  write("uniform.json", "{}");
  const testing::Finished run = as2("--json --reduction sum --beliefs uniform.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto answer = nlohmann::json::parse(run.out);
  const double term = 0.5 * (1 - 0.5);
  EXPECT_NEAR(answer["loss"].get<double>(), 16 * term * term, 1e-15);
  for (const char* family : {"rows", "columns"}) {
    EXPECT_EQ(answer["image"][family]["cell(1,2,_)"]["2"].get<double>(), 0.25);
    EXPECT_EQ(answer["residual"][family]["cell(2,1,_)"]["1"].get<double>(), 0.25);
  }
  // Each p is in two slots (its row's and its column's), and each slot adds (p·q)² twice, where q is the
  // belief in the slot's other member.
  EXPECT_NEAR(answer["gradient"]["cell(1,1,_)"]["1"].get<double>(), 2 * 2 * 2 * 0.5 * 0.25, 1e-15);
  EXPECT_FALSE(answer.contains("refined"));
  const auto mean = nlohmann::json::parse(as2("--json --beliefs uniform.json").out);
  EXPECT_NEAR(mean["loss"].get<double>(), term * term, 1e-15);
}

TEST_F(TpVerb, RefinementFollowsAClueAndLinesAreAnsweredInOrder) {
  write("lines.json",
        "{\"cell(1,1,_)\": {\"1\": 1}}\n"
        "{\"cell(1,1,_)\": {\"7\": 1}}\n"
        "{\"cell(1,1,_)\": {\"1\": 1}, \"cell(1,2,_)\": {\"2\": 1}, \"cell(2,1,_)\": {\"2\": 1}, "
        "\"cell(2,2,_)\": {\"1\": 1}}\n");
  const testing::Finished run = as2("--json --refine 60 --beliefs lines.json");
  EXPECT_EQ(run.exit_code, 1);
  std::istringstream lines(run.out);
  std::string line;
  std::getline(lines, line);
  const auto first = nlohmann::json::parse(line);
  EXPECT_GT(first["refined"]["cell(1,2,_)"]["2"].get<double>(), 0.99);
  EXPECT_GT(first["refined"]["cell(2,2,_)"]["1"].get<double>(), 0.99);
  EXPECT_EQ(first["refined"]["cell(1,1,_)"]["1"].get<double>(), 1);
  std::getline(lines, line);
  EXPECT_TRUE(nlohmann::json::parse(line).contains("error"));
  std::getline(lines, line);
  const auto solved = nlohmann::json::parse(line);
  EXPECT_EQ(solved["loss"].get<double>(), 0);
  EXPECT_EQ(solved["max_residual"].get<double>(), 0);
}

// A residual of 0 means an answer set, also where there is no position or nothing to choose from.
TEST_F(TpVerb, NothingIsChosenOrNothingCanHold) {
  write("none.json", "{}");
  const auto tp = [&](const std::string& program) {
    write("p.lp", program);
    return testing::run_as2(folder_.str(), "tp p.lp --json --refine 2 --beliefs none.json");
  };
  const testing::Finished facts = tp("a. b :- a.\n");
  ASSERT_EQ(facts.exit_code, 0) << facts.err;
  EXPECT_EQ(nlohmann::json::parse(facts.out)["loss"], 0.0);
  const testing::Finished contradiction = tp("a.\n:- a.  % never\n");
  EXPECT_EQ(contradiction.exit_code, 1);
  EXPECT_NE(contradiction.err.find("p.lp:2:1-6: error: `never` is violated"), std::string::npos)
      << contradiction.err;
  const testing::Finished hopeless = tp("{ c(1..2) } = 1.\na.\n:- a.\n");
  ASSERT_EQ(hopeless.exit_code, 0) << hopeless.err;
  EXPECT_EQ(nlohmann::json::parse(hopeless.out)["max_residual"], 0.5);
}

// Copies of a recursive definition grow with the square of its size.
TEST_F(TpVerb, ARecursionTooLargeToCopyIsRefused) {
  write("path.lp", R"(#const n=2000.
{ e(1..n) }.
r(1) :- e(1).
r(X+1) :- r(X), e(X+1).
r(X-1) :- r(X), e(X-1).
:- not r(n). % reached
)");
  const testing::Finished large = testing::run_as2(folder_.path(), "tp path.lp");
  EXPECT_EQ(large.exit_code, 1) << large.err;
  EXPECT_NE(large.err.find("path.lp:6:1-13: error: soft T_P of this program needs more than 4000000 values"),
            std::string::npos)
      << large.err;
  EXPECT_NE(large.err.find("note: "), std::string::npos);
  EXPECT_EQ(testing::run_as2(folder_.path(), "tp path.lp -c n=100").exit_code, 0);
}

TEST_F(TpVerb, MistakesHaveTheirExitCodes) {
  write("uniform.json", "{}");
  write("bad.json", "{\"cell(9,9,_)\": {\"1\": 1}}");
  EXPECT_EQ(as2("").exit_code, 0);  // uniform beliefs
  EXPECT_EQ(as2("--reduction median --beliefs uniform.json").exit_code, 2);
  EXPECT_EQ(as2("--refine -1 --beliefs uniform.json").exit_code, 2);
  EXPECT_EQ(as2("--beliefs bad.json").exit_code, 1);
  EXPECT_EQ(as2("--beliefs missing.json").exit_code, 1);
  const testing::Finished plain = as2("--beliefs uniform.json");
  EXPECT_EQ(plain.exit_code, 0);
  EXPECT_NE(plain.out.find("rows"), std::string::npos);
}

}  // namespace
}  // namespace as2::test
