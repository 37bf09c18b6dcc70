#include "files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>

#include "as2/error.h"
#include "share_work.h"
#include "support/temporary_folder.h"
#include "text.h"

namespace as2 {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// What a user gave may be a hundred megabytes long; a message that quotes it is not.
TEST(Messages, NoLineIsTooLongToBeRead) {
  const std::string name(10'000'000, 'x');
  EXPECT_EQ(in_quotes(name).size(), 100 + std::string("''…").size());
  const std::string said =
      InputError({"p.lp", 3}, "there is no `" + name + "` here", {"did you mean `" + name + "`?"}).what();
  EXPECT_LT(said.size(), 5000U);
  EXPECT_THAT(said, AllOf(HasSubstr("p.lp:3: error: there is no `xxx"), HasSubstr("xxx` here\nnote: did you"),
                          HasSubstr("xxx`?"), HasSubstr(" … ")));
  // Characters are not cut.
  std::string umlauts;
  for (int k = 0; k < 3000; ++k) umlauts += "ü";
  EXPECT_EQ(as_utf8(readable("a" + umlauts)), readable("a" + umlauts));
  EXPECT_EQ(as_utf8(readable(umlauts)), readable(umlauts));
}

TEST(Messages, DoNotEndAtANul) {
  EXPECT_STREQ(InputError({"p.lp", 3}, "unexpected `" + std::string(1, '\0') + "`", {"leave it out"}).what(),
               "p.lp:3: error: unexpected `\\0`\nnote: leave it out");
}

TEST(Terms, AreSplitOutsideParenthesesAndQuotes) {
  EXPECT_THAT(split_terms(R"( a(1,2) , "x,\",y",{b,...} ,, c)", ","),
              testing::ElementsAre("a(1,2)", R"("x,\",y")", "{b,...}", "", "c"));
  EXPECT_THAT(split_terms("", ","), testing::ElementsAre(""));
  EXPECT_THAT(split_terms(R"("a\\",b)", ","), testing::ElementsAre(R"("a\\")", "b"));
}

TEST(Terms, AreComparedAsPrinted) {
  EXPECT_EQ(as_printed(" p ( a,\tb ,-\n1 )\r\n"), "p(a,b,-1)");
  EXPECT_EQ(as_printed(R"(p( "a  b", "\" ,", "\\" , c ))"), R"(p("a  b","\" ,","\\",c))");
  EXPECT_EQ(as_printed("not  p( a b )"), "not p(a b)");
  EXPECT_EQ(as_printed("p(*, _)"), "p(*,_)");
  EXPECT_EQ(as_printed("\" open "), "\" open ");
  EXPECT_EQ(as_printed("  "), "");
}

TEST(ShareWork, EveryThreadWorksAndAFailureIsThrown) {
  std::atomic<int> next{0}, done{0};
  share_work(4, [&] {
    while (next++ < 1000) ++done;
  });
  EXPECT_EQ(done, 1000);
  EXPECT_THROW(share_work(3, [] { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST(WriteFile, KeepsModeAndLink) {
  const test::TemporaryFolder folder;
  folder.put("file", "old");
  ASSERT_EQ(chmod((folder / "file").c_str(), 0640), 0);
  fs::create_symlink("file", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_EQ(read_file(folder / "file"), "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(fs::status(folder / "file").permissions(), fs::perms(0640));
  EXPECT_EQ(folder.entries(), 2);
  // A link to nothing: the file it names is made.
  fs::create_symlink("made", folder / "dangling");
  write_file(folder / "dangling", "here");
  EXPECT_EQ(read_file(folder / "made"), "here");
}

TEST(WriteFile, LeavesNothingBehindWhenWritingThrows) {
  const test::TemporaryFolder folder;
  folder.put("file", "old");
  EXPECT_THROW(write_file(folder / "file", [](std::ostream&) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(read_file(folder / "file"), "old");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteFile, WritesMoreThanItsBuffer) {
  const test::TemporaryFolder folder;
  std::string bytes;
  for (int k = 0; k < 100000; ++k) bytes += std::to_string(k);
  write_file(folder / "file", bytes);
  EXPECT_EQ(read_file(folder / "file"), bytes);
  write_file(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "empty"), "");
}

TEST(WriteFile, SaysWhoIsAtFault) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(write_file(folder / "no/such/folder", "x"), InputError);
  EXPECT_THROW(write_file(folder.str(), "x"), InputError);
  EXPECT_THROW(write_file("/dev/full", "x"), EnvironmentError);
  EXPECT_THROW(read_file(folder / "missing"), InputError);
  EXPECT_THROW(read_file(folder.str()), InputError);
  fs::create_symlink("round", folder / "round");
  EXPECT_THROW(write_file(folder / "round", "x"), InputError);
  try {
    throw_file_error("a/b", "cannot be written", ENOSPC);
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("a/b: error: cannot be written: No space left on device\nnote: make room"));
  }
}

TEST(RefuseToOverwrite, KnowsAFileByAnyName) {
  const test::TemporaryFolder folder;
  const std::string file = folder.put("file", "x"), other = folder.put("other", "y");
  fs::create_hard_link(file, folder / "twin");
  EXPECT_THROW(refuse_to_overwrite({other, file}, file), InputError);
  EXPECT_THROW(refuse_to_overwrite({file}, folder / "twin"), InputError);
  EXPECT_THROW(refuse_to_overwrite({file}, folder.str() + "/./file"), InputError);
  EXPECT_NO_THROW(refuse_to_overwrite({"-", file}, other));
  EXPECT_NO_THROW(refuse_to_overwrite({file}, folder / "new"));
  EXPECT_NO_THROW(refuse_to_overwrite({file}, "-"));
  EXPECT_NO_THROW(refuse_to_overwrite({"/dev/null"}, "/dev/null"));
}

}  // namespace
}  // namespace as2
