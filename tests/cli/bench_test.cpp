// `as2 bench` as a user runs it. What it measures is checked inside it, against references, before it is
// timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class BenchVerb : public ::testing::Test {
 protected:
  testing::Finished run(const std::string& arguments) const {
    return testing::run_as2(folder_.str(), "bench " + arguments);
  }
  // The rows of one subject by name; each has its unit, and a target says whether it was met.
  std::map<std::string, double> rows(const std::string& subject) const {
    const auto finished = run(subject + " --json");
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::map<std::string, double> values;
    const Json document = Json::parse(finished.out);
    for (const Json& row : document.at(subject).at("rows")) {
      EXPECT_NE(row.at("unit"), "") << row;
      const bool error = row.at("unit") == "p";  // of a probability: may be none
      EXPECT_GT(row.at("value").get<double>(), error ? -1e-300 : 0) << row;
      EXPECT_EQ(row.contains("target"), row.contains("ok")) << row;
      values[row.at("name")] = row.at("value");
    }
    return values;
  }
  test::TemporaryFolder folder_;
};

TEST_F(BenchVerb, SoftTpBesideLibTorch) {
  const auto values = rows("tp");
  EXPECT_GT(values.at("sudoku, batch 256: LibTorch operations / tuned"), 0);  // 20 on a quiet machine
  EXPECT_LT(values.at("sudoku, batch 256: peak extra memory / beliefs, tuned"), 4);
}

TEST_F(BenchVerb, CircuitsBesideLibTorchAndSoftTp) {
  const auto values = rows("prob");
  EXPECT_GT(values.at("addition, 15 digits, batch 256: LibTorch operations / tuned"), 0);
  EXPECT_LT(values.at("addition, 100 digits against 50: edges"), 2.1);
  EXPECT_GT(values.at("n_queens: circuit"), 92);
  EXPECT_GT(values.at("soft T_P, reachability, every town is reached: greatest error"), 0.01);
}

TEST_F(BenchVerb, TheDecoderBesideClingo) {
  const auto finished = run("decode --json");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("decode: 9x9, 17 clues\n"));
  EXPECT_THAT(finished.err, HasSubstr("decode: clevr n=6, noise\n"));
  const Json decode = Json::parse(finished.out).at("decode");
  EXPECT_GE(decode.at("rows").size(), 5u);
  EXPECT_EQ(decode.at("problems").size(), 26u);
}

TEST_F(BenchVerb, ATableForPeople) {
  const auto finished = run("tp");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("peak extra memory / beliefs, tuned"));
  EXPECT_THAT(finished.out, HasSubstr("ok, at most 4"));
}

TEST_F(BenchVerb, MistakesInUse) {
  EXPECT_EQ(run("nonsense").exit_code, 2);
  const auto mistyped = testing::run_as2(folder_.str(), "bensh tp");
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("no verb 'bensh'; there are: bench, check"));
  EXPECT_EQ(run("tp --device moon").exit_code, 2);
}

}  // namespace
}  // namespace as2::cli
