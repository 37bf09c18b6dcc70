// The shipped programs: their answer sets are what they should be, the ground program read back has the very
// same ones, and the committed compiled files are fresh. With AS2_UPDATE=1 in the environment the files are
// rewritten.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "as2/compile.h"
#include "asp/statements.h"
#include "child_process.h"
#include "files.h"

namespace as2::asp {
namespace {

// The ground program as plain aspif, so that clingo can solve what we read.
std::string to_aspif(const GroundProgram& program) {
  std::ostringstream out;
  out << "asp 1 0 0\n";
  for (const auto& rule : program.rules) {
    out << "1 " << rule.choice << ' ' << rule.head.size();
    for (const Atom atom : rule.head) out << ' ' << atom;
    out << ' ' << rule.sum;
    if (rule.sum) out << ' ' << rule.bound;
    out << ' ' << rule.body.size();
    for (const auto& [lit, weight] : rule.body) {
      out << ' ' << lit;
      if (rule.sum) out << ' ' << weight;
    }
    out << '\n';
  }
  for (std::size_t atom = 0; atom < program.names.size(); ++atom) {
    const auto& name = program.names[atom];
    if (!name.empty()) out << "4 " << name.size() << ' ' << name << " 1 " << atom << '\n';
  }
  for (const auto& fact : program.facts) out << "4 " << fact.size() << ' ' << fact << " 0\n";
  out << "0\n";
  return out.str();
}

// The answer sets clingo prints, each as its sorted atoms.
std::multiset<std::string> answer_sets(const std::vector<std::string>& arguments, const std::string& input) {
  std::vector<std::string> all = {"-V0", "0", "--opt-mode=ignore"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ChildResult result = run_child(find_program("clingo"), all, input, {});
  std::multiset<std::string> sets;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    if (line == "SATISFIABLE" || line == "UNSATISFIABLE") break;
    std::istringstream words(line);
    std::vector<std::string> atoms;
    for (std::string atom; words >> atom;) atoms.push_back(atom);
    std::sort(atoms.begin(), atoms.end());
    std::string joined;
    for (const auto& atom : atoms) joined += atom + " ";
    sets.insert(joined);
  }
  return sets;
}

// Each of these has a form that tagging or gringo rewrites.
const char* const kForms[] = {
    "{a;b;c}. :- a, not b.",
    "{a;b} = 1 :- c. {c}.",
    "{p(1..2)}. 1 {a;b} 1 :- p(X).",
    "{p(1..2)}. 1 {a(X);b(X)} 1 :- p(X).",
    "{p(1..3)}. 2 {a(X) : p(X)} 2.",
    "{c(1..3)} = 1. c(2).",
    "{c(1..3)} = 1. {d}. c(2) :- d.",
    "{c(1..3)} = 1. c(2) :- not c(1).",
    "d(1..2). {q(1..2)}. {a} :- q(X) : d(X).",
    "d(1..2). {q(1..2)}. :- q(X) : d(X).",
    "d(1..2). {q(1..2)}. a :- not q(X) : d(X). {a} :- q(1).",
    "{a} = 1. {b} = 0. {c} != 1.",
    "{a;b}. not a :- b.",
    "{a;b}. not not a :- b.",
    "{p(1..3)}. X < 3 :- p(X).",
    "{a}. #false :- a.",
    "{a}. :- .",
    "{a}. :- 1 < 2. :- a.",
    "{b;c}. a :- b. -a :- c.",
    "{-a;a}. -a :- not a.",
    "{a(1)}. -a(1).",
    "d(1..3). 2 #sum { X : a(X) : d(X) } 3.",
    "d(1..3). #count { X : a(X) : d(X), X > 1 } = 1. a(3).",
    "{a(1;2,3)}. a(2,3).",
    "{a(X) : X=1..3; b} 2.",
    "1 {a;not b;c} 2. {b}.",
    "{a;b;c}. :- #count{1:a; 2:b; 3:c} != 2.",
    "{a;b;c}. :- #sum{-1:a; 2:b; 3:c} = 2.",
    "{a(1..3)}. m(M) :- M = #max{X : a(X)}. :- m(2).",
    "{a(1..3)}. s(S) :- S = #sum{X : a(X)}. :- s(S), S > 4.",
    "{e(1..2,1..2)}. r(1). r(Y) :- r(X), e(X,Y). :- not r(2).",
    "{a(X) : X=1..2} = 1 :- X=1. {b(\"x. y\")}. :- b(\"x. y\"), a(1).",
    "a :- not b. b :- not a. {c} :- a.",
    "{a}. b :- #false. :- b. c :- #true, a.",
    "{a;b}. :~ a. [1@2,x] :~ b. [2] #minimize{3:a;1@2:b}.",
    "%* {x}. *% {a}. % {y}.\n:- a,% {z}.\n a.",
};

TEST(Forms, GroundProgramHasTheAnswerSetsOfTheText) {
  if (find_program("clingo").empty()) GTEST_SKIP() << "no clingo";
  for (const std::string text : kForms) {
    EXPECT_EQ(answer_sets({"--mode=clasp"}, to_aspif(ground_text(text, "p.lp"))), answer_sets({"-"}, text))
        << text;
  }
}

struct Shipped {
  const char* program;
  const char* constant;  // `b=2`, or empty
  std::size_t answer_sets;
};

class Programs : public testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override {
    if (find_program("clingo").empty()) GTEST_SKIP() << "no clingo";
  }
};

TEST_P(Programs, GroundProgramHasTheAnswerSetsOfTheText) {
  const auto& [program, constant, count] = GetParam();
  const std::string file = std::string(AS2_SOURCE_DIR) + "/programs/" + program + ".lp";
  GroundOptions options;
  std::vector<std::string> arguments = {file};
  if (const std::string setting = constant; !setting.empty()) {
    options.constants.emplace_back(setting.substr(0, setting.find('=')),
                                   setting.substr(setting.find('=') + 1));
    arguments.insert(arguments.end(), {"-c", setting});
  }
  const auto expected = answer_sets(arguments, "");
  EXPECT_EQ(expected.size(), count);
  const GroundProgram ground_program = ground({file}, options);
  EXPECT_TRUE(ground_program.warnings.empty());
  EXPECT_EQ(answer_sets({"--mode=clasp"}, to_aspif(ground_program)), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, Programs,
    testing::Values(Shipped{"sudoku", "b=2", 288}, Shipped{"sudoku_pairwise", "b=2", 288},
                    Shipped{"addition", "", 100}, Shipped{"addition", "n=3", 1000},
                    Shipped{"multi_digit_addition", "n=1", 100}, Shipped{"latin_square", "", 576},
                    Shipped{"futoshiki", "", 1}, Shipped{"killer_sudoku", "", 1},
                    Shipped{"graph_colouring", "", 6}, Shipped{"n_queens", "", 92},
                    Shipped{"magic_square", "", 8}, Shipped{"reachability", "", 30},
                    Shipped{"scheduling", "", 26}, Shipped{"birds_fly", "", 288}, Shipped{"greater", "", 100},
                    Shipped{"greater_sum", "", 100}, Shipped{"greater_nogoods", "", 100},
                    Shipped{"parity", "", 100}, Shipped{"grid_path", "", 512},
                    Shipped{"shortest_path", "n=2", 81}, Shipped{"addition_rule", "", 100}),
    [](const auto& test) {
      std::string name = std::string(test.param.program) + "_" + test.param.constant;
      std::replace(name.begin(), name.end(), '=', '_');
      return name;
    });

struct CompiledFile {
  const char* file;
  const char* program;
  std::vector<std::pair<std::string, std::string>> constants;
};

const std::vector<CompiledFile>& compiled_files() {
  static const std::vector<CompiledFile> kFiles = {
      {"sudoku.as2c", "sudoku.lp", {}},
      {"sudoku-b2.as2c", "sudoku.lp", {{"b", "2"}}},
      {"sudoku-b4.as2c", "sudoku.lp", {{"b", "4"}}},
      {"sudoku-3x4.as2c", "sudoku.lp", {{"h", "3"}, {"w", "4"}}},
      {"sudoku_pairwise.as2c", "sudoku_pairwise.lp", {}},
      {"addition.as2c", "addition.lp", {}},
      {"addition-n4.as2c", "addition.lp", {{"n", "4"}}},
      {"addition-n8.as2c", "addition.lp", {{"n", "8"}}},
      {"addition_rule.as2c", "addition_rule.lp", {}},
      {"digit.as2c", "digit.lp", {}},
      {"greater.as2c", "greater.lp", {}},
      {"greater_sum.as2c", "greater_sum.lp", {}},
      {"greater_nogoods.as2c", "greater_nogoods.lp", {}},
      {"parity.as2c", "parity.lp", {}},
      {"grid_path.as2c", "grid_path.lp", {}},
      {"shortest_path.as2c", "shortest_path.lp", {}},
      {"formula.as2c", "formula.lp", {}},
      {"multi_digit_addition.as2c", "multi_digit_addition.lp", {}},
      {"multi_digit_addition-n1.as2c", "multi_digit_addition.lp", {{"n", "1"}}},
      {"multi_digit_addition-n4.as2c", "multi_digit_addition.lp", {{"n", "4"}}},
      {"multi_digit_addition-n15.as2c", "multi_digit_addition.lp", {{"n", "15"}}},
      {"latin_square.as2c", "latin_square.lp", {}},
      {"futoshiki.as2c", "futoshiki.lp", {}},
      {"killer_sudoku.as2c", "killer_sudoku.lp", {}},
      {"graph_colouring.as2c", "graph_colouring.lp", {}},
      {"n_queens.as2c", "n_queens.lp", {}},
      {"magic_square.as2c", "magic_square.lp", {}},
      {"reachability.as2c", "reachability.lp", {}},
      {"scheduling.as2c", "scheduling.lp", {}},
      {"birds_fly.as2c", "birds_fly.lp", {}},
  };
  return kFiles;
}

// The files name their sources relative to the project's root.
class CompiledPrograms : public testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(AS2_SOURCE_DIR);
  }
  void TearDown() override { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

TEST_F(CompiledPrograms, AreFresh) {
  if (find_program("gringo").empty()) GTEST_SKIP() << "no gringo";
  for (const auto& [file, program, constants] : compiled_files()) {
    GroundOptions options;
    options.constants = constants;
    const std::string path = std::string("programs/") + file;
    const std::string text = save_compiled({std::string("programs/") + program}, options);
    if (std::getenv("AS2_UPDATE") != nullptr) std::ofstream(path) << text;
    EXPECT_TRUE(std::filesystem::exists(path) && read_file(path) == text)
        << path << " is not fresh: run AS2_UPDATE=1 test_asp_programs";
  }
}

TEST_F(CompiledPrograms, LoadWithoutGringo) {
  GroundOptions options;
  options.gringo = "/nowhere/gringo";
  for (const auto& compiled : compiled_files()) {
    const GroundProgram program = ground({std::string("programs/") + compiled.file}, options);
    EXPECT_FALSE(program.rules.empty()) << compiled.file;
    EXPECT_TRUE(program.warnings.empty()) << compiled.file;
  }
}

TEST_F(CompiledPrograms, EveryProgramHasOne) {
  for (const auto& entry : std::filesystem::directory_iterator("programs")) {
    if (entry.path().extension() != ".lp") continue;
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(entry).replace_extension(".as2c"))) << entry;
  }
}

