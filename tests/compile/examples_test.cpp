// The examples that Debian's gringo package installs: plain ASP compiles or is refused with a place, never
// silently and never by a crash. docs/COMPILER.md says how many of each.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "as2/compile.h"

namespace as2::compile {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = "/usr/share/doc/gringo/examples";

bool has_script(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str().find("#script") != std::string::npos;
}

// "compiles", or the reason of the refusal.
std::string outcome(const std::vector<std::string>& files) {
  asp::GroundOptions options;
  options.time_limit_seconds = 600;
  try {
    compile_files(files, options);
    return "compiles";
  } catch (const InputError& error) {
    EXPECT_FALSE(error.location().file.empty()) << error.what();
    EXPECT_GT(error.location().line, 0) << error.what();
    EXPECT_NE(std::string(error.what()).find("note: "), std::string::npos) << "no remedy: " << error.what();
    const std::string message = error.what();
    const std::size_t begin = message.find("error: ") + 7;
    const std::string reason = message.substr(begin, message.find('\n') - begin);
    const auto says = [&](const char* words) { return reason.find(words) != std::string::npos; };
    EXPECT_TRUE(says("program parts") || says("incremental") || says("theory") || says("support each other"))
        << reason;
    return reason;
  }
}

TEST(Examples, EveryPlainProgramCompilesOrIsRefusedWithAPlace) {
  if (!fs::exists(kExamples)) GTEST_SKIP() << "no gringo examples on this machine";
  std::vector<std::vector<std::string>> programs;
  for (const auto& entry : fs::recursive_directory_iterator(kExamples)) {
    if (entry.path().extension() == ".lp" && !has_script(entry.path()))
      programs.push_back({entry.path().string()});
  }
  const auto together = [&](const std::string& encoding, const std::string& instance) {
    programs.push_back({(kExamples / encoding).string(), (kExamples / instance).string()});
  };
  together("gringo/prime-implicants/encoding.lp", "gringo/prime-implicants/instance.lp");
  together("gringo/gbie/gbie1.lp", "gringo/gbie/instances/sat_01.lp");
  together("gringo/gbie/gbie2.lp", "gringo/gbie/instances/sat_01.lp");
  together("gringo/rec-cond/encoding.lp", "gringo/rec-cond/instance.lp");
  together("clingo/cover/cover.lp", "clingo/cover/instance.lp");
  together("clingo/planning/convert.lp", "clingo/planning/instances/coins01.lp");
  std::map<std::string, int> outcomes;
  int compiled = 0;
  for (const auto& program : programs) {
    SCOPED_TRACE(program.front());
    const std::string result = outcome(program);
    compiled += result == "compiles";
    ++outcomes[result];
  }
  EXPECT_GE(compiled, 102);
  std::ostringstream table;
  for (const auto& [result, count] : outcomes) table << count << "  " << result << "\n";
  std::cout << programs.size() << " programs\n" << table.str();
}

}  // namespace
}  // namespace as2::compile
