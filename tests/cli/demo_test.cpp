// `as2 demo`, small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "datasets/real_mnist.h"
#include "formats/image.h"
#include "sudoku/board.h"
#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(DemoVerb, ShowsBoardsAndBothTables) {
  AS2_NEED_MNIST();
  const test::TemporaryFolder folder;
  const Finished finished = testing::run_as2(folder.str(), "demo --boards 5");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Board 1\n"));
  EXPECT_THAT(finished.out, HasSubstr("the first of the list on which perception misreads a digit"));
  EXPECT_THAT(finished.out, HasSubstr("* corrected: row "));
  EXPECT_THAT(finished.out, HasSubstr("clingo: "));
  EXPECT_THAT(finished.out, HasSubstr("paper: raw argmax"));
  EXPECT_THAT(finished.out, HasSubstr("95.60"));
  EXPECT_THAT(finished.out, HasSubstr("ours, clues perceived: map"));
  EXPECT_THAT(finished.out, HasSubstr("MNIST Addition"));
  EXPECT_THAT(finished.out, HasSubstr("N = 8, paper"));
  EXPECT_EQ(finished.out.find('\033'), std::string::npos) << "colours belong on a terminal";
  const formats::Image picture = formats::read_image(folder / "demo.png");
  EXPECT_GT(picture.width, 1000);
  EXPECT_GT(picture.height, 1500);
}

TEST(DemoVerb, JsonIsOneDocument) {
  AS2_NEED_MNIST();
  const test::TemporaryFolder folder;
  const Finished finished = testing::run_as2(folder.str(), "demo --boards 2 --json --quiet --out boards.png");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const Json demo = Json::parse(finished.out);
  ASSERT_EQ(demo["boards"].size(), 3u);
  EXPECT_EQ(demo["boards"][2]["misread"], true);
  EXPECT_FALSE(demo["boards"][2]["changed"].empty());
  for (const Json& board : demo["boards"]) {
    sudoku::Grid grid;
    for (int cell = 0; cell < 81; ++cell) {
      const std::string name =
          "cell(" + std::to_string(cell / 9 + 1) + "," + std::to_string(cell % 9 + 1) + ",_)";
      grid.push_back(static_cast<std::uint8_t>(std::stoi(board["assignment"][name].get<std::string>())));
    }
    EXPECT_TRUE(sudoku::is_solved(grid));
    EXPECT_NE(board["valid"], false);
  }
  EXPECT_EQ(demo["sudoku"]["paper"]["greedy"]["board"], 1.0);
  EXPECT_EQ(demo["sudoku"]["ours"]["boards"], 2);
  EXPECT_EQ(demo["sudoku"]["ours"]["perceived_clues"]["map"]["csr"], 1.0);
  EXPECT_EQ(demo["addition"].size(), 3u);
  EXPECT_NEAR(demo["addition"][0]["paper"]["sum_accuracy"].get<double>(), 0.9945, 1e-9);
  EXPECT_TRUE(std::filesystem::exists(folder / "boards.png"));
}

}  // namespace
}  // namespace as2::cli
