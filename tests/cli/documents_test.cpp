// What is one JSON document, in a text and in a stream.
#include "cli/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>
#include <vector>

#include "files.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Each document as "line: text".
std::vector<std::string> all_of(Documents& documents) {
  std::vector<std::string> found;
  while (const auto document = documents.next())
    found.push_back(std::to_string(document->location.line) + ": " + document->text);
  return found;
}
std::vector<std::string> documents_of(const std::string& text) {
  Documents documents(text, "f.json");
  return all_of(documents);
}

TEST(Documents, OneAFileOrOneALine) {
  EXPECT_THAT(documents_of("\n{\n \"a\": 1\n\n}\n\n"), ElementsAre("2: {\n \"a\": 1\n\n}"));
  EXPECT_THAT(documents_of("{\"a\": 1}\n\nnot json\n{\"b\": 2}"),
              ElementsAre("1: {\"a\": 1}", "3: not json", "4: {\"b\": 2}"));
  EXPECT_THROW(documents_of(" \n"), InputError);
  EXPECT_THROW(documents_of(""), InputError);
}

TEST(Documents, OneOverSeveralLinesMayHaveAnObjectOnALine) {
  EXPECT_THAT(documents_of("{\"on\":\n{\"true\": 1}\n}\n"), ElementsAre("1: {\"on\":\n{\"true\": 1}\n}"));
  EXPECT_THAT(documents_of("[1,\n{\"}\": \"]\\\"\"}\n]"), ElementsAre("1: [1,\n{\"}\": \"]\\\"\"}\n]"));
}

TEST(Documents, AByteOrderMarkIsNoPartOfThem) {
  EXPECT_THAT(documents_of("\xEF\xBB\xBF{\n\"on\":\n{\"true\": 1}\n}\n"),
              ElementsAre("1: {\n\"on\":\n{\"true\": 1}\n}"));
}

TEST(Documents, SeveralMayEachStandOverSeveralLines) {
  EXPECT_THAT(documents_of("{\n\"a\": 1\n}\n{\n\"b\": 2\n}\n"),
              ElementsAre("1: {\n\"a\": 1\n}", "4: {\n\"b\": 2\n}"));
}

// A printer that spreads documents over lines writes an empty one on one.
TEST(Documents, AnEmptyOneSaysNothingOfTheOthers) {
  EXPECT_THAT(documents_of("{}\n{\n\"a\": 1\n}\n{ }\n[\n1]\n"),
              ElementsAre("1: {}", "2: {\n\"a\": 1\n}", "5: { }", "6: [\n1]"));
}

TEST(Documents, ABrokenLineStandsForItselfWhereAnotherIsADocument) {
  EXPECT_THAT(documents_of("{\"a\": 1\n{\"b\": 2}\n"), ElementsAre("1: {\"a\": 1", "2: {\"b\": 2}"));
  EXPECT_THAT(documents_of("oops\n\n]\n{\"b\": 2}\n{"),
              ElementsAre("1: oops", "3: ]", "4: {\"b\": 2}", "5: {"));
  EXPECT_THAT(documents_of("{\"a\": \"\n{}\n"), ElementsAre("1: {\"a\": \"", "2: {}"));
  EXPECT_THAT(documents_of("{\"a\":\n{}\n"), ElementsAre("1: {\"a\":", "2: {}"));
  EXPECT_THAT(documents_of("[}\n{}\n"), ElementsAre("1: [}", "2: {}"));
}

TEST(Documents, WhereNoLineIsADocumentTheWholeTextIsABrokenOne) {
  EXPECT_THAT(documents_of("{\n\"a\": oops\n}\n"), ElementsAre("1: {\n\"a\": oops\n}"));
  EXPECT_THAT(documents_of("oops"), ElementsAre("1: oops"));
}

TEST(Documents, KnowWhetherThereIsOnlyOne) {
  Documents alone("{}\n\n", "f.json");
  alone.next();
  EXPECT_TRUE(alone.only_one());
  EXPECT_FALSE(alone.next());
  Documents two("{\n}\n{\"a\":\n1}\n", "f.json");
  two.next();
  EXPECT_FALSE(two.only_one());
  EXPECT_EQ(two.next()->text, "{\"a\":\n1}");
  EXPECT_FALSE(two.only_one());
  EXPECT_FALSE(two.next());
}

TEST(Documents, OfAStreamAreGivenAsTheyArrive) {
  const test::TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream in;
  std::thread opening([&] { in.open(pipe); });
  Documents documents(pipe);
  opening.join();
  EXPECT_TRUE(documents.waits());
  in << "{\"a\": 1}\n{\"b\"" << std::flush;
  EXPECT_FALSE(documents.waits());
  EXPECT_EQ(documents.next()->text, "{\"a\": 1}");
  EXPECT_TRUE(documents.waits());
  EXPECT_FALSE(documents.only_one()) << "who sent it may wait for an answer";
  in << ": 2}\n" << std::flush;
  EXPECT_EQ(documents.next()->text, "{\"b\": 2}");
  in.close();
  EXPECT_FALSE(documents.waits());
  EXPECT_FALSE(documents.next());
}

std::string refusal(const std::string& text) {
  try {
    Documents documents(text, "f.json");
    while (documents.next()) {
    }
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Documents, WithoutAnEndAreRefused) {
  std::string lines = "{\"a\": 1}\n[";
  while (lines.size() < kLargestText + 10) lines += "\n1,";
  EXPECT_EQ(refusal(lines), "accepted") << "one line is a document, so each is to be one";
  lines.erase(0, lines.find('\n') + 1);
  EXPECT_THAT(refusal(lines), HasSubstr("f.json:1: error: is larger than 64 MiB, or has no end"));
  EXPECT_THROW(Documents("/dev/zero").next(), InputError);
  EXPECT_THROW(Documents("/").next(), InputError);
}

}  // namespace
}  // namespace as2::cli
