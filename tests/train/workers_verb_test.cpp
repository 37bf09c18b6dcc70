// `as2 train --workers N` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "support/run_as2.h"
#include "support/running_as2.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Finished;
using ::testing::HasSubstr;
using testing::RunningAs2;

const std::vector<std::string> kSmall = {"train",    "sudoku",
                                         "--preset", "tiny",
                                         "--batch",  "32",
                                         "--out",    "run",
                                         "--set",    "data.train=256",
                                         "--set",    "data.validation=64",
                                         "--set",    "train.stop_at=2",
                                         "--set",    "model.reasoner.width=16",
                                         "--set",    "model.reasoner.passes=3"};

class WorkersVerb : public ::testing::Test {
 protected:
  static std::vector<std::string> small(const std::vector<std::string>& more) {
    std::vector<std::string> words = kSmall;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Finished run(const std::vector<std::string>& words) const {
    std::string line;
    for (const std::string& word : words) line += "'" + word + "' ";
    return testing::run_as2(folder_.str(), line);
  }

  test::TemporaryFolder folder_;
};

// The process's children in the order they were started.
std::vector<pid_t> children_of(pid_t parent) {
  const std::string id = std::to_string(parent);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_F(WorkersVerb, OneRunFolderAndOneDocument) {
  const Finished finished = run(small({"--workers", "2", "--epochs", "2", "--json"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const json result = json::parse(finished.out)["runs"][0];  // throws on anything before or after it
  EXPECT_EQ(result["workers"], 2);
  EXPECT_EQ(result["backend"], "gloo");
  EXPECT_EQ(result["steps"], 16);
  EXPECT_EQ(count(finished.err, "epoch 2 "), 1U) << finished.err;
  EXPECT_EQ(count(finished.err, "done, all epochs trained: run"), 1U) << finished.err;
  const std::string metrics = read_file(fs::path(folder_.str()) / "run/metrics.jsonl");
  EXPECT_EQ(count(metrics, "\n"), 2U);
  std::set<std::string> made;
  for (const auto& entry : fs::directory_iterator(folder_.str())) {
    const std::string name = entry.path().filename().string();
    if (name[0] != '.') made.insert(name);
  }
  EXPECT_EQ(made, std::set<std::string>{"run"});
}

TEST_F(WorkersVerb, AKilledWorkerEndsTheRunAndIsNamed) {
  RunningAs2 training(folder_.str(), small({"--workers", "2", "--epochs", "20000"}), /*terminal=*/false);
  ASSERT_TRUE(training.wait_for("epoch 1 "));
  const std::vector<pid_t> workers = children_of(training.pid());
  ASSERT_EQ(workers.size(), 2U);
  kill(workers[1], SIGKILL);
  const Finished finished = training.finish();
  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, HasSubstr("error: rank 1 of 2 workers was ended by signal 9 (Killed)"));
  EXPECT_THAT(finished.err, HasSubstr("--resume FOLDER"));
  EXPECT_NE(kill(workers[0], 0), 0) << "rank 0 lives on";
}

TEST_F(WorkersVerb, ControlCStopsAllAndOneProcessGoesOn) {
  RunningAs2 training(folder_.str(), small({"--workers", "2", "--epochs", "20000", "--json"}),
                      /*terminal=*/true);
  ASSERT_TRUE(training.wait_for("epoch 1 "));
  training.press_control_c();
  const Finished stopped = training.finish();
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("stopped; continue with: as2 train --resume run"));
  const json result = json::parse(stopped.out)["runs"][0];
  EXPECT_EQ(result["interrupted"], true);
  const std::int64_t epochs = result["steps"].get<std::int64_t>() / 8 + 1;
  const Finished resumed = run({"train", "--resume", "run", "--epochs", std::to_string(epochs), "--json"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(json::parse(resumed.out)["runs"][0]["steps"], 8 * epochs);
}

TEST_F(WorkersVerb, MistakesAreSaidOnce) {
  const Finished uneven = run(small({"--workers", "3"}));
  EXPECT_EQ(uneven.exit_code, 1);
  EXPECT_EQ(count(uneven.err, "train.batch = 32 cannot be shared evenly by 3 workers"), 1U) << uneven.err;
  EXPECT_THAT(uneven.err, HasSubstr("rank 0 of 3 workers ended with exit code 1"));
  EXPECT_EQ(run(small({"--workers", "0"})).exit_code, 2);
  setenv("RANK", "0", 1);
  const Finished half = run(small({}));
  EXPECT_EQ(half.exit_code, 1);
  EXPECT_THAT(half.err, HasSubstr("WORLD_SIZE is not set"));
  const Finished both = run(small({"--workers", "2"}));
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("a launcher has started this one already"));
  unsetenv("RANK");
}

}  // namespace
}  // namespace as2::cli