TEST(Families, OfThePapersSudoku) {
  const GroundProgram program = ground({std::string(AS2_SOURCE_DIR) + "/programs/sudoku.lp"});
  std::vector<std::string> families;
  for (const auto& statement : program.statements) {
    if (statement.kind == StatementKind::kConstraint) families.push_back(statement.name);
  }
  EXPECT_EQ(families, (std::vector<std::string>{"rows", "columns", "boxes"}));
  EXPECT_EQ(std::count_if(program.names.begin(), program.names.end(),
                          [](const auto& name) { return !name.empty(); }),
            729);
}

// Programs that others wrote are grounded, or refused with a place.
TEST(Examples, AreGroundedOrRefusedWithAPlace) {
  namespace fs = std::filesystem;
  const fs::path folder = "/usr/share/doc/gringo/examples";
  if (!fs::exists(folder)) GTEST_SKIP() << "no examples installed";
  int grounded = 0;
  int refused = 0;
  GroundOptions options;
  options.time_limit_seconds = 600;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".lp") continue;
    try {
      ground({entry.path().string()}, options);
      ++grounded;
    } catch (const InputError& error) {
      EXPECT_GT(error.location().line, 0) << entry.path() << "\n" << error.what();
      EXPECT_EQ(fs::path(error.location().file).parent_path(), entry.path().parent_path()) << error.what();
      ++refused;
    }
  }
  RecordProperty("grounded", grounded);
  RecordProperty("refused", refused);
  EXPECT_GT(grounded, 20);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace as2::asp
