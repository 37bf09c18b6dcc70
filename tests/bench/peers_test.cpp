// `as2 bench peers` without its training: a script stands in for as2, and rows are made up. That the real
// program is called as it wants to be is tested in tests/cli.
#include "bench/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "as2/error.h"
#include "files.h"
#include "formats/safetensors.h"
#include "support/temporary_folder.h"
#include "train/config.h"
#include "train/folder_lock.h"

namespace as2::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kAddition = "Addition of two digits, the sum alone known";
const std::string kSmall = "Sudoku of 4 × 4, 4 to 8 clues, networks of that size";

const Peer& peer_of(const std::string& table, const std::string& preset, std::int64_t boards = 0) {
  for (const Peer& peer : peers()) {
    if (peer.table == table && peer.preset == preset && peer.boards == boards) return peer;
  }
  throw std::runtime_error("no such row");
}

// A row as a run of today's list writes it. `course`: the shares that were right at one, two, … seconds.
json row_of(const Peer& peer, int seed, double right, const std::vector<double>& course) {
  json row = {{"table", peer.table},
              {"system", peer.system},
              {"task", peer.task},
              {"preset", peer.preset},
              {"settings", peer.settings},
              {"configuration", configuration_of(peer)},
              {"seed", seed},
              {"minutes", 1},
              {"device", "cuda:0"},
              {"count", 20},
              {"tested_on", ""},
              {"boards", peer.boards},
              {"parameters", 5},
              {"memory", 2e6},
              {"device_memory", 7e6},
              {"ended", "time_budget"},
              {"steps", 300},
              {"seconds", course.size()},
              {"processor_seconds", 9},
              {"curve", json::array()}};
  if (peer.task == "sudoku")
    row["eval"]["given_clues"]["raw"] = {{"cell", right}, {"board", right}, {"csr", right}, {"vcsr", right}};
  else
    row["eval"] = {{"digit_accuracy", right}, {"sum_accuracy", right}};
  for (std::size_t n = 0; n < course.size(); ++n)
    row["curve"].push_back({{"seconds", n + 1}, {"right", course[n]}});
  return row;
}

const Peer& a_nesi() {
  return peer_of(kAddition, "a-nesi");
}

// The line of the document that begins so.
std::string line_of(const std::string& document, const std::string& begin) {
  const std::size_t at = document.find("\n" + begin);
  return at == std::string::npos ? "" : document.substr(at + 1, document.find('\n', at + 1) - at - 1);
}

TEST(PeersDocument, SeedsAreAveragedAndOtherTimesAreAnotherRow) {
  json longer = row_of(a_nesi(), 0, 0.9, {0.9, 0.9, 0.9, 0.9});
  longer["minutes"] = 10;
  const std::string document = peers_document({row_of(a_nesi(), 0, 0.5, {0.1, 0.2, 0.4, 0.5}),
                                               row_of(a_nesi(), 1, 0.7, {0.1, 0.2, 0.6, 0.7}), longer});
  EXPECT_THAT(document,
              HasSubstr("| A-NeSI | `addition` `a-nesi` | 1 minute on cuda:0 | 4 ± 0 | 60.00 ± 14.14 |"));
  EXPECT_THAT(document, HasSubstr("| A-NeSI | `addition` `a-nesi` | 10 minutes on cuda:0 | 4 | 90.00 |"));
  EXPECT_THAT(document, HasSubstr("| GPU memory, MB |"));
  EXPECT_THAT(document, HasSubstr("\n`as2 bench peers --only '" + kAddition +
                                  "' --minutes 1 --device cuda:0 --count 20 --seeds 0,1`\n"));
  EXPECT_THAT(document, HasSubstr("\n`as2 bench peers --only '" + kAddition +
                                  "' --minutes 10 --device cuda:0 --count 20`\n"));
}

TEST(PeersDocument, SecondsToAShareComeFromTheCourseOfTheRun) {
  const std::string row =
      line_of(peers_document({row_of(a_nesi(), 0, 0.97, {0.5, 0.94, 0.951, 0.96})}), "| A-NeSI ");
  EXPECT_THAT(row, HasSubstr("| 97.00 | 97.00 | 3 | – | still learning |"));
}

