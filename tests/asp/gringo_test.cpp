// gringo as a child process: missing, dying, hanging, printing garbage; limits are kept.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "as2/compile.h"
#include "child_process.h"
#include "support/temporary_folder.h"

namespace as2::asp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_with(const GroundOptions& options, const std::string& text = "{a}.") {
  try {
    ground_text(text, "p.lp", options);
  } catch (const InputError& error) {
    return error.what();
  } catch (const EnvironmentError& error) {
    return std::string("environment: ") + error.what();
  }
  return "";
}

std::string error_with_script(const std::string& body, double seconds = 600) {
  const test::TemporaryFolder folder;
  GroundOptions options;
  options.gringo = folder.put_program("gringo", body);
  options.time_limit_seconds = seconds;
  return error_with(options);
}

std::string read_text(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return in.eof() ? "" : line;  // a whole line, or nothing
}

// A process that nobody has waited for yet is a zombie, Z, and runs no more.
bool is_running(int pid) {
  const std::string status = read_text("/proc/" + std::to_string(pid) + "/stat");
  return !status.empty() && status.substr(status.rfind(')') + 2, 1) != "Z";
}

TEST(Gringo, Missing) {
  GroundOptions options;
  options.gringo = "/nowhere/gringo";
  EXPECT_THAT(error_with(options), AllOf(StartsWith("environment: "), HasSubstr("cannot be found"),
                                         HasSubstr("/nowhere/gringo"), HasSubstr("apt install")));
  ASSERT_EQ(setenv("AS2_GRINGO", "no-such-gringo", 1), 0);
  EXPECT_THAT(error_with({}), HasSubstr("no-such-gringo"));
  unsetenv("AS2_GRINGO");
}

TEST(Gringo, NoProgramAtAll) {
  const test::TemporaryFolder folder;
  GroundOptions options;
  options.gringo = folder.put_program("gringo", "");
  folder.put("gringo", "this is no program");
  EXPECT_THAT(error_with(options), StartsWith("environment: error: cannot start"));
}

TEST(Gringo, Dies) {
  EXPECT_THAT(error_with_script("kill -SEGV $$"),
              StartsWith("environment: error: gringo died: Segmentation fault"));
  EXPECT_THAT(error_with_script("echo oh no >&2; exit 7"),
              AllOf(StartsWith("environment: "), HasSubstr("exit code 7"), HasSubstr("oh no")));
  EXPECT_THAT(error_with_script("exit 0"), HasSubstr("this is not aspif"));
}

TEST(Gringo, DiesOfDeepTerms) {
  const auto many = [](const std::string& text) {
    std::string all;
    for (int n = 0; n < 200000; ++n) all += text;
    return all;
  };
  const std::string crashed = "p.lp:2:1-", what = " nested operators and parentheses";
  for (const std::string& term : {many("-") + "1", "1" + many("+1"), many("f(2,") + "1" + many(")")})
    EXPECT_THAT(error_with({}, "{a}.\nq(1, " + term + ").\nr((1;2),-1)."),
                AllOf(StartsWith(crashed), HasSubstr("200001" + what), HasSubstr("ulimit -s")));
  // Long is not deep.
  const test::TemporaryFolder folder;
  GroundOptions options;
  options.gringo = folder.put_program("gringo", "kill -SEGV $$");
  EXPECT_THAT(error_with(options, "q(" + many("-1,") + "1). r" + many("(1)") + "."),
              HasSubstr("environment"));
}

TEST(Gringo, Hangs) {
  // If the sleeping processes were waited for, the test would run into its own time limit.
  EXPECT_THAT(error_with_script("sleep 3600 & sleep 3600", 0.3), HasSubstr("stopped after 0.3 s"));
  EXPECT_THAT(error_with_script("exec >&- 2>&-; sleep 3600", 0.3), HasSubstr("stopped after 0.3 s"));
}

