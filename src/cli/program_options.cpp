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
    const std::string name = constant.substr(0, equals);
    for (const auto& [other, value] : options.constants) {
      if (other == name)
        throw UsageError("-c " + name + " is given twice: " + value + " and " + constant.substr(equals + 1));
    }
    options.constants.emplace_back(name, constant.substr(equals + 1));
  }
  options.time_limit_seconds = grounding_seconds;
  options.memory_limit_bytes = static_cast<std::int64_t>(grounding_mib * (1 << 20));
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
                  "JSON {position: {symbol: p}}, one document or one per line; `-` is standard input; or a "
                  ".safetensors file with `beliefs` [batch, positions, symbols]")
      ->required()
      ->type_name("FILE");
}

std::shared_ptr<ProgramOptions> declare_program(CLI::App& command, ProgramForm form) {
  auto options = std::make_shared<ProgramOptions>();
  command
      .add_option("program", options->files,
                  form == ProgramForm::kText ? "ASP files"
                                             : "ASP files; `-` is standard input; or one compiled .as2c file")
      ->required()
      ->type_name("FILE");
  command.add_option("-c,--const", options->constants, "Replaces a constant of the program (#const)")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--grounding-seconds", options->grounding_seconds, "Seconds gringo may take")
      ->check(CLI::Range(0.001, 1e9))
      ->capture_default_str();
  command.add_option("--grounding-mib", options->grounding_mib, "Memory gringo may take, in MiB")
      ->check(CLI::Range(1.0, 1e9))
      ->capture_default_str();
  return options;
}

}  // namespace as2::cli