TEST(PeersDocument, SaysHowARunEnded) {
  const auto ending = [](const json& row) { return line_of(peers_document({row}), "| A-NeSI "); };
  EXPECT_THAT(ending(row_of(a_nesi(), 0, 0.9, {0.1, 0.5, 0.6, 0.7})), HasSubstr("| still learning |"));
  EXPECT_THAT(ending(row_of(a_nesi(), 0, 0.9, {0.1, 0.9, 0.905, 0.9})), HasSubstr("| no longer learning |"));
  json row = row_of(a_nesi(), 0, 0.9, {0.1, 0.5, 0.999});
  row["ended"] = "stop_at";
  EXPECT_THAT(ending(row), HasSubstr("| goal reached |"));
  row = row_of(a_nesi(), 0, 0.9, {0.1});
  EXPECT_THAT(ending(row), HasSubstr("| too few steps to tell |"));
  // Cells get better before any board is right.
  row = row_of(a_nesi(), 0, 0, {0, 0, 0, 0});
  for (int n = 0; n < 4; ++n) row["curve"][static_cast<std::size_t>(n)]["cell"] = 0.1 * n;
  EXPECT_THAT(ending(row), HasSubstr("| still learning |"));
}

TEST(PeersDocument, SaysWhyAPeerFallsShort) {
  const Peer& sat = peer_of("Sudoku of 9 × 9, 31 to 42 clues", "satnet", 9000);
  json slow = row_of(sat, 0, 0, {0, 0});
  slow["steps"] = 6;
  slow["seconds"] = 120;
  const std::string document = peers_document({row_of(a_nesi(), 0, 0.6, {0.2, 0.2, 0.4, 0.6}), slow,
                                               row_of(peer_of(kAddition, "slash"), 0, 0.1, {0.1, 0.1})});
  EXPECT_THAT(document, HasSubstr("- **A-NeSI**: 60.00, published is 97.66 ± 0.21. It took 300 steps in 4 "
                                  "seconds: still learning. Published are 187500 steps"));
  // 22,500 steps at twenty seconds each.
  EXPECT_THAT(document,
              HasSubstr("- **SATNet (learns the rules)**, 9000 boards: 0.00, published is 98.3. It "
                        "took 6 steps in 120 seconds: no longer learning. Published are 22500 steps "
                        "(100 passes over 9,000 boards in batches of 40), which at this speed take "
                        "125 hours."));
  EXPECT_THAT(document, Not(HasSubstr("- **SLASH**: 10.00, published")));  // nothing comparable is published
}

TEST(PeersDocument, SaysWhereAPeerIsBetterThanOurs) {
  const auto small = [](const char* preset, std::int64_t boards, double right) {
    return row_of(peer_of(kSmall, preset, boards), 0, right, {right, right});
  };
  json elsewhere = small("satnet", 100, 0.99);
  elsewhere["device"] = "cpu";
  const std::string document =
      peers_document({small("tiny", 100, 0.9), small("satnet", 1000, 0.95), small("rrn", 100, 0.92),
                      small("recurrent-transformer", 100, 0.85), elsewhere});
  // 200·√((0.9·0.1 + 0.92·0.08)/20); other boards and another device are no comparison.
  EXPECT_THAT(document, HasSubstr("- **AS² (ours; rules as T_P)**, 100 boards: 90.00. Better: RRN (is given "
                                  "who shares a group) 92.00 (± 18.09)."));
  EXPECT_THAT(peers_document({small("tiny", 100, 0.9), small("rrn", 100, 0.9)}), Not(HasSubstr("Better:")));
}

