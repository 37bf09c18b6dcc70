// Beliefs and assignments as users write them, and the messages for those that are wrong.
#include "cli/beliefs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "formats/safetensors.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

compile::ConstraintProgram two_cells() {
  compile::ConstraintProgram program;
  program.positions.resize(2);
  program.positions[0] = {"cell(1,_)", {"1", "2", "3"}, {"cell(1,1)", "cell(1,2)", "cell(1,3)"}, false, {}};
  program.positions[1] = {"on", {"false", "true"}, {"", "on"}, true, {}};
  return program;
}

std::vector<BeliefsEntry> read_beliefs(const std::string& path, const compile::ConstraintProgram& program) {
  BeliefsReader reader(path, program);
  std::vector<BeliefsEntry> all;
  for (auto some = reader.some(); !some.empty(); some = reader.some())
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

decode::Beliefs parsed(const std::string& text, std::vector<std::string>* warnings = nullptr) {
  std::vector<std::string> local;
  return parse_beliefs({text, {"b.json", 7}}, two_cells(), warnings ? *warnings : local);
}

std::string refusal(const std::string& text) {
  try {
    parsed(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Beliefs, MissingPositionIsUniformAndMissingSymbolIsZero) {
  std::vector<std::string> warnings;
  EXPECT_THAT(parsed(R"j({"cell(1,_)": {"3" : 0.25, "1" : 0.75}})j", &warnings),
              ElementsAre(0.75, 0.0, 0.25, 0.5, 0.5, 0.0));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(Beliefs, NamesAreComparedAsClingoPrintsThem) {
  EXPECT_EQ(parsed(R"j({" cell( 1, _ )": {" 3": 0.25, "1 ": 0.75}})j"),
            parsed(R"j({"cell(1,_)": {"3": 0.25, "1": 0.75}})j"));
  EXPECT_THAT(refusal(R"j({"on": {"true": 1}, " on": {"true": 1}})j"),
              HasSubstr("b.json:7: error: position 'on' is given twice"));
  EXPECT_THAT(refusal(R"j({"on": {"true": 1, "true ": 1}})j"), HasSubstr("symbol 'true ' is given twice"));
  EXPECT_THAT(refusal(R"j({"o n": {"true": 1}})j"), HasSubstr("the program has no position 'o n'"));
}

TEST(Beliefs, NormalisesWithAWarningOnlyBeyondTheTolerance) {
  std::vector<std::string> warnings;
  EXPECT_THAT(parsed(R"j({"on": {"true": 0.9995}})j", &warnings)[4], 0.9995);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_THAT(parsed(R"j({"on": {"true": 3, "false": 1}})j", &warnings)[4], 0.75);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("b.json:7: warning: beliefs of 'on' sum to 4")));
}

TEST(Beliefs, OneOfTwoSymbolsLeavesTheRestToTheOther) {
  std::vector<std::string> warnings;
  EXPECT_THAT(parsed(R"j({"on": {"true": 0.25}})j", &warnings),
              ElementsAre(1.0 / 3, 1.0 / 3, 1.0 / 3, 0.75, 0.25, 0.0));
  EXPECT_THAT(parsed(R"j({"on": {"false": 0}})j", &warnings)[4], 1.0);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_THAT(parsed(R"j({"cell(1,_)": {"1": 0.25}})j", &warnings)[0], 1.0);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("sum to 0.25; normalised, with 0 for symbols left out")));
}

TEST(Beliefs, WhatIsNoJsonHasItsCause) {
  EXPECT_THAT(refusal(R"j({"on": {"true": 1})j"), HasSubstr("error: not JSON: unexpected end of input"));
  EXPECT_THAT(refusal(R"j({"on": {"true": 1})j"), testing::Not(HasSubstr("NaN")));
  EXPECT_THAT(refusal(R"j({"on": {"true": NaN}})j"), HasSubstr("no NaN and no infinity"));
}

