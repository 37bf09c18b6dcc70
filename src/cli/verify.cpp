// as2 verify: clingo's word on assignments.
#include <CLI/CLI.hpp>
#include <iostream>

#include "as2/verifier.h"
#include "cli/beliefs.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyArguments {
  std::shared_ptr<ProgramOptions> program;
  std::string assignments;
  double time_limit = 300;
  bool json = false;
};

void refuse_what_clingo_cannot_read(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (file == "-") throw UsageError("verify reads the program twice: give it as a file, not as `-`");
    if (file.size() > 5 && file.compare(file.size() - 5, 5, ".as2c") == 0) {
      throw InputError({file}, "a compiled program, which clingo cannot read",
                       {"give the .lp file it was compiled from"});
    }
  }
}

// An assignment, or what `as2 decode --json` prints: a document that holds one.
Document unwrapped(const Document& document) {
  const Json json = Json::parse(document.text, nullptr, false);
  if (!json.is_object() || !json.contains("assignment")) return document;
  const Json& inner = json["assignment"];
  if (inner.is_null()) throw InputError(document.location, "there is no assignment: the decoder found none");
  return inner.is_object() ? Document{inner.dump(), document.location} : document;
}

Json json_of(const verify::Verdict& verdict) {
  Json document;
  document["valid"] = verdict.valid ? Json(*verdict.valid) : Json(nullptr);
  document["violated"] = Json::array();
  for (const verify::Violation& violation : verdict.violated) {
    const SourceLocation& place = violation.location;
    document["violated"].push_back({{"family", violation.family},
                                    {"file", place.file.empty() ? Json(nullptr) : Json(place.file)},
                                    {"line", place.line > 0 ? Json(place.line) : Json(nullptr)}});
  }
  if (!verdict.message.empty()) document["message"] = verdict.message;
  return document;
}

void print(const verify::Verdict& verdict) {
  std::cout << (!verdict.valid ? "unknown" : *verdict.valid ? "valid" : "not valid") << '\n';
  for (const verify::Violation& violation : verdict.violated) {
    const std::string place = violation.location.str();
    std::cout << "  violates " << violation.family << (place.empty() ? "" : " (" + place + ")") << '\n';
  }
}

int verify_assignments(const VerifyArguments& arguments) {
  refuse_what_clingo_cannot_read(arguments.program->files);
  const asp::GroundOptions ground_options = arguments.program->ground_options();
  const auto program = compile::compile_files(arguments.program->files, ground_options).program;
  const std::vector<Document> documents = read_documents(arguments.assignments);

  std::vector<verify::ChosenAtoms> assignments;
  std::vector<std::string> errors(documents.size());  // empty: the document is an assignment
  for (std::size_t k = 0; k < documents.size(); ++k) {
    try {
      assignments.push_back(
          verify::chosen_atoms(program, parse_assignment(unwrapped(documents[k]), program)));
    } catch (const InputError& error) {
      if (documents.size() == 1) throw;
      errors[k] = error.what();
      std::cerr << error.what() << '\n';
    }
  }
  verify::VerifyOptions options;
  options.constants = ground_options.constants;
  options.time_limit_seconds = arguments.time_limit;
  const std::vector<verify::Verdict> verdicts =
      verify::verify(arguments.program->files, assignments, options);

  std::string said;
  std::size_t next = 0;
  for (const std::string& error : errors) {
    if (!error.empty()) {
      std::cout << (arguments.json ? Json{{"error", error}}.dump() : "error") << '\n';
      continue;
    }
    const verify::Verdict& verdict = verdicts[next++];
    if (arguments.json) {
      std::cout << json_of(verdict).dump() << '\n';
    } else {
      print(verdict);
    }
    if (!verdict.message.empty() && verdict.message != said)
      std::cerr << "warning: " << verdict.message << '\n';
    said = verdict.message;
  }
  return next == errors.size() ? kDone : kInputAtFault;
}

}  // namespace

Action declare_verify(CLI::App& command) {
  auto arguments = std::make_shared<VerifyArguments>();
  arguments->program = declare_program(command);
  command
      .add_option("--assignment", arguments->assignments,
                  "JSON {position: symbol}, or what `as2 decode --json` prints; one or many, one a line; `-` "
                  "is standard input")
      ->required()
      ->type_name("FILE");
  command.add_option("--time-limit", arguments->time_limit, "Seconds clingo may take")
      ->capture_default_str()
      ->check(number_between(0.001, 1e9));
  command.add_flag("--json", arguments->json, "One JSON document an assignment, one a line");
  command.footer("Valid or not, both are answers: exit 0. `valid` in the document says which.");
  return [arguments] { return verify_assignments(*arguments); };
}

}  // namespace as2::cli