TEST(PeersDocument, MarksWhatWasMeasuredOtherwiseAndDropsNothing) {
  json old = row_of(a_nesi(), 0, 0.6, {0.6});
  for (const char* field : {"configuration", "curve"}) old.erase(field);
  json changed = row_of(peer_of(kAddition, "slash"), 0, 0.5, {0.5, 0.5});
  changed["settings"] = {"data.validation=8"};
  json preset = row_of(peer_of(kAddition, "scallop"), 0, 0.4, {0.4, 0.4});
  preset["configuration"] = "another";
  json gone = row_of(a_nesi(), 0, 0.3, {0.3, 0.3});
  gone["table"] = "A table of old";
  gone["note"] = "It ran twice.";
  const std::string document = peers_document({old, changed, preset, gone});
  EXPECT_THAT(line_of(document, "| A-NeSI † "), HasSubstr("| 60.00 | 60.00 | ? | ? |"));
  EXPECT_THAT(line_of(document, "| SLASH † "), HasSubstr("| 50.00 |"));
  EXPECT_THAT(line_of(document, "| Scallop, k = 3 † "), HasSubstr("| 40.00 |"));
  EXPECT_THAT(document,
              AllOf(HasSubstr("## A table of old\n"), HasSubstr("- **A-NeSI †**, seed 0: It ran twice.")));
  // Nothing is said of them that holds for today's settings.
  EXPECT_THAT(document, AllOf(Not(HasSubstr("published is")), Not(HasSubstr("`as2 bench peers --only"))));
}

TEST(PeersDocument, ListsWhatHasNotBeenRun) {
  const std::string document = peers_document({row_of(a_nesi(), 0, 0.6, {0.6})});
  EXPECT_THAT(document, HasSubstr("\n- Two digits compared, which is greater alone known\n"));
  EXPECT_THAT(document, HasSubstr("\n- " + kAddition + ": NeurASP; DeepProbLog; "));
  EXPECT_THAT(document, HasSubstr("tested on the fewest (needs a GPU)\n"));
  EXPECT_THAT(document, HasSubstr("\n- Sudoku of 9 × 9, 31 to 42 clues\n"));  // SATNet's runs on the CPU
}

TEST(PeersDocument, DecodingHasARowPerMethod) {
  std::vector<json> rows;
  double right = 0.88;
  for (const Peer& peer : peers()) {
    if (peer.model.empty()) continue;
    json row = row_of(peer, 0, 0, {});
    row["minutes"] = 0;
    row["tested_on"] = "generated, 45 clues";
    row["method"] = peer.method;
    row["eval"] = {{"perceived_clues", {{peer.method, {{"board", right += 0.02}, {"cell", 1.0}}}}}};
    for (const char* field : {"curve", "seconds", "steps", "ended"}) row.erase(field);
    rows.push_back(row);
  }
  ASSERT_EQ(rows.size(), 5U);
  const std::string document = peers_document(rows);
  EXPECT_THAT(line_of(document, "| Pipeline: argmax, then clingo "),
              HasSubstr("| nothing trained | generated, 45 clues | 100.00 | 90.00 |"));
  EXPECT_THAT(line_of(document, "| PBCS: joint decoding over perception "),
              AllOf(HasSubstr("| 92.00 |"), HasSubstr("| 99.4 | quoted by the AS² paper; not confirmed |")));
  EXPECT_THAT(document.substr(document.find("## Decoding")), Not(HasSubstr("s to 95 %")));
  EXPECT_THAT(document,
              HasSubstr("`as2 bench peers --only 'Decoding, clues read from pictures' --count 20`"));
}

TEST(PeersPicture, HasADotForEveryRowAndARingForWhatIsPublished) {
  json longer = row_of(a_nesi(), 0, 0.9, {0.9, 0.9});
  longer["minutes"] = 10;
  const std::string picture = peers_picture({row_of(a_nesi(), 0, 0.6, {0.1, 0.2, 0.6}), longer,
                                             row_of(peer_of(kAddition, "slash"), 0, 0.1, {0.1, 0.1})});
  EXPECT_THAT(picture,
              AllOf(HasSubstr("<svg"), HasSubstr(">A-NeSI<"), HasSubstr(">A-NeSI, 10 minutes on cuda:0<"),
                    HasSubstr(">60.0<"), HasSubstr("</svg>")));
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = picture.find(part); at != std::string::npos; at = picture.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("r='4'"), 3U);  // dots
  EXPECT_EQ(count("r='5'"), 2U);  // rings
  EXPECT_EQ(count("fill-opacity"), 1U) << "one was still learning";
}

