#include "cli/program_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>

#include "cli/beliefs.h"
#include "cli/validators.h"
#include "json_text.h"
#include "text.h"

namespace as2::cli {

asp::GroundOptions GroundingLimits::options() const {
  asp::GroundOptions options;
  options.time_limit_seconds = seconds;
  options.memory_limit_bytes = static_cast<std::int64_t>(mib * (1 << 20));
  options.size_limit = size;
  return options;
}

asp::GroundOptions ProgramOptions::ground_options() const {
  asp::GroundOptions options = grounding.options();
  for (const std::string& constant : constants) {
    const std::size_t equals = constant.find('=');
    const std::string name = as_printed(constant.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : as_printed(constant.substr(equals + 1));
    if (name.empty() || value.empty()) throw UsageError("-c " + constant + ": expected NAME=VALUE");
    for (const auto& [other, before] : options.constants) {
      if (other == name) throw UsageError("-c " + name + " is given twice: " + before + " and " + value);
    }
    options.constants.emplace_back(name, value);
  }
  options.assume = assume;
  options.includes = !no_include;
  return options;
}

std::vector<std::string> externals_named(const asp::GroundProgram& ground, const std::string& documents) {
  std::vector<std::string> names;
  const bool json = documents.find(".safetensors") == std::string::npos;  // tensors have no names
  // A free one is a position anyway, and clingo must not be told so.
  const auto is_free = [](const asp::External& external) {
    return external.value == asp::ExternalValue::kFree;
  };
  const auto& externals = ground.externals;
  if (documents.empty() || !json || std::all_of(externals.begin(), externals.end(), is_free)) return names;
  std::set<std::string> keys;
  keep_documents(documents);
  Documents all(documents);
  while (const auto document = all.next()) {
    nlohmann::json parsed;
    try {
      parsed = parse_json(document->text, document->location, nullptr, false);
    } catch (const InputError&) {  // said when it is this document's turn
    }
    if (!parsed.is_object()) continue;
    const bool wrapped = parsed.contains("assignment") && parsed["assignment"].is_object();
    for (const auto& [key, value] : (wrapped ? parsed["assignment"] : parsed).items())
      keys.insert(as_printed(key));
  }
  for (const asp::External& external : externals) {
    if (!is_free(external) && keys.count(ground.names[external.atom]) > 0)
      names.push_back(ground.names[external.atom]);
  }
  return names;
}

compile::Compiled ProgramOptions::compile(const std::string& beliefs) const {
  asp::GroundProgram ground = asp::ground(files, ground_options());
  asp::free_externals(ground, externals_named(ground, beliefs));
  compile::Compiled compiled = compile::compile(ground);
  print_warnings(compiled.warnings);
  return compiled;
}

void print_warnings(const std::vector<asp::Warning>& warnings) {
  for (const asp::Warning& warning : warnings) {
    const std::string place = warning.location.str();
    std::cerr << place << (place.empty() ? "" : ": ") << "warning: " << readable(warning.message) << '\n';
  }
}

void declare_grounding(CLI::App& command, GroundingLimits& limits) {
  command.add_option("--grounding-seconds", limits.seconds, "Seconds gringo may take")
      ->check(number_between(0.001, 1e9))
      ->capture_default_str();
  command.add_option("--grounding-mib", limits.mib, "Memory gringo may take, in MiB")
      ->check(number_between(1, 1e9))
      ->capture_default_str();
  command
      .add_option("--grounding-size", limits.size,
                  "Atoms and literals of rules that the ground program may have")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
}

void declare_beliefs(CLI::App& command, std::string& file) {
  command
      .add_option("--beliefs", file,
                  "JSON {position: {symbol: p}}, one document or one per line; `-` is standard input; or a "
                  ".safetensors file with `beliefs` [batch, positions, symbols]; left out: none")
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
      ->type_name("NAME=VALUE");
  declare_grounding(command, options->grounding);
  command
      .add_option("--assume", options->assume,
                  "Leaves an external atom (#external) open: it becomes a Boolean position")
      ->type_name("ATOM");
  command.add_flag("--no-include", options->no_include,
                   "Refuses #include, so that a program of unknown origin reads no other file");
  return options;
}

}  // namespace as2::cli
