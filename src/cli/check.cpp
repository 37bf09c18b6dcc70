// `as2 check`: compiles a program and shows what it became.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "as2/compile.h"
#include "cli/check_document.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "compile/dump.h"
#include "files.h"
#include "text.h"

namespace as2::cli {
namespace {

using compile::ConstraintProgram;
using compile::FamilySummary;
using nlohmann::ordered_json;

void print_table(const std::vector<std::vector<std::string>>& rows, const std::string& alignment) {
  std::vector<std::size_t> widths(alignment.size(), 0);
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], characters(row[k]));
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::string space(widths[k] - characters(row[k]), ' ');
      line += (k > 0 ? "  " : "") + (alignment[k] == 'r' ? space + row[k] : row[k] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  }
}

// A few of the atoms that are guessed, and why; `--json` lists them all.
void print_guesses(const ConstraintProgram& program) {
  constexpr std::size_t kMost = 8;
  if (program.guesses.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"guess", "line", "because of"}};
  for (std::size_t k = 0; k < std::min(program.guesses.size(), kMost); ++k) {
    const compile::Guess& guess = program.guesses[k];
    const compile::Position& position = program.positions[static_cast<std::size_t>(guess.position)];
    std::string cycle;
    for (const std::string& literal : guess.cycle) cycle += (cycle.empty() ? ": " : " <- ") + literal;
    rows.push_back({position.name, position.location.file + ":" + std::to_string(position.location.line),
                    name_of(guess.reason) + cycle});
  }
  if (program.guesses.size() > kMost)
    rows.push_back({"and " + std::to_string(program.guesses.size() - kMost) + " more", "", ""});
  std::cout << '\n';
  print_table(rows, "lll");
}

void print_summary(const compile::Compiled& compiled) {
  const ConstraintProgram& program = compiled.program;
  const std::vector<FamilySummary> summaries = compile::summarise_families(program);
  print_table({{"positions", std::to_string(program.positions.size())},
               {"atoms", std::to_string(program.atoms)},
               {"groups", std::to_string(program.groups.size())},
               {"residual terms", std::to_string(total_terms(summaries))},
               {"definitions", std::to_string(program.definitions)},
               {"objectives", std::to_string(program.objective_statements.size())},
               {"guesses", std::to_string(program.guesses.size())}},
              "lr");
  print_guesses(program);
  if (summaries.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"family", "line", "kind", "groups", "terms"}};
  for (std::size_t k = 0; k < summaries.size(); ++k) {
    const compile::Family& family = program.families[k];
    rows.push_back({family.name, family.location.file + ":" + std::to_string(family.location.line),
                    summaries[k].kind, std::to_string(summaries[k].groups),
                    std::to_string(summaries[k].terms)});
  }
  std::cout << '\n';
  print_table(rows, "lllrr");
}

struct CheckOptions {
  std::shared_ptr<ProgramOptions> program;
  std::string show;
  std::string save;
  bool json = false;
  // With --shortcuts the rest is as2-tensor's.
  bool shortcuts = false;
  std::string preset;
  std::vector<std::string> settings;
  double seconds = 60;
};

std::string listed_positions(const ConstraintProgram& program) {
  std::string text;
  for (const compile::Position& position : program.positions) {
    text += position.name + ":";
    for (const std::string& symbol : position.symbols) text += " " + symbol;
    text += "\n";
  }
  return text;
}

// What `--show` asks of the compiled program; empty for what was already shown during compilation.
std::optional<std::string> listed(const std::string& show, const ConstraintProgram& program) {
  if (show == "groups") return compile::list_groups(program);
  if (show == "positions") return listed_positions(program);
  return std::nullopt;
}

int check(const CheckOptions& options) {
  if (options.shortcuts) return continue_in_tensor_program();
  for (const std::string& file : options.program->files) {
    if (std::filesystem::path(file).extension() != ".toml") continue;
    throw UsageError(file +
                     " is a task, not a program: give --shortcuts to see what its supervision determines");
  }
  const asp::GroundOptions ground_options = options.program->ground_options();
  if (!options.save.empty()) refuse_to_overwrite(options.program->files, options.save);
  // With --save the program is read back from what will be saved: standard input can be read only once.
  std::vector<std::string> read;
  const std::string saved =
      options.save.empty() ? "" : asp::save_compiled(options.program->files, ground_options, &read);
  if (!options.save.empty()) refuse_to_overwrite(read, options.save);
  const asp::GroundProgram ground = options.save.empty() ? asp::ground(options.program->files, ground_options)
                                                         : asp::load_compiled(saved, options.save);
  ordered_json pass_list = ordered_json::array();
  compile::PassObserver observe;
  if (options.show == "passes") {
    observe = [&](const std::string& name, const std::string& dump) {
      if (options.json) {
        pass_list.push_back({{"pass", name}, {"dump", dump}});
      } else {
        std::cout << "== " << name << '\n' << dump << '\n';
      }
    };
  }
  const std::string ground_text = options.show == "ground" ? compile::dump_ground(ground) : "";
  if (!options.json) std::cout << ground_text << (ground_text.empty() ? "" : "\n");
  const compile::Compiled compiled = compile::compile(ground, observe);
  const std::optional<std::string> list = listed(options.show, compiled.program);
  if (!options.save.empty()) write_file(options.save, saved);
  if (options.json) {
    ordered_json document = check_json(compiled);
    if (options.show == "ground") document["show"] = ground_text;
    if (options.show == "passes") document["show"] = pass_list;
    if (list) document["show"] = *list;
    if (options.show == "positions") document["show"] = positions_json(compiled.program);
    print_document(document, 2);
    return kDone;
  }
  if (list) std::cout << *list << '\n';
  print_summary(compiled);
  print_warnings(compiled.warnings);
  for (const asp::Warning& note : compiled.notes)
    std::cerr << note.location.str() << ": note: " << note.message << '\n';
  return kDone;
}

}  // namespace

Action declare_check(CLI::App& command) {
  auto options = std::make_shared<CheckOptions>();
  options->program = declare_program(command);
  command
      .add_option("--show", options->show,
                  "Also shows the ground program, what each pass found, every group, or every position with "
                  "its symbols")
      ->check(CLI::IsMember({"ground", "passes", "groups", "positions"}));
  command.add_option("--save", options->save, "Writes the compiled program, for machines without gringo")
      ->type_name("FILE.as2c");
  command.add_flag("--json", options->json, "One JSON document on standard output");
  CLI::Option* shortcuts = command.add_flag("--shortcuts", options->shortcuts,
                                            "Of a task (a name, or a TOML file): how many ways to name the "
                                            "classes of its pictures explain everything "
                                            "that is observed, 1 where it determines them");
  command.add_option("--preset", options->preset, "--shortcuts: a preset of the task")->needs(shortcuts);
  command.add_option("--set", options->settings, "--shortcuts: any setting of the task")->needs(shortcuts);
  command
      .add_option("--seconds", options->seconds,
                  "--shortcuts: seconds for the circuit, and again for the search")
      ->check(number_between(0.001, 1e9))
      ->capture_default_str()
      ->needs(shortcuts);
  return [options] {
    try {
      return check(*options);
    } catch (const std::exception& error) {
      if (options->json) {
        const bool lack = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
        const ordered_json document{{"error", lack ? "not enough memory" : error.what()}};
        print_document(document, 2);
      }
      throw;
    }
  };
}

}  // namespace as2::cli