TEST(PeersList, EveryFigureHasASource) {
  for (const Peer& peer : peers()) {
    const Published& published = peer.published;
    EXPECT_EQ(published.percent.empty(), published.source.empty()) << title_of(peer);
    if (!published.percent.empty()) {
      EXPECT_GT(std::stod(published.percent), 50) << title_of(peer);
    }
    EXPECT_EQ(peer.minutes > 0, peer.model.empty()) << title_of(peer);
  }
}

TEST(PeersList, EveryRowCanBeTrained) {
  for (const Peer& peer : peers()) {
    if (!peer.model.empty()) continue;
    EXPECT_NO_THROW({
      task::Settings settings = task::layered_settings(peer.task, peer.preset, peer.settings);
      const train::Config config = train::read_config(settings);
      train::read_model(settings, config.images.positions.empty() ? 0 : 10);
      settings.refuse_unused();
    }) << title_of(peer);
  }
}

TEST(PeersList, EverySizeOfBoardIsLearntFromTheSameNumbers) {
  for (const std::string& table : {kSmall, std::string("Sudoku of 9 × 9, 31 to 42 clues")}) {
    std::map<std::string, std::set<std::int64_t>> boards;
    for (const Peer& peer : peers()) {
      if (peer.table == table) boards[peer.system].insert(peer.boards);
    }
    EXPECT_EQ(boards.size(), 5U);
    for (const auto& [system, numbers] : boards)
      EXPECT_EQ(numbers, (std::set<std::int64_t>{100, 1000, 9000})) << system;
  }
}

TEST(PeersList, AConfigurationIsWhatDecidesTheResult) {
  Peer peer = a_nesi();
  const std::string before = configuration_of(peer);
  peer.system = "another name";
  EXPECT_EQ(configuration_of(peer), before);
  peer.settings = {"data.validation=257"};
  EXPECT_NE(configuration_of(peer), before);
  peer = a_nesi();
  peer.preset = "slash";
  EXPECT_NE(configuration_of(peer), before);
}

// A script in place of as2: it notes what it is asked for, and answers as `as2 train` and `as2 eval` do.
class PeerRuns : public ::testing::Test {
 protected:
  PeerRuns() {
    formats::SafeTensorFile file;
    file.tensors.push_back({"weight", formats::Dtype::kF32, {2, 3}, std::vector<std::byte>(24)});
    formats::write_safetensors(folder_ / "weights", file);
    folder_.put("metrics", R"({"step": 1, "seconds": 0.5, "loss": 1}
{"step": 2, "seconds": 1, "validation": {"perceived": {"exact": 0.5, "likelihood": 0.4}, "score": 0.4}}
{"step": 4, "seconds": 2, "validation": {"perceived": {"exact": 0.96, "likelihood": 0.9}, "score": 0.9}}
)");
    folder_.put("trained", R"({"runs": [{"ended": "time_budget", "steps": 4, "seconds": 2.5, "memory": 1e6,
      "device_memory": null, "score": 0.9}]})");
    folder_.put("evaluated", R"({"sum_accuracy": 0.75, "digit_accuracy": 0.8, "model": "/somewhere",
      "perceived_clues": {"pipeline": {"board": 0.9}, "perception_map": {"board": 1},
                        "unique_map": {"board": 1}, "raw": {"board": 0.5}, "map": {"board": 1}}})");
    options_.program = folder_.put_program("as2", R"(cd ')" + folder_.str() + R"('
echo "$*" >>asked
case $1 in
train)
  while [ "$1" != --out ]; do shift; done
  mkdir -p "$2" && cp weights "$2/model.safetensors" && cp metrics "$2/metrics.jsonl" && cat trained;;
