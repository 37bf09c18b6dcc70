#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/random_program.h"
#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using as2::testing::Finished;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class VerifyVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!as2::testing::have_clingo()) GTEST_SKIP() << "no clingo";
    put("pair.lp", "{ at(X,V) : V=1..k } = 1 :- X=1..2.\n#const k=2.\n:- at(1,V), at(2,V). % different\n");
    put("good.json", "{\"at(1,_)\": \"1\",\n \"at(2,_)\": \"2\"}\n");
    put("many.jsonl",
        "{\"at(1,_)\":\"1\",\"at(2,_)\":\"2\"}\n{\"at(1,_)\":\"1\",\"at(2,_)\":\"9\"}\n"
        "{\"at(1,_)\":\"2\",\"at(2,_)\":\"2\"}\n");
  }

  void put(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Finished run(const std::string& arguments) const {
    return as2::testing::run_as2(folder_, "verify " + arguments);
  }
  // With the file's content from a pipe.
  Finished run_behind_pipe(const std::string& file, const std::string& arguments) const {
    return as2::testing::run_as2(
        folder_, "--version >/dev/null; cat " + file + " | \"$AS2_BINARY\" verify " + arguments);
  }

  const test::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(VerifyVerb, OneDocument) {
  const Finished valid = run("pair.lp --assignment good.json --json");
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_EQ(Json::parse(valid.out), Json::parse(R"({"valid":true,"violated":[]})"));
  EXPECT_EQ(valid.err, "");
  EXPECT_EQ(run("pair.lp --assignment good.json").out, "valid\n");
  EXPECT_EQ(run("pair.lp --assignment - < good.json").out, "valid\n");
}

TEST_F(VerifyVerb, OneALineWithABadOneInItsPlace) {
  const Finished many = run("pair.lp --assignment many.jsonl --json");
  EXPECT_EQ(many.exit_code, 1);
  std::istringstream lines(many.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(Json::parse(line)["valid"], true);
  std::getline(lines, line);
  EXPECT_THAT(Json::parse(line)["error"].get<std::string>(), HasSubstr("many.jsonl:2"));
  std::getline(lines, line);
  EXPECT_EQ(Json::parse(line),
            Json::parse(R"({"valid":false,"violated":[{"family":"different","file":"pair.lp","line":3}]})"));
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(VerifyVerb, ReadsWhatDecodePrints) {
  put("nothing.json", "{}");
  put("answer.json", as2::testing::run_as2(folder_, "decode pair.lp --beliefs nothing.json --json").out);
  EXPECT_EQ(run("pair.lp --assignment answer.json").out, "valid\n");
  put("none.json", R"({"status":"unsatisfiable","assignment":null})");
  const Finished none = run("pair.lp --assignment none.json");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no assignment"));
}

// clingo takes words for options and numbers, and writes a line break in its JSON as it is.
TEST_F(VerifyVerb, AProgramMayHaveAnyName) {
  for (const char* name : {"-n", "7", "--version", "two\nlines.lp", "a \"b\".lp"}) {
    put(name, "{ at(X,V) : V=1..2 } = 1 :- X=1..2.\n");
    const Finished finished = run("--assignment good.json -- '" + std::string(name) + "'");
    EXPECT_EQ(finished.out, "valid\n") << name << ": " << finished.err;
  }
}

TEST_F(VerifyVerb, StringsMayHoldQuotesBackslashesAndTabs) {
  put("strings.lp",
      "{p(\"a\\\"b\"); p(\"x\\\\y\"); p(\"n\\nn\"); p(\"end\\\\\"); p(\"tab\t,x\")}.\n"
      ":- not p(\"a\\\"b\"). :- not p(\"x\\\\y\"). :- not p(\"n\\nn\"). :- not p(\"tab\t,x\").\n");
  put("answer.json", as2::testing::run_as2(folder_, "decode strings.lp --json").out);
  const Finished checked = run("strings.lp --assignment answer.json");
  EXPECT_EQ(checked.out, "valid\n") << checked.err;
}

TEST_F(VerifyVerb, ChecksFurtherModelsAndAtoms) {
  put("nothing.json", "{}");
  put("two.json",
      as2::testing::run_as2(folder_, "decode pair.lp --beliefs nothing.json --models 2 --json").out);
  EXPECT_EQ(run("pair.lp --assignment two.json").out, "valid\n");
  put("bad_model.json", R"j({"assignment": {"at(1,_)": "1", "at(2,_)": "2"},
    "models": [{"assignment": {"at(1,_)": "1", "at(2,_)": "2"}}, {"assignment": {"at(1,_)": "1", "at(2,_)": "1"}}]})j");
  const Finished bad = run("pair.lp --assignment bad_model.json --json");
  EXPECT_EQ(Json::parse(bad.out)["valid"], false);
  EXPECT_EQ(Json::parse(bad.out)["violated"][0]["family"], "different");
  EXPECT_THAT(Json::parse(bad.out)["message"].get<std::string>(), HasSubstr("model 2"));
  put("bad_atoms.json", R"j({"assignment": {"at(1,_)": "1", "at(2,_)": "2"}, "atoms": ["at(1,1)"]})j");
  const Finished atoms = run("pair.lp --assignment bad_atoms.json");
  EXPECT_EQ(atoms.exit_code, 1);
  EXPECT_THAT(atoms.err, HasSubstr("`atoms`"));
}

TEST_F(VerifyVerb, TextThatIsNotUtf8LosesNothing) {
  put("latin.lp", "{ at(X,V) : V=1..2 } = 1 :- X=1..2.\n:- at(1,V), at(2,V). % diff\xE9rents\n");
  put("lines.jsonl",
      "{\"at(1,_)\":\"1\",\"at(2,_)\":\"1\"}\n{\"at(1,_)\":\"\xE9\",\"at(2,_)\":\"2\"}\n"
      "{\"at(1,_)\":\"1\",\"at(2,_)\":\"2\"}\n");
  const Finished many = run("latin.lp --assignment lines.jsonl --json");
  EXPECT_EQ(many.exit_code, 1) << many.err;
  std::istringstream lines(many.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(Json::parse(line)["violated"][0]["family"], "diff\uFFFDrents");
  std::getline(lines, line);
  EXPECT_TRUE(Json::parse(line).contains("error"));
  std::getline(lines, line);
  EXPECT_EQ(Json::parse(line)["valid"], true);
}

TEST_F(VerifyVerb, NamesOfFilesMayBeAnyBytes) {
  put("caf\xE9.lp", "{ at(X,V) : V=1..2 } = 1 :- X=1..2.\n:- at(1,V), at(2,V). % different\n");
  put("bad.json", "{\"at(1,_)\": \"1\", \"at(2,_)\": \"1\"}");
  const Finished bad = run("'caf\xE9.lp' --assignment bad.json --json");
  EXPECT_EQ(bad.exit_code, 0) << bad.err;
  EXPECT_EQ(Json::parse(bad.out)["valid"], false);
  EXPECT_EQ(Json::parse(bad.out)["violated"][0]["file"], "caf\uFFFD.lp");
}

// clingo reads the program again: from a pipe it would get nothing, and nothing has a valid answer.
TEST_F(VerifyVerb, AProgramThatCanBeReadOnlyOnceIsRefused) {
  const Finished pipe = run_behind_pipe("pair.lp", "/dev/stdin --assignment good.json");
  EXPECT_EQ(pipe.exit_code, 2);
  EXPECT_THAT(pipe.err, HasSubstr("reads the program twice"));
}

TEST_F(VerifyVerb, ExternalsNamedByAStreamAreOpen) {
  put("open.lp", "#external e. [false]\n{a}. :- not e, a.\n");
  put("open.json", "{\"a\": \"true\", \"e\": \"true\"}");
  EXPECT_EQ(run("open.lp --assignment open.json").out, "valid\n");
  EXPECT_EQ(run("open.lp --assignment - < open.json").out, "valid\n");
  EXPECT_EQ(run_behind_pipe("open.json", "open.lp --assignment /dev/stdin").out, "valid\n");
  put("several.lp", "#external e(1..2). [false]\n{a}. :- not e(2), a.\n");
  put("open.json", "{\"a\": \"true\", \"e( 2 )\": \"true\"}");
  EXPECT_EQ(run("several.lp --assignment open.json").out, "valid\n") << "as clingo prints its name";
}

TEST_F(VerifyVerb, UnderstandsSymbolsAsDecodePrintsThem) {
  put("cafe.lp", "{ at(\"caf\xE9\"); at(\"bar\") } = 1. :- at(\"bar\").\n");
  put("nothing.json", "{}");
  put("answer.json", as2::testing::run_as2(folder_, "decode cafe.lp --beliefs nothing.json --json").out);
  EXPECT_EQ(run("cafe.lp --assignment answer.json").out, "valid\n");
}

TEST_F(VerifyVerb, OffersOnlyWhatItReads) {
  EXPECT_EQ(run("--help").out.find(".as2c"), std::string::npos);
}

TEST_F(VerifyVerb, ConstantsCount) {
  EXPECT_EQ(run("pair.lp -c k=1 --assignment good.json").exit_code, 1);
  EXPECT_EQ(run("pair.lp -c k=3 --assignment good.json").out, "valid\n");
}

TEST_F(VerifyVerb, WithoutClingoThereIsNoVerdict) {
  setenv("AS2_CLINGO", "/nonexistent/clingo", 1);
  const Finished none = run("pair.lp --assignment good.json --json");
  unsetenv("AS2_CLINGO");
  EXPECT_EQ(none.exit_code, 0);  // no verdict is an answer, too
  EXPECT_TRUE(Json::parse(none.out)["valid"].is_null()) << none.out;
  EXPECT_THAT(none.err, HasSubstr("no clingo found"));
}

TEST_F(VerifyVerb, MistakesHaveTheirExitCodes) {
  EXPECT_EQ(run("pair.lp").exit_code, 2);
  EXPECT_EQ(run("- --assignment good.json < pair.lp").exit_code, 2);
  EXPECT_EQ(run("pair.as2c --assignment good.json").exit_code, 1);
  EXPECT_EQ(run("none.lp --assignment good.json").exit_code, 1);
  EXPECT_EQ(run("pair.lp --assignment none.json").exit_code, 1);
  put("part.json", "{\"at(1,_)\": \"1\"}");
  EXPECT_EQ(run("pair.lp --assignment part.json").exit_code, 1);
}

TEST_F(VerifyVerb, VersionNamesWhatItWasBuiltWith) {
  const Finished version = as2::testing::run_as2(folder_, "--version");
  EXPECT_THAT(version.out, ::testing::ContainsRegex("^as2 [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_THAT(version.out, HasSubstr("LibTorch"));
  EXPECT_THAT(version.out, HasSubstr("gringo version "));
  setenv("AS2_GRINGO", "/nonexistent/gringo", 1);
  EXPECT_THAT(as2::testing::run_as2(folder_, "--version").out, HasSubstr("gringo not found"));
  unsetenv("AS2_GRINGO");
}

}  // namespace
}  // namespace as2::cli
