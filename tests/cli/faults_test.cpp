// A disk that fails, and a process that is killed, at every single write, fsync and rename of a file: what
// was there before is still there whole, or the new one is, and nothing is half-written.
#include "cli/faults.h"

#include "datasets/real_mnist.h"

namespace as2::testing {
namespace {

using ::testing::HasSubstr;

class OneFile : public Faults {
 protected:
  // `arguments` write one file, `name`, below `out`, over an old one.
  void expect_old_or_new(const std::string& arguments, const std::string& name) {
    const Files before = {{name, "what was here before\n"}};
    fill_out(before);
    const std::vector<Fault> faults = faults_of(arguments);
    const std::string whole = files_in(folder_ / "out")[name];
    ASSERT_NE(whole, before.at(name));
    for (const Fault& fault : faults) {
      SCOPED_TRACE(arguments + " with " + fault.text());
      fill_out(before);
      const Finished finished = run(arguments, fault.text());
      Files after = files_in(folder_ / "out");
      const std::string bytes = after[name];
      EXPECT_TRUE(bytes == before.at(name) || bytes == whole);
      if (fault.kill) continue;  // a temporary file may stay behind
      EXPECT_EQ(after.size(), 1u);
      EXPECT_EQ(bytes, before.at(name));
      EXPECT_EQ(finished.exit_code, 4) << finished.err;
      EXPECT_THAT(finished.err, HasSubstr("cannot be written: No space left on device"));
    }
  }
};

TEST_F(OneFile, ACompiledProgram) {
  folder_.put("p.lp", "{a(X,1..2)} = 1 :- X=1..3. :- a(1,V), a(2,V).");
  expect_old_or_new("check p.lp --save out/p.as2c", "p.as2c");
}

TEST_F(OneFile, AListOfBoards) {
  expect_old_or_new("data sudoku --count 600 --box 2 --clues 6-10 --threads 1 --out out/list", "list");
}

TEST_F(OneFile, ASolvedPicture) {
  const std::string picture = std::string(AS2_SOURCE_DIR) + "/examples/board.png";
  expect_old_or_new("solve '" + picture + "' --out out/solved.png", "solved.png");
}

// Several files: each is old or new, and labels.jsonl comes last, so that it never lists a picture that is
// not there.
TEST_F(Faults, ARenderedFolder) {
  AS2_NEED_MNIST();
  folder_.put("boards.txt", "1..4..3..2..4..1\n");
  const std::string arguments = "data render boards.txt --split test --quiet --out out";
  fill_out({});
  const std::vector<Fault> faults = faults_of(arguments);
  const Files whole = files_in(folder_ / "out");
  ASSERT_EQ(whole.size(), 2u);
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.text());
    fill_out({{"board-00000.png", "old"}, {"labels.jsonl", "old"}});
    const Finished finished = run(arguments, fault.text());
    Files after = files_in(folder_ / "out");
    for (const auto& [name, bytes] : whole) EXPECT_TRUE(after[name] == "old" || after[name] == bytes) << name;
    EXPECT_TRUE(after["labels.jsonl"] == "old" || after["board-00000.png"] == whole.at("board-00000.png"));
    if (fault.kill) continue;
    EXPECT_EQ(after.size(), 2u);
    EXPECT_EQ(finished.exit_code, 4) << finished.err;
  }
}

}  // namespace
}  // namespace as2::testing