// What prints and copies a value calls itself for every level: the stack would not be enough.
TEST(Beliefs, DeepJsonIsRefusedBeforeItIsPrinted) {
  const auto nested = [](std::size_t depth) {
    return "{\n\"on\": " + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_THAT(refusal(nested(1'000'000)), HasSubstr("b.json:8: error: JSON with more than 500 lists"));
  EXPECT_THAT(refusal(nested(500)), HasSubstr("more than 500 lists"));
  EXPECT_THAT(refusal(nested(499)), HasSubstr("expected an object of symbols"));
  // Side by side and within a string they do no harm.
  EXPECT_THAT(refusal("{\"\\\"" + std::string(1000, '[') + "\": 1}"), HasSubstr("has no position"));
  std::string flat = "[0";
  for (int k = 0; k < 1000; ++k) flat += ",[]";
  EXPECT_THAT(refusal("{\"on\": " + flat + "]}"), HasSubstr("expected an object of symbols"));
  EXPECT_THROW(parse_assignment({nested(1'000'000), {"a.json", 1}}, two_cells()), InputError);
}

TEST(Beliefs, RefusesWhatIsNoDistributionAndSaysWhere) {
  EXPECT_THAT(refusal(R"j({"on": {"true": -0.5, "false": 1.5}})j"),
              HasSubstr("b.json:7: error: beliefs of 'on': 'true' is -0.5"));
  EXPECT_THAT(refusal(R"j({"on": {"true": 0, "false": 0}})j"), HasSubstr("all zero"));
  EXPECT_THAT(refusal(R"j({"on": {}})j"), HasSubstr("all zero"));
  EXPECT_THAT(refusal(R"j({"on": {"true": 1e999}})j"), HasSubstr("b.json:7"));
  EXPECT_THAT(refusal(R"j({"on": {"true": null}})j"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal(R"j({"on": {"true": "1"}})j"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal(R"j({"on": 0.8})j"),
              HasSubstr("expected an object of symbols\nnote: write {\"true\":0.8}"));
  EXPECT_THAT(refusal(R"j({"on": false})j"), HasSubstr("note: write {\"false\":1}"));
  EXPECT_THAT(refusal(R"j({"cell(1,_)": "3"})j"), HasSubstr("note: write {\"3\":1}"));
  EXPECT_THAT(refusal(R"j({"cell(1,_)": [0.1, 0.2, 0.7]})j"), HasSubstr("note: write {\"1\":0.5,\"2\":0.5}"));
  EXPECT_THAT(refusal(R"j({"on": {"yes": 1}})j"), HasSubstr("its symbols are false, true"));
  EXPECT_THAT(refusal(R"j({"cell(2,_)": {"1" : 1}})j"), HasSubstr("the nearest position is 'cell(1,_)'"));
  EXPECT_THAT(refusal(R"j({"sum(3)": {"true" : 1}})j"),
              HasSubstr("positions are named like cell(1,_), on\n"));
  EXPECT_THAT(refusal(R"j({"on": {"true": 1}, "on": {"false": 1}})j"), HasSubstr("given twice"));
  EXPECT_THAT(refusal(R"j([1, 2])j"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal("{\n\n\"on\": {\"true\": -1}}"), HasSubstr("b.json:9"));
  EXPECT_THAT(refusal("{\n\n\"on\": {\"true\": }}"), HasSubstr("b.json:9"));
}

TEST(Beliefs, EveryTruncationIsALocatedErrorAndNothingElse) {
  const std::string whole = R"j({"cell(1,_)": {"3": 0.25, "1": 0.75}, "on": {"true": 1e0}})j";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(refusal(whole.substr(0, length)), HasSubstr("b.json:7")) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char c : {'\0', '"', '{', '-', '\xff', '9'}) {
      std::string mutated = whole;
      mutated[at] = c;
      const std::string answer = refusal(mutated);  // any answer will do, but no other kind of exception
      EXPECT_TRUE(answer == "accepted" || answer.rfind("b.json:7", 0) == 0) << mutated << "\n" << answer;
    }
  }
}

TEST(Beliefs, ABadLineAmongManyStandsInItsPlace) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "beliefs_lines.json";
  std::ofstream(path) << R"j({"on": {"true": 1}})j"
                      << "\n{oops\n"
                      << R"j({"on": {"false": 1}})j"
                      << "\n";
  const auto entries = read_beliefs(path, two_cells());
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].beliefs[4], 1.0);
  EXPECT_THAT(entries[1].error, HasSubstr("beliefs_lines.json:2"));
  EXPECT_EQ(entries[2].beliefs[3], 1.0);
  std::ofstream(path) << "{oops\n";
  EXPECT_THROW(read_beliefs(path, two_cells()), InputError);
  EXPECT_THROW(read_beliefs(path + ".missing", two_cells()), InputError);
}