eval) cat evaluated;;
esac)");
    options_.out = folder_ / "rows.jsonl";
    options_.seeds = {0};
    options_.only = {"(addition, slash)"};
    options_.report = [this](const std::string& text) { said_ += text + "\n"; };
  }
  // What the script was asked for, one line each.
  std::vector<std::string> asked() const {
    std::vector<std::string> lines;
    std::ifstream in(folder_ / "asked");
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  test::TemporaryFolder folder_;
  PeerOptions options_;
  std::string said_;
};

TEST_F(PeerRuns, AreMadeOnceAndWrittenDown) {
  EXPECT_EQ(run_peers(options_), 0);
  ASSERT_EQ(asked().size(), 2U);
  EXPECT_THAT(asked()[0], AllOf(HasSubstr("train addition --preset slash --seed 0 --device cpu "),
                                HasSubstr(" --time-budget 90.0 "), HasSubstr("train.validate_seconds=4.5"),
                                HasSubstr("--set data.validation=256")));
  EXPECT_THAT(asked()[1], HasSubstr("eval addition --model " + options_.out + ".run/"));
  const std::vector<json> rows = read_peer_rows(options_.out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["minutes"], 1.5);  // the table's own
  EXPECT_EQ(rows[0]["parameters"], 6);
  EXPECT_EQ(rows[0]["seconds"], 2.5);
  EXPECT_EQ(rows[0]["configuration"], configuration_of(peer_of(kAddition, "slash")));
  EXPECT_EQ(rows[0]["curve"],
            json::parse(R"([{"seconds": 1, "right": 0.5}, {"seconds": 2, "right": 0.96}])"));
  EXPECT_FALSE(rows[0]["eval"].contains("model"));
  EXPECT_FALSE(fs::exists(options_.out + ".run"));

  EXPECT_EQ(run_peers(options_), 0);
  EXPECT_EQ(asked().size(), 2U);
  EXPECT_THAT(said_, HasSubstr("SLASH (addition, slash), seed 0: already there"));
  options_.minutes = 3;
  EXPECT_EQ(run_peers(options_), 0);
  EXPECT_EQ(read_peer_rows(options_.out).size(), 2U) << "another time is another run";
}

TEST_F(PeerRuns, AreRepeatedWhereTheirSettingsHaveChanged) {
  EXPECT_EQ(run_peers(options_), 0);
  json old = read_peer_rows(options_.out)[0], other = old;
  old["configuration"] = "of another preset";
  other["seed"] = 5;
  other["note"] = "A person's remark.";
  const std::string kept = "{ " + other.dump().substr(1);  // as a person leaves it
  write_file(options_.out, kept + "\n" + old.dump() + "\n");
  EXPECT_EQ(run_peers(options_), 0);
  EXPECT_EQ(asked().size(), 4U);
  const std::string text = read_file(options_.out);
  EXPECT_THAT(text, ::testing::StartsWith(kept + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("of another preset")));
  EXPECT_EQ(read_peer_rows(options_.out).size(), 2U);
}

TEST_F(PeerRuns, ALineThatWasCutOffIsRunAgain) {
  EXPECT_EQ(run_peers(options_), 0);
  const std::string line = read_file(options_.out);
  write_file(options_.out, line.substr(0, line.size() / 2));
  EXPECT_TRUE(read_peer_rows(options_.out).empty());
  EXPECT_EQ(run_peers(options_), 0);
  EXPECT_EQ(asked().size(), 4U);
  EXPECT_EQ(read_peer_rows(options_.out).size(), 1U);
  // A whole one only lacks its end.
  write_file(options_.out, line.substr(0, line.size() - 1));
  EXPECT_EQ(read_peer_rows(options_.out).size(), 1U);
  // Elsewhere it is a mistake.
  write_file(options_.out, line.substr(0, line.size() / 2) + "\n" + line);
  EXPECT_THROW(read_peer_rows(options_.out), InputError);
}

