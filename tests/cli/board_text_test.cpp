// What is said of a board whose clues as read have several solutions.
#include "cli/board_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "as2/compile.h"

namespace as2::cli {
namespace {

using infer::Answer;
using ::testing::HasSubstr;

// Sees 1 with probability 0.5, 2 with 0.3 and 3 with 0.2.
class Unsure : public infer::Perceiver {
 public:
  std::vector<std::vector<double>> perceive(const std::vector<const infer::Picture*>& pictures) override {
    return std::vector<std::vector<double>>(pictures.size(), {0.5, 0.3, 0.2});
  }
};

// Four cells, of which the first has a picture and the last has 2 or 3.
const std::string kCells =
    "{ cell(1,C,S) : S=1..3 } = 1 :- C=1..4.\n"
    ":- cell(1,C,S), C=2..3, S!=1.\n"
    ":- cell(1,4,1).\n";
const std::string kTwo = kCells + ":- cell(1,1,3).\n";                     // boards after 1 and after 2
const std::string kOneAfterTwo = kTwo + ":- cell(1,1,2), cell(1,4,2).\n";  // and one board after 2
const std::string kNoneAfterOne = kCells + ":- cell(1,1,1). :- cell(1,1,3), cell(1,4,2).\n";

class BoardText : public ::testing::Test {
 protected:
  void solve(const std::string& program, double misreading = infer::kMisreading) {
    infer::SolverOptions options;
    options.unique = true;
    options.misreading = misreading;
    solver_ = std::make_unique<infer::Solver>(
        std::make_shared<compile::ConstraintProgram>(compile::compile_text(program).program),
        std::make_unique<Unsure>(), nullptr, options);
    answer_ = solver_->solve({{{0, std::vector<std::uint8_t>(28 * 28, 1)}}})[0];
    ASSERT_TRUE(answer_.completable);
    ASSERT_TRUE(answer_.reread);
  }
  std::string text() const { return board_text(*solver_, answer_, {}); }
  nlohmann::ordered_json json() const { return board_json(*solver_, answer_, false); }

  std::unique_ptr<infer::Solver> solver_;
  Answer answer_;
};

TEST_F(BoardText, SaysThatAnotherReadingHasOneSolution) {
  solve(kOneAfterTwo);
  EXPECT_EQ(answer_.assignment()[0], 1);
  EXPECT_THAT(text(), HasSubstr("this is the most probable reading nearby that has only one\n"));
  EXPECT_THAT(text(), HasSubstr("): the digits as read have several solutions\n"));
  EXPECT_EQ(json()["unique"], true);
  EXPECT_EQ(json()["reread"].dump(), R"({"found":true,"rank":2,"readings":2,"complete":true})");
  answer_.reread->complete = false;
  EXPECT_THAT(
      text(),
      HasSubstr("this is the most probable reading nearby found to have only one before time ran out\n"));
}

TEST_F(BoardText, SaysThatNoReadingHasOneOnlyWhereThatIsProved) {
  solve(kTwo);
  EXPECT_THAT(text(),
              HasSubstr("NOT unique: the clues allow other solutions as well, and no reading nearly as "
                        "probable has only one\n"));
  EXPECT_EQ(json()["unique"], false);
  EXPECT_EQ(json()["reread"].dump(), R"({"found":false,"rank":null,"readings":2,"complete":true})");
  answer_.reread->complete = false;
  EXPECT_THAT(text(), HasSubstr(", and no reading with only one was found in time\n"));
  answer_.reread.reset();
  EXPECT_THAT(text(), HasSubstr("the clues allow other solutions as well\n"));
  EXPECT_TRUE(json()["reread"].is_null());
}

// What was read can hardly be 3, by more than a misreading explains, though 3 is not much less likely than 2.
TEST_F(BoardText, AReadingThatIsNoMisreadingIsNotTaken) {
  solve(kNoneAfterOne);
  EXPECT_EQ(answer_.assignment()[0], 2);
  EXPECT_EQ(json()["unique"], true);
  solve(kNoneAfterOne, 0.7);
  EXPECT_EQ(answer_.assignment()[0], 1);
  EXPECT_EQ(json()["unique"], false);
  EXPECT_EQ(json()["reread"]["found"], false);
}

}  // namespace
}  // namespace as2::cli
