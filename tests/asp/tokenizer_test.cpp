// Tokens, comments, statements and includes.

#include "asp/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "as2/compile.h"
#include "asp/statements.h"
#include "support/temporary_folder.h"

namespace as2::asp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(const std::string& program) {
  const SourceFile file("p.lp", program);
  std::vector<std::string> result;
  for (const auto& token : tokenize(file).tokens) result.emplace_back(token.text);
  return result;
}

std::vector<std::string> statements(const std::string& program) {
  std::vector<std::string> result;
  const SourceProgram source = read_program_text(program, "p.lp");
  for (const auto& statement : source.statements) result.push_back(statement.text());
  return result;
}

std::string error_of(const std::string& program) {
  try {
    statements(program);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Tokenizer, PunctuationIsTakenAsLongAsItGoes) {
  EXPECT_THAT(texts("a:-X=1..9,Y!=2**3."),
              ElementsAre("a", ":-", "X", "=", "1", "..", "9", ",", "Y", "!=", "2", "**", "3", "."));
  EXPECT_THAT(texts(":~a.[1@2]"), ElementsAre(":~", "a", ".", "[", "1", "@", "2", "]"));
  EXPECT_THAT(texts("#sum+{1}<=_x'A_"), ElementsAre("#sum+", "{", "1", "}", "<=", "_x'A_"));
}

TEST(Tokenizer, StringsHideEverything) {
  EXPECT_THAT(texts(R"(a("x. % y \" :- {").)"), ElementsAre("a", "(", R"("x. % y \" :- {")", ")", "."));
  EXPECT_THAT(texts(R"(a("\\").)"), ElementsAre("a", "(", R"("\\")", ")", "."));
}

TEST(Tokenizer, CommentsNestAndLineCommentsHideTheirClosing) {
  EXPECT_THAT(texts("a. %* x %* y *% z. *% b. % c. %* \nd."), ElementsAre("a", ".", "b", ".", "d", "."));
  EXPECT_THAT(texts("%* x % *%\n a. *%\n b."), ElementsAre("b", "."));
}

TEST(Tokenizer, KindsOfWords) {
  const SourceFile file("p.lp", "a _b 'c X _X _ __ 0x1F 12 #show not");
  const Tokens result = tokenize(file);
  std::vector<Token::Kind> kinds;
  for (const auto& token : result.tokens) kinds.push_back(token.kind);
  using Kind = Token::Kind;
  EXPECT_THAT(kinds, ElementsAre(Kind::kName, Kind::kName, Kind::kName, Kind::kVariable, Kind::kVariable,
                                 Kind::kVariable, Kind::kVariable, Kind::kNumber, Kind::kNumber,
                                 Kind::kDirective, Kind::kName));
}

TEST(Tokenizer, ErrorsAreLocated) {
  EXPECT_THAT(error_of("a.\n b(\"x)."), HasSubstr("p.lp:2:4-8: error: string is not closed"));
  EXPECT_THAT(error_of("a.\n%* b."), HasSubstr("p.lp:2:1-3: error: comment is not closed"));
  EXPECT_THAT(error_of("a.\n  \xC3\xA9."), HasSubstr("p.lp:2:3-4: error: unexpected character"));
  EXPECT_THAT(error_of("#script (lua)\n x"), HasSubstr("p.lp:1:1-8: error: script is not closed"));
  EXPECT_THAT(error_of("a.\nb :-\n c"), HasSubstr("p.lp:2:1-3:3: error: the file ends inside a statement"));
  EXPECT_THAT(error_of(":~ a. [1"), HasSubstr("the file ends inside a statement"));
}

TEST(Tokenizer, LineEndings) {
  EXPECT_THAT(statements("a.\r\nb.\r\n"), ElementsAre("a.", "b."));
}

TEST(Tokenizer, AByteOrderMarkIsRefusedAsByClingo) {
  EXPECT_THAT(error_of("\xEF\xBB\xBF"
                       "a."),
              HasSubstr("byte-order mark"));
}

TEST(Statements, AConstantsTailBelongsToIt) {
  EXPECT_THAT(statements("#const n=2. [default]\n#const m=3. [override] {a(1..n)}."),
              ElementsAre("#const n=2. [default]", "#const m=3. [override]", "{a(1..n)}."));
}

TEST(Statements, SeveralOnALineAndOneOverSeveral) {
  EXPECT_THAT(statements("a. b :- c,\n  d. :~ e. [1@2,x] f. #show."),
              ElementsAre("a.", "b :- c,\n  d.", ":~ e. [1@2,x]", "f.", "#show."));
  EXPECT_THAT(statements("a(1..3). b(\".\")."), ElementsAre("a(1..3).", "b(\".\")."));
}

TEST(Statements, CommentsNameTheStatementBeforeThemOnItsLastLine) {
  const SourceProgram source = read_program_text(
      ":- a. :- b.  %% two %\n:- c,\n % inner\n  d. % four\n:- e.\n% not mine\n:- f. %*f*% :- g.", "p.lp");
  std::vector<std::string> comments;
  for (const auto& statement : source.statements) comments.emplace_back(statement.comment);
  EXPECT_THAT(comments, ElementsAre("", "two %", "four", "", "f", ""));
}

TEST(Statements, IncludesAreExpandedOnceAndRelativeToTheirFile) {
  const test::TemporaryFolder folder;
  folder.put("main.lp", "#include \"sub/one.lp\". m. #include \"sub/one.lp\".");
  folder.put("sub/one.lp", "one. #include \"two.lp\".");
  folder.put("sub/two.lp", "two.\n#include \"../main.lp\".\n#include <one.lp>.");
  const SourceProgram source = read_program({folder / "main.lp"});
  std::vector<std::string> result;
  for (const auto& statement : source.statements) result.push_back(statement.text());
  EXPECT_THAT(result, ElementsAre("one.", "two.", "m."));
  EXPECT_EQ(source.repeated_includes.size(), 3u);
  EXPECT_THAT(source.statements[1].file->name(), HasSubstr("sub/two.lp"));
}

TEST(Statements, IncludesMayBePipes) {
  const test::TemporaryFolder folder;
  folder.put("main.lp", "#include \"pipe.lp\". m.");
  const std::string pipe = folder / "pipe.lp";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writing([&] { std::ofstream(pipe) << "one."; });
  std::vector<std::string> result;
  try {
    const SourceProgram source = read_program({folder / "main.lp"});
    for (const auto& statement : source.statements) result.push_back(statement.text());
  } catch (const InputError& error) {
    result.emplace_back(error.what());
    std::ifstream(pipe).get();  // whoever writes may end
  }
  writing.join();
  EXPECT_THAT(result, ElementsAre("one.", "m."));
}

TEST(Statements, ErrorsNameTheFileTheyAreIn) {
  const test::TemporaryFolder folder;
  folder.put("main.lp", "{a}.\n#include \"part.lp\".\n");
  folder.put("part.lp", "\n\nb :- not c(X).\n");
  folder.put("other.lp", ":- a, ).\n");
  const auto error_with = [&](const std::vector<std::string>& files) -> std::string {
    try {
      ground(files);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_with({folder / "main.lp"}), HasSubstr("part.lp:3:1-15: error: unsafe variables"));
  folder.put("part.lp", "b.");
  EXPECT_THAT(error_with({folder / "main.lp", folder / "other.lp"}),
              HasSubstr("other.lp:1:7-8: error: syntax error"));
  EXPECT_THAT(error_with({folder / "nowhere.lp"}), HasSubstr("nowhere.lp: error: cannot be opened"));
  EXPECT_THAT(error_with({folder / ""}), HasSubstr("found a folder"));
  EXPECT_THAT(error_with({}), HasSubstr("no program file"));
}

}  // namespace
}  // namespace as2::asp
