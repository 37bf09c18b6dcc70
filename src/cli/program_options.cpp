#include "cli/program_options.h"

#include <CLI/CLI.hpp>

namespace as2::cli {

asp::GroundOptions ProgramOptions::ground_options() const {
  asp::GroundOptions options;
  for (const std::string& constant : constants) {
    const std::size_t equals = constant.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == constant.size()) {
      throw UsageError("-c " + constant + ": expected NAME=VALUE");
    }
    options.constants.emplace_back(constant.substr(0, equals), constant.substr(equals + 1));
  }
  return options;
}

std::shared_ptr<ProgramOptions> declare_program(CLI::App& command) {
  auto options = std::make_shared<ProgramOptions>();
  command
      .add_option("program", options->files, "ASP files; `-` is standard input; or one compiled .as2c file")
      ->required()
      ->type_name("FILE");
  command.add_option("-c,--const", options->constants, "Replaces a constant of the program (#const)")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  return options;
}

}  // namespace as2::cli
