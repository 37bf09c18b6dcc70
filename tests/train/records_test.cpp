// What a run draws and what it writes for TensorBoard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <regex>

#include "files.h"
#include "support/temporary_folder.h"
#include "train/curves.h"
#include "train/event_file.h"

namespace as2::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

TEST(Curves, OnePointIsAPoint) {
  const std::string svg = draw_curves({{"loss", "step", {{"loss", {{12345, 0.5}}}}, true}});
  EXPECT_THAT(svg, HasSubstr("<circle"));
  EXPECT_THAT(svg, Not(HasSubstr("<polyline")));
  // Its axes have that one tick each: nothing is known about any other place.
  EXPECT_THAT(svg, HasSubstr(">12345</text>"));
  EXPECT_THAT(svg, HasSubstr(">0.5</text>"));
  EXPECT_EQ(matches(svg, std::regex("<path")).size(), 1u);
  EXPECT_THAT(draw_curves({{"loss", "step", {{"loss", {{1, 0.5}, {2, 0.4}}}}, true}}),
              HasSubstr("<polyline"));
}

TEST(Curves, AxesEndAtTheData) {
  const std::string svg = draw_curves({{"score", "step", {{"a", {{8, 0.25}, {1000000, 0.75}}}}, false}});
  const auto line = matches(svg, std::regex("points='([0-9.]+),([0-9.]+) ([0-9.]+),([0-9.]+) '"));
  ASSERT_EQ(line.size(), 1u);
  const double left = std::stod(line[0][1]), bottom = std::stod(line[0][2]), right = std::stod(line[0][3]),
               top = std::stod(line[0][4]);
  // The grid's lines run from the first point to the last, and none lies outside the data.
  for (const auto& grid : matches(svg, std::regex("<path d='M([0-9.]+) ([0-9.]+)H([0-9.]+)"))) {
    EXPECT_DOUBLE_EQ(std::stod(grid[1]), left);
    EXPECT_DOUBLE_EQ(std::stod(grid[3]), right);
    EXPECT_LE(std::stod(grid[2]), bottom);
    EXPECT_GE(std::stod(grid[2]), top);
  }
}

TEST(Curves, NoLabelIsCutOff) {
  const std::string svg = draw_curves(
      {{"loss", "step", {{"loss", {{123456, 3.1e-5}, {1000000, 4.4e-5}}}, {"a", {{123456, 1e-5}}}}, true}});
  int labels = 0;
  for (const auto& text :
       matches(svg, std::regex("<text x='([-0-9.]+)'[^>]*?(text-anchor='end')?>([^<]*)<"))) {
    const double x = std::stod(text[1]), width = 6.6 * static_cast<double>(text[3].length());
    const bool ends = text[0].str().find("text-anchor='end'") != std::string::npos;
    const bool centred = text[0].str().find("text-anchor='middle'") != std::string::npos;
    const double begin = ends ? x - width : centred ? x - width / 2 : x;
    EXPECT_GE(begin, 0) << text[3];
    EXPECT_LE(begin + width, 440) << text[3];
    ++labels;
  }
  EXPECT_GT(labels, 8);
}

std::uint64_t little_endian(const std::string& bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int k = 0; k < count; ++k)
    value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes.at(at + static_cast<std::size_t>(k))))
             << (8 * k);
  return value;
}

TEST(EventFile, TheChecksumIsCastagnolis) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

TEST(EventFile, RecordsAsTensorBoardReadsThem) {
  const test::TemporaryFolder folder;
  EventFile file(folder.str());
  file.add({{"step", 300}, {"loss", 0.25}, {"validation", {{"given", {{"cell", 0.5}}}}}, {"best", true}});
  const std::string bytes = read_file(file.path());
  EXPECT_THAT(file.path().filename().string(), ::testing::StartsWith("events.out.tfevents."));
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t length = little_endian(bytes, at, 8);
    const auto checked = [&](const std::string& part, std::size_t where) {
      const std::uint32_t crc = crc32c(part);
      EXPECT_EQ(little_endian(bytes, where, 4), (((crc >> 15) | (crc << 17)) + 0xa282ead8U) & 0xffffffffU);
    };
    checked(bytes.substr(at, 8), at + 8);
    records.push_back(bytes.substr(at + 12, length));
    checked(records.back(), at + 12 + length);
    at += 16 + length;
  }
  ASSERT_EQ(records.size(), 2u);
  // Field 1, a double; then field 3, thirteen characters.
  EXPECT_EQ(records[0][0], '\x09');
  EXPECT_EQ(records[0].substr(9), std::string("\x1a\x0d") + "brain.Event:2");
  // Step 300 is 0xac 0x02. A value is a tag and a float; no value for `best` and `step`.
  const auto value = [](const std::string& tag, float number) {
    std::string bits(4, '\0');
    std::memcpy(bits.data(), &number, 4);
    const std::string inner = std::string("\x0a") + static_cast<char>(tag.size()) + tag + "\x15" + bits;
    return std::string("\x0a") + static_cast<char>(inner.size()) + inner;
  };
  const std::string summary = value("loss", 0.25F) + value("validation/given/cell", 0.5F);
  EXPECT_EQ(records[1].substr(9),
            std::string("\x10\xac\x02\x2a") + static_cast<char>(summary.size()) + summary);
}

}  // namespace
}  // namespace as2::train