TEST(Assignments, RoundTripAndRefusals) {
  const auto program = two_cells();
  const auto parse = [&](const std::string& text) {
    return parse_assignment({text, {"a.json", 1}}, program);
  };
  EXPECT_THAT(parse(R"j({"on": true, "cell(1,_)": 3})j"), ElementsAre(2, 1));
  EXPECT_EQ(assignment_json(program, {2, 1}).dump(), R"j({"cell(1,_)":"3","on":"true"})j");
  EXPECT_THAT(parse(assignment_json(program, {1, 0}).dump()), ElementsAre(1, 0));
  EXPECT_THROW(parse(R"j({"on": "true"})j"), InputError);
  EXPECT_THROW(parse(R"j({"on": "true", "cell(1,_)": "4"})j"), InputError);
  EXPECT_THROW(parse(R"j({"on": [], "cell(1,_)": "1"})j"), InputError);
}

template <typename T>
void write_tensor(const std::string& path, std::vector<T> values, std::vector<std::int64_t> shape) {
  formats::SafeTensor tensor;
  tensor.name = "beliefs";
  tensor.dtype = sizeof(T) == 4 ? formats::Dtype::kF32 : formats::Dtype::kF64;
  tensor.shape = std::move(shape);
  tensor.data.resize(values.size() * sizeof(T));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  formats::write_safetensors(path, {{tensor}, {}});
}

TEST(TensorBeliefs, BatchesInBothPrecisions) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "beliefs.safetensors";
  write_tensor<float>(path, {1, 0, 0, .5F, .5F, 9, 0, 1, 0, 0, 2, 9}, {2, 2, 3});
  auto entries = read_beliefs(path, two_cells());
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].beliefs[3], 0.5);
  EXPECT_EQ(entries[1].beliefs[4], 1.0);
  EXPECT_EQ(entries[1].warnings.size(), 1U);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  write_tensor<double>(path, {1, 0, 0, .5, .5, 0, nan, 1, 0, 0, 1, 0}, {2, 2, 3});
  entries = read_beliefs(path, two_cells());
  EXPECT_EQ(entries[0].error, "");
  EXPECT_THAT(entries[1].error, HasSubstr("beliefs.safetensors[1]"));
  write_tensor<double>(path, {1, 0, 0, .5}, {1, 2, 2});
  EXPECT_THROW(read_beliefs(path, two_cells()), InputError);
  write_tensor<double>(path, {}, {0, 2, 3});
  EXPECT_THROW(read_beliefs(path, two_cells()), InputError);
}

TEST(Beliefs, ASymbolGivenTwiceIsRefused) {
  EXPECT_THAT(refusal(R"j({"on": {"true": 0.2, "true": 1.0}})j"), HasSubstr("'true' of 'on' is given twice"));
  EXPECT_THAT(refusal("{\"on\": {\"true\": 1},\n \"cell(1,_)\": {\"1\": 1},\n \"o\\u006e\": {\"false\": 1}}"),
              HasSubstr("b.json:9: error: 'on' is given twice"));
}

TEST(Beliefs, ALongUnknownNameIsShortened) {
  const std::string message = refusal("{\"" + std::string(100000, 'x') + "\": {\"1\": 1}}");
  EXPECT_THAT(message, HasSubstr("the program has no position 'xxx"));
  EXPECT_THAT(message, HasSubstr("if it is an external atom, `--assume 'xxx"));
  EXPECT_LT(message.size(), 1000U);
  EXPECT_LT(refusal("{\"on\": {\"" + std::string(100000, 'x') + "\": 1}}").size(), 1000U);
  EXPECT_LT(refusal("{\"on\": \"" + std::string(100000, 'x') + "\"}").size(), 1000U);
}

TEST(Beliefs, NamesThatAreNotUtf8AreUnderstoodAsPrinted) {
  compile::ConstraintProgram program = two_cells();
  program.positions[0].symbols[1] = "\"caf\xE9\"";
  const compile::Assignment assignment{1, 0};
  const std::string printed = assignment_json(program, assignment)
                                  .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  EXPECT_EQ(parse_assignment({printed, {"a.json", 1}}, program), assignment);
  // Two symbols that print alike cannot be told apart.
  program.positions[0].symbols[2] = "\"caf\xE8\"";
  EXPECT_THROW(parse_assignment({printed, {"a.json", 1}}, program), InputError);
}

}  // namespace
}  // namespace as2::cli