TEST_F(PeerRuns, DeleteNothingThatTheyDidNotMake) {
  fs::create_directory(options_.out + ".run");
  folder_.put("rows.jsonl.run/mine", "precious");
  EXPECT_EQ(run_peers(options_), 0);
  EXPECT_EQ(read_file(options_.out + ".run/mine"), "precious");
  EXPECT_EQ(std::distance(fs::directory_iterator(options_.out + ".run"), fs::directory_iterator()), 1);
}

TEST_F(PeerRuns, TwoDoNotWriteToTheSameFile) {
  const train::FolderLock other(options_.out + ".run");
  EXPECT_THROW(run_peers(options_), InputError);
  EXPECT_TRUE(asked().empty());
}

TEST_F(PeerRuns, AFullDiskLeavesTheRowsThatWereThere) {
  EXPECT_EQ(run_peers(options_), 0);
  json row = read_peer_rows(options_.out)[0];
  row["note"] = std::string(20000, 'x');
  const std::string before = row.dump() + "\n";
  write_file(options_.out, before);
  options_.only = {"(addition, slash)", "(addition, scallop)"};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit full{16000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_THROW(run_peers(options_), EnvironmentError);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(options_.out), before);
  // What was measured is not lost.
  EXPECT_THAT(said_,
              AllOf(HasSubstr("the row that could not be written: {"), HasSubstr("\"preset\":\"scallop\"")));
  EXPECT_FALSE(fs::exists(options_.out + ".run"));
}

TEST_F(PeerRuns, AFailedRunIsReportedAndTheNextOneMade) {
  options_.only = {"(addition, slash)", "(addition, scallop)"};
  folder_.put("trained", "{}");
  folder_.put_program("as2", "echo no room >&2; exit 4");
  EXPECT_EQ(run_peers(options_), 2);
  EXPECT_THAT(said_,
              AllOf(HasSubstr("(addition, scallop), seed 0: failed."), HasSubstr("ended with 4: no room")));
  EXPECT_TRUE(read_peer_rows(options_.out).empty());
  EXPECT_FALSE(fs::exists(options_.out + ".run"));
}

TEST_F(PeerRuns, WhatNeedsAGpuIsLeftOutUnlessItIsNamed) {
  options_.only.clear();
  EXPECT_EQ(run_peers(options_), 0);
  EXPECT_THAT(said_, HasSubstr("tested on the fewest: left out, for it needs a GPU"));
  std::size_t large = 0;
  for (const json& row : read_peer_rows(options_.out)) {
    if (row["table"].get<std::string>().find("9 × 9") == std::string::npos) continue;
    ++large;
    EXPECT_EQ(row["preset"], "satnet");
    EXPECT_EQ(row["boards"], 9000);
  }
  EXPECT_EQ(large, 1U);
  options_.only = {"(sudoku, rrn, 180000 boards)"};
  EXPECT_EQ(run_peers(options_), 0);
  EXPECT_EQ(read_peer_rows(options_.out).back()["tested_on"], "generated, 17-22 clues");
}

TEST_F(PeerRuns, DecodingTrainsNothing) {
  options_.only = {"Decoding"};
  options_.seeds = {0, 1};
  EXPECT_EQ(run_peers(options_), 0);
  ASSERT_EQ(asked().size(), 1U) << "one evaluation has every way to decode";
  EXPECT_EQ(asked()[0], "eval sudoku --model sudoku-best --clues 45 --count 1000 --pipeline --quiet --json");
  const std::vector<json> rows = read_peer_rows(options_.out);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0]["eval"], json::parse(R"({"perceived_clues": {"pipeline": {"board": 0.9}}})"));
  EXPECT_EQ(rows[0]["minutes"], 0);
  // Without clingo there is no such row.
  write_file(options_.out, "");
  folder_.put("evaluated", "{}");
  EXPECT_EQ(run_peers(options_), 5);
  EXPECT_THAT(said_, HasSubstr("failed. error: `as2 eval` has no row pipeline"));
}

}  // namespace
}  // namespace as2::bench
