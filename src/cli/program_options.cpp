#include "cli/program_options.h"

#include <CLI/CLI.hpp>
#include <iostream>

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

compile::Compiled ProgramOptions::compile() const {
  compile::Compiled compiled = compile::compile_files(files, ground_options());
  print_warnings(compiled.warnings);
  return compiled;
}

void print_warnings(const std::vector<asp::Warning>& warnings) {
  for (const asp::Warning& warning : warnings) {
    const std::string place = warning.location.str();
    std::cerr << place << (place.empty() ? "" : ": ") << "warning: " << warning.message << '\n';
  }
}

void declare_beliefs(CLI::App& command, std::string& file) {
  command
      .add_option("--beliefs", file,
                  "JSON {position: {symbol: p}}, one document or one a line; `-` is standard input; or a "
                  ".safetensors file with `beliefs` [batch, positions, symbols]")
      ->required()
      ->type_name("FILE");
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