TEST(Gringo, AWishToStopEndsItAndWhatItStarted) {
  const test::TemporaryFolder folder;
  GroundOptions options;
  options.gringo = folder.put_program("gringo", "sleep 3600 & echo $! >" + (folder / "started") + "; wait");
  std::atomic<bool> stop{false};
  options.stop = &stop;
  std::thread other([&] {
    while (read_text(folder / "started").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop = true;
  });
  EXPECT_THAT(error_with(options), StartsWith("environment: error: grounding was interrupted"));
  other.join();
  const int started = std::stoi(read_text(folder / "started"));
  while (is_running(started)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Gringo, PrintsGarbage) {
  EXPECT_THAT(error_with_script("echo hello"),
              StartsWith("(output of gringo):1: error: this is not aspif: `asp 1 0 0` expected"));
  EXPECT_THAT(
      error_with_script("echo asp 1 0 0; echo 1 0 x"),
      HasSubstr("(output of gringo):2: error: this is not aspif: number of atoms expected, found `x`"));
  EXPECT_THAT(error_with_script("echo asp 1 0 0; echo 1 0 1 1 0 0"), HasSubstr("without `0`"));
  EXPECT_THAT(error_with_script("head -c 100000 /dev/urandom"), HasSubstr("this is not aspif"));
}

TEST(Gringo, PrintsWithoutEnd) {
  const test::TemporaryFolder folder;
  GroundOptions options;
  options.gringo = folder.put_program("gringo", "yes");
  options.memory_limit_bytes = 64 << 20;
  EXPECT_THAT(error_with(options), HasSubstr("more than 64 MiB"));
}

TEST(Gringo, MemoryAndTimeOfAnEndlessGrounding) {
  GroundOptions options;
  options.memory_limit_bytes = 100 << 20;
  EXPECT_THAT(error_with(options, "p(0). p(X+1) :- p(X), X < 2000000000."), HasSubstr("more than 100 MiB"));
  options.memory_limit_bytes = std::int64_t{4} << 30;
  options.time_limit_seconds = 0.2;
  EXPECT_THAT(error_with(options, "p(0). p(X+1) :- p(X), X < 2000000000."), HasSubstr("stopped after 0.2 s"));
}

TEST(Gringo, BadConstant) {
  GroundOptions options;
  options.constants = {{"n", "((("}};
  EXPECT_THAT(error_with(options), StartsWith("error: the constant 'n=(((' cannot be read: syntax error"));
  options.constants = {{"n", "1/0"}};
  EXPECT_THAT(error_with(options, "{a(n)}."),
              StartsWith("error: the constant 'n=1/0' has no value: operation undefined: (1/0)\n"
                         "note: its value must be a term that can be evaluated"));
  // What else is wrong with the program is not the constant's fault.
  const std::string unsafe = "p(n). {a(n)}. q(X) :- not p(X).";
  EXPECT_THAT(error_with(options, unsafe), StartsWith("error: the constant 'n=1/0' has no value: operation"));
  options.constants = {{"n", "3 x"}};
  EXPECT_THAT(error_with(options, unsafe),
              StartsWith("error: the constant 'n=3 x' cannot be read: syntax error, unexpected <IDENT"));
  options.constants = {{"n", "3"}};
  EXPECT_THAT(error_with(options, unsafe), StartsWith("p.lp:1:15-32: error: unsafe variables in:"));
}

TEST(ChildProcess, FeedsAndCollectsMoreThanAPipeHolds) {
  const std::string text(3 << 20, 'x');
  const ChildResult result = run_child(find_program("cat"), {}, text, {});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, text);
}

TEST(ChildProcess, InputThatNobodyReadsIsNoError) {
  EXPECT_EQ(run_child(find_program("true"), {}, std::string(3 << 20, 'x'), {}).exit_code, 0);
}

TEST(ChildProcess, RunsInTheFolderNamed) {
  const test::TemporaryFolder folder;
  ChildOptions options;
  options.folder = folder.str();
  EXPECT_EQ(run_child(find_program("pwd"), {"-P"}, "", options).out,
            std::filesystem::canonical(folder.path()).string() + "\n");
  options.folder = folder / "missing";
  EXPECT_THROW(run_child(find_program("pwd"), {}, "", options), EnvironmentError);
}

TEST(ChildProcess, AWishToStopEndsIt) {
  std::atomic<bool> stop{true};
  ChildOptions options;
  options.seconds = 3600;
  options.stop = &stop;
  const ChildResult result = run_child(find_program("sleep"), {"3600"}, "", options);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.exit_code, -1);
}

TEST(ChildProcess, ArgumentsReachTheProgramUnchanged) {
  EXPECT_EQ(run_child(find_program("printf"), {"%s|", "a b", "$HOME", "*"}, "", {}).out, "a b|$HOME|*|");
}

}  // namespace
}  // namespace as2::asp
