// tests/golden/<program>/: `arguments` of `as2 check --json`, and the document it must print.
// AS2_UPDATE_GOLDEN=1 rewrites the documents: look at the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = AS2_SOURCE_DIR;

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string check(const std::string& arguments) {
  const char* binary = std::getenv("AS2_BINARY");
  if (binary == nullptr) throw std::runtime_error("AS2_BINARY is not set");
  const std::string command =
      "cd '" + kRoot.string() + "' && exec '" + binary + "' check --json " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, count);
  pclose(pipe);
  return output;
}

TEST(Golden, EveryProgramCompilesToWhatItsFolderSays) {
  if (std::getenv("AS2_BINARY") == nullptr) GTEST_SKIP() << "run through ctest";
  for (const auto& folder : fs::directory_iterator(kRoot / "tests/golden")) {
    SCOPED_TRACE(folder.path().filename().string());
    std::string arguments = content(folder.path() / "arguments");
    arguments.erase(arguments.find_last_not_of('\n') + 1);
    const std::string actual = check(arguments);
    if (std::getenv("AS2_UPDATE_GOLDEN") != nullptr) std::ofstream(folder.path() / "check.json") << actual;
    ASSERT_TRUE(nlohmann::json::accept(actual)) << actual;
    EXPECT_EQ(nlohmann::json::parse(actual),
              nlohmann::json::parse(content(folder.path() / "check.json"), nullptr, false));
  }
}

TEST(Golden, EveryProgramHasAFolder) {
  for (const auto& program : fs::directory_iterator(kRoot / "programs")) {
    if (program.path().extension() != ".lp") continue;
    EXPECT_TRUE(fs::exists(kRoot / "tests/golden" / program.path().stem() / "check.json")) << program.path();
  }
}

}  // namespace
