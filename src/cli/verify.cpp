// as2 verify: clingo checks assignments.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "as2/verifier.h"
#include "cli/beliefs.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "json_text.h"
#include "text.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;

struct VerifyArguments {
  std::shared_ptr<ProgramOptions> program;
  std::string assignments;
  double time_limit = 300;
  bool json = false;
};

void refuse_what_clingo_cannot_read(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code none;
    const bool regular = std::filesystem::is_regular_file(file, none);
    if (file == "-" || (!regular && std::filesystem::exists(file, none)))
      throw UsageError("verify reads the program twice: give it as a file, not as " +
                       std::string(file == "-" ? "`-`" : "a pipe or a device"));
    if (file.size() > 5 && file.compare(file.size() - 5, 5, ".as2c") == 0) {
      throw InputError({file}, "a compiled program, which clingo cannot read",
                       {"give the .lp file it was compiled from"});
    }
  }
}

// The assignment in a document of `as2 decode --json`, or in one of its `models`; its `atoms` must be those
// that follow from it.
compile::Assignment parse_model(const nlohmann::json& model, const SourceLocation& location,
                                const ConstraintProgram& program) {
  if (!model.is_object() || !model.contains("assignment"))
    throw InputError(location, "found a model without `assignment`");
  if (model["assignment"].is_null())
    throw InputError(location, "there is no assignment: the decoder found none");
  const compile::Assignment assignment =
      parse_assignment({json_text(model["assignment"]), location}, program);
  if (!model.contains("atoms")) return assignment;
  std::vector<std::string> shown = compile::shown_atoms(program, assignment);
  for (std::string& atom : shown) atom = as_utf8(atom);
  if (model["atoms"] != nlohmann::json(shown)) {
    throw InputError(location, "`atoms` are not those that follow from `assignment`",
                     {"leave `atoms` out, or give what `as2 decode` printed with it"});
  }
  return assignment;
}

// The assignments of a document: one, or what `as2 decode --json` printed, all its `models` included.
std::vector<compile::Assignment> parse_document(const Document& document, const ConstraintProgram& program) {
  const auto json = parse_json(document.text, document.location, nullptr, false);
  const bool decoded = json.is_object() && json.contains("assignment") &&
                       (json["assignment"].is_object() || json["assignment"].is_null());
  if (!decoded) return {parse_assignment(document, program)};
  std::vector<compile::Assignment> assignments = {parse_model(json, document.location, program)};
  if (!json.contains("models")) return assignments;
  for (const auto& model : json["models"]) {
    compile::Assignment assignment = parse_model(model, document.location, program);
    if (assignment != assignments.front()) assignments.push_back(std::move(assignment));
  }
  return assignments;
}

// One verdict on all the assignments of a document: that of the first invalid one, if any.
verify::Verdict verdict_on_all(const verify::Verdict* first, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (first[k].valid == true) continue;
    verify::Verdict verdict = first[k];
    if (count > 1 && verdict.valid == false)
      verdict.message +=
          (verdict.message.empty() ? "" : "; ") + ("model " + std::to_string(k + 1)) + " is not valid";
    return verdict;
  }
  return first[0];
}

std::string line_of(const Json& json) {
  return json_text(json);
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

// Documents that are verified together: clingo grounds the program once for all of them.
constexpr std::size_t kDocumentsAtOnce = 1000;

class Verifying {
 public:
  explicit Verifying(const VerifyArguments& arguments) : arguments_(arguments) {
    refuse_what_clingo_cannot_read(arguments.program->files);
    const asp::GroundOptions ground_options = arguments.program->ground_options();
    asp::GroundProgram ground = asp::ground(arguments.program->files, ground_options);
    const std::vector<std::string> named = externals_named(ground, arguments.assignments);
    asp::free_externals(ground, named);
    program_ = compile::compile(ground).program;
    options_.constants = ground_options.constants;
    options_.assume = ground_options.assume;
    options_.assume.insert(options_.assume.end(), named.begin(), named.end());
    options_.time_limit_seconds = arguments.time_limit;
  }

  int run() {
    Documents documents(arguments_.assignments);
    while (documents.take(kDocumentsAtOnce, [&](const Document& one) { read(one, documents); })) {
      answer();
      flush_output();
    }
    return code_;
  }

 private:
  // A document's place among `assignments_`, or why it holds none.
  struct Read {
    std::size_t begin = 0, end = 0;
    std::string error;
  };

  void read(const Document& document, Documents& documents) {
    Read read{assignments_.size(), 0, ""};
    try {
      for (const compile::Assignment& assignment : parse_document(document, program_)) {
        assignments_.push_back(verify::chosen_atoms(program_, assignment));
        assignments_.back().shown = compile::shown_atoms(program_, assignment);
      }
    } catch (const InputError& error) {
      if (documents.only_one()) throw;
      read.error = error.what();
      std::cerr << error.what() << '\n';
    }
    read.end = assignments_.size();
    read_.push_back(read);
  }

  // Prints the verdicts on what was read, and forgets it.
  void answer() {
    const std::vector<verify::Verdict> verdicts =
        verify::verify(arguments_.program->files, assignments_, options_);
    for (const Read& read : read_) {
      if (!read.error.empty()) {
        std::cout << (arguments_.json ? line_of({{"error", read.error}}) : "error") << '\n';
        code_ = kInputAtFault;
        continue;
      }
      const verify::Verdict verdict = verdict_on_all(verdicts.data() + read.begin, read.end - read.begin);
      if (arguments_.json) {
        std::cout << line_of(json_of(verdict)) << '\n';
      } else {
        print(verdict);
      }
      if (!verdict.message.empty() && verdict.message != said_)
        std::cerr << "warning: " << readable(verdict.message) << '\n';
      said_ = verdict.message;
    }
    read_.clear();
    assignments_.clear();
  }

  const VerifyArguments& arguments_;
  ConstraintProgram program_;
  verify::VerifyOptions options_;
  std::vector<Read> read_;
  std::vector<verify::ChosenAtoms> assignments_;
  std::string said_;
  int code_ = kDone;
};

}  // namespace

Action declare_verify(CLI::App& command) {
  auto arguments = std::make_shared<VerifyArguments>();
  arguments->program = declare_program(command, ProgramForm::kText);
  command
      .add_option(
          "--assignment", arguments->assignments,
          "JSON {position: symbol}, or what `as2 decode --json` prints; one or many, one per line; `-` "
          "is standard input")
      ->required()
      ->type_name("FILE");
  command.add_option("--time-limit", arguments->time_limit, "Seconds clingo may take")
      ->capture_default_str()
      ->check(number_between(0.001, 1e9));
  command.add_flag("--json", arguments->json, "One JSON document per assignment, one per line");
  command.footer(
      "Valid or not, both are answers: exit 0. `valid` in the document says which. Where there is no clingo, "
      "or "
      "it\n"
      "did not finish, `valid` is null (`unknown` without --json) and `message` says why; that is exit 0, "
      "too.");
  return [arguments] { return Verifying(*arguments).run(); };
}

}  // namespace as2::cli
