// A verb as a user runs it, in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::testing {

class VerbTest : public ::testing::Test {
 protected:
  explicit VerbTest(std::string verb) : verb_(std::move(verb)) {}

  void write(const std::string& name, const std::string& text) { folder_.put(name, text); }
  Finished run(const std::string& arguments) { return run_as2(folder_.path(), verb_ + " " + arguments); }
  // The document that `--json` gives.
  nlohmann::json answer(const std::string& arguments) {
    const Finished result = run(arguments + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

  const test::TemporaryFolder folder_;

 private:
  const std::string verb_;
};

}  // namespace as2::testing
