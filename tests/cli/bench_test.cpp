// `as2 bench` as a user runs it. What it measures is checked inside it, against references, before it is
// timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "datasets/real_mnist.h"
#include "files.h"
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

// Both ways, so that neither hides the other.
TEST_F(BenchVerb, BoardsWithTheReasonerAskedWhereNeededAndAlways) {
  AS2_NEED_MNIST();
  const auto finished = run("solve --json");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json document = Json::parse(finished.out);
  std::vector<double> asked;
  for (const Json& row : document.at("solve").at("rows")) {
    if (row.at("name") == "  boards for which it was asked") asked.push_back(row.at("value"));
  }
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_LT(asked[0], 10);
  EXPECT_EQ(asked[1], 100);
}

TEST_F(BenchVerb, ATableForPeople) {
  const auto finished = run("tp");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("peak extra memory / beliefs, tuned"));
  EXPECT_THAT(finished.out, HasSubstr("ok, at most 4"));
}

TEST_F(BenchVerb, WithoutFontsPhotosAreSkippedAndHandwritingIsRead) {
  AS2_NEED_MNIST();
  std::filesystem::create_directory(folder_ / "fonts");
  const auto finished = run("photos --fonts fonts --json");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json photos = Json::parse(finished.out).at("photos");
  EXPECT_THAT(photos.at("skipped"), HasSubstr("fonts: error: has typefaces of 0 families"));
  ASSERT_EQ(photos.at("rows").size(), 3U);
  EXPECT_THAT(photos["rows"][0].at("name"), HasSubstr("MNIST's test digits"));
  EXPECT_GT(photos["rows"][0].at("value").get<double>(), 99.6);

  const auto useless = run("tp --fonts fonts");
  EXPECT_EQ(useless.exit_code, 2);
  EXPECT_THAT(useless.err, HasSubstr("--fonts is for photos"));
  EXPECT_EQ(run("photos --fonts nowhere").exit_code, 2);
}

TEST_F(BenchVerb, PeersAreTrainedOnceAndTabulated) {
  AS2_NEED_MNIST();
  const std::string command = "peers --minutes 0.05 --count 20 --out rows.jsonl --only '(addition, slash)'";
  const auto first = run(command);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string lines = read_file(folder_ / "rows.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
  const Json row = Json::parse(lines);
  EXPECT_EQ(row.at("system"), "SLASH");
  EXPECT_EQ(row.at("eval").at("examples"), 20);
  EXPECT_EQ(row.at("device"), "cpu") << "what `auto` stood for, or was given";
  EXPECT_TRUE(row.at("device_memory").is_null());
  // One measure, whatever the loss: SLASH's checkpoints are picked by the likelihood.
  ASSERT_FALSE(row.at("curve").empty());
  for (const Json& point : row.at("curve")) {
    EXPECT_GE(point.at("right").get<double>(), 0);
    EXPECT_LE(point.at("right").get<double>(), 1);
    EXPECT_GT(point.at("seconds").get<double>(), 0);
  }
  for (const char* field : {"parameters", "memory", "steps", "processor_seconds"})
    EXPECT_GT(row.at(field).get<double>(), 0) << field;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "rows.jsonl.run"));

  const auto again = run(command);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("already there"));
  EXPECT_EQ(read_file(folder_ / "rows.jsonl"), lines);
  EXPECT_EQ(run("peers --table rows.jsonl").out, first.out);
  EXPECT_THAT(first.out, HasSubstr("| SLASH | `addition` `slash` | "));
}

TEST_F(BenchVerb, EveryPeerHasAPreset) {
  const auto listed = run("peers --list");
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out,
              HasSubstr("tested on the fewest: RRN (is given who shares a group) (sudoku, rrn, "));
  std::set<std::string> presets;
  std::stringstream lines(listed.out);
  for (std::string line; std::getline(lines, line);) {
    std::stringstream place(line.substr(line.rfind('(') + 1, line.rfind(')') - line.rfind('(') - 1));
    std::string task, preset;
    std::getline(place, task, ',');
    std::getline(place, preset, ',');
    preset = preset.substr(1);
    presets.insert(preset);
    const std::filesystem::path tasks = AS2_SOURCE_DIR "/tasks";
    EXPECT_TRUE(std::filesystem::exists(tasks / task / (preset + ".toml")) ||
                std::filesystem::exists(tasks / "peers" / (preset + ".toml")))
        << line;
  }
  for (const char* preset :
       {"neurasp", "deepproblog", "scallop", "scallop-10", "slash", "semantic-loss", "ltn", "ltn-goedel",
        "ltn-lukasiewicz", "a-nesi", "rrn", "satnet", "recurrent-transformer", "paper", "best", "sum-only"})
    EXPECT_EQ(presets.count(preset), 1U) << preset;
}

TEST_F(BenchVerb, TheDocumentOfPeersIsMadeFromItsRows) {
  const std::string docs = AS2_SOURCE_DIR "/docs/";
  EXPECT_EQ(run("peers --table " + docs + "peers.jsonl").out, read_file(docs + "PEERS.md"));
  EXPECT_EQ(run("peers --picture " + docs + "peers.jsonl").out, read_file(docs + "peers.svg"));
}

TEST_F(BenchVerb, PeersRefuseWhatMakesNoSense) {
  write_file(folder_ / "boards.txt", "");
  const auto idle = run("peers --only '(addition, slash)' --boards boards.txt --out none.jsonl");
  EXPECT_EQ(idle.exit_code, 1);
  EXPECT_THAT(idle.err, HasSubstr("--boards has no effect"));
  EXPECT_EQ(run("peers --table boards.txt --picture boards.txt").exit_code, 2);
  for (const char* idle_option : {"--only nobody", "--minutes 3", "--seeds 1", "--device cpu",
                                  "--boards boards.txt", "--count 5", "--out o"}) {
    const auto unused = run(std::string("peers --table boards.txt ") + idle_option);
    EXPECT_EQ(unused.exit_code, 2) << idle_option;
    EXPECT_THAT(unused.err, HasSubstr("excludes")) << idle_option;
  }
  EXPECT_EQ(run("peers --picture boards.txt --only nobody").exit_code, 2);
  EXPECT_EQ(run("peers --picture boards.txt --seeds 1").exit_code, 2);
  EXPECT_EQ(run("peers --list --seeds 1").exit_code, 2);
  EXPECT_EQ(run("peers --only nobody --out none.jsonl").exit_code, 1);
  EXPECT_EQ(run("peers --list --only nobody").exit_code, 1);
  EXPECT_THAT(run("peers --list --only '(addition, slash)'").out,
              ::testing::EndsWith("SLASH (addition, slash)\n"));
  EXPECT_EQ(run("peers --only '(addition, slash)' --out /").exit_code, 4) << "before the first run";
  EXPECT_EQ(run("peers --only '(addition, slash)' --out /dev/full").exit_code, 4) << "and rows are read back";
  EXPECT_EQ(run("peers --only '(addition, slash)' --out nowhere/rows.jsonl").exit_code, 1);
  EXPECT_EQ(run("peers --seeds x").exit_code, 2);
  EXPECT_EQ(run("peers --device moon").exit_code, 2);
  EXPECT_EQ(run("peers --minutes 0").exit_code, 2);
  write_file(folder_ / "broken.jsonl", "{}\n");
  const auto broken = run("peers --table broken.jsonl");
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.err, HasSubstr("broken.jsonl:1"));
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
