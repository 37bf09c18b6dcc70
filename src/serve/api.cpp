// Values travel as `--name=value`, never as separate words, so that none can be taken for an option. What the
// command line would read from a file is written to one whose name we choose: no request names a path.
#include "serve/api.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "as2/error.h"
#include "json_text.h"
#include "text.h"

namespace as2::serve {
namespace {

using nlohmann::json;

// How a field's value becomes arguments.
enum class Kind {
  kFlag,      // true: `--name`
  kValue,     // a string, number or Boolean: `--name=value`
  kList,      // one `--name=value` per element
  kPairs,     // an object: one `--name=key=value` per member
  kDocument,  // any JSON: a file, `--name=name.json`
  kLines,     // a list of strings: a file with one per line, `--name=name.txt`
};

struct Field {
  const char* name;
  Kind kind;
};

struct Endpoint {
  const char* verb;
  std::vector<Field> fields;
  std::vector<std::string> required;
  bool takes_compiled = true;
};

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> table = {
      {"check", {{"show", Kind::kValue}}, {}},
      {"decode",
       {{"beliefs", Kind::kDocument},
        {"method", Kind::kValue},
        {"evidence", Kind::kLines},
        {"pin", Kind::kPairs},
        {"models", Kind::kValue},
        {"unique", Kind::kFlag},
        {"unique_margin", Kind::kValue},
        {"unique_readings", Kind::kValue},
        {"explain", Kind::kFlag},
        {"objective_weight", Kind::kList},
        {"objective_first", Kind::kFlag},
        {"node_budget", Kind::kValue},
        {"time_budget", Kind::kValue}},
       {}},
      {"prob",
       {{"beliefs", Kind::kDocument},
        {"query", Kind::kList},
        {"distribution", Kind::kList},
        {"marginals", Kind::kFlag},
        {"count", Kind::kFlag},
        {"sample", Kind::kValue},
        {"seed", Kind::kValue},
        {"approx", Kind::kValue},
        {"approx_size", Kind::kValue},
        {"time_budget", Kind::kValue},
        {"memory_budget", Kind::kValue}},
       {}},
      {"tp", {{"beliefs", Kind::kDocument}, {"refine", Kind::kValue}, {"reduction", Kind::kValue}}, {}},
      {"verify",
       {{"assignment", Kind::kDocument}, {"time_limit", Kind::kValue}},
       {"assignment"},
       /*takes_compiled=*/false},
  };
  return table;
}

const std::vector<Field> kProgramFields = {
    {"const", Kind::kPairs}, {"assume", Kind::kList}, {"grounding_size", Kind::kValue}};

std::string option(const std::string& field) {
  std::string name = "--" + field;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

[[noreturn]] void refuse(const std::string& field, const char* expected, const json& found) {
  throw InputError("field " + in_quotes(field) + ": found a JSON " + found.type_name() + ", expected " +
                   expected);
}

// A scalar as it is typed on the command line. A NUL would cut it short there.
std::string word(const std::string& field, const json& value) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.find('\0') != std::string::npos)
      throw InputError("field " + in_quotes(field) + ": found a character NUL");
    return text;
  }
  if (value.is_number() || value.is_boolean()) return json_text(value);
  refuse(field, "a string or a number", value);
}

void add_field(const Field& field, const json& value, Call& call) {
  const std::string name = option(field.name);
  const auto add = [&](const std::string& text) {
    // `--name=` would take the word behind it for its value.
    if (text.empty()) throw InputError("field " + in_quotes(field.name) + ": the value is empty");
    call.arguments.push_back(name + "=" + text);
  };
  switch (field.kind) {
    case Kind::kFlag:
      if (!value.is_boolean()) refuse(field.name, "true or false", value);
      if (value.get<bool>()) call.arguments.push_back(name);
      return;
    case Kind::kValue:
      add(word(field.name, value));
      return;
    case Kind::kList:
      if (!value.is_array()) refuse(field.name, "a list", value);
      for (const json& element : value) add(word(field.name, element));
      return;
    case Kind::kPairs:
      if (!value.is_object()) refuse(field.name, "an object", value);
      for (const auto& [key, own] : value.items()) add(word(field.name, key) + "=" + word(field.name, own));
      return;
    case Kind::kDocument:
      if (!value.is_object()) refuse(field.name, "an object", value);
      call.files.emplace_back(std::string(field.name) + ".json", json_text(value));
      add(call.files.back().first);
      return;
    case Kind::kLines: {
      if (!value.is_array()) refuse(field.name, "a list", value);
      std::string lines;
      for (const json& element : value) lines += word(field.name, element) + "\n";
      call.files.emplace_back(std::string(field.name) + ".txt", lines);
      add(call.files.back().first);
      return;
    }
  }
}

const Field* find_field(const std::vector<Field>& fields, const std::string& name) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return name == field.name; });
  return found == fields.end() ? nullptr : &*found;
}

std::string listed(const Endpoint& endpoint) {
  std::string names = endpoint.takes_compiled ? "program, compiled" : "program";
  for (const auto* fields : {&kProgramFields, &endpoint.fields}) {
    for (const Field& field : *fields) names += std::string(", ") + field.name;
  }
  return names;
}

json parse(const std::string& body) {
  try {
    json document = parse_json(body, {});
    if (!document.is_object())
      throw InputError(std::string("found a JSON ") + document.type_name() + ", expected an object",
                       {"send {\"program\": \"…\", …}"});
    return document;
  } catch (const json::exception& error) {
    throw InputError("the body is not JSON: " + shortened(error.what()), {"send {\"program\": \"…\", …}"});
  }
}

// The program's text or compiled form as a file, which the verb's first argument names.
void add_program(const Endpoint& endpoint, const json& document, Call& call) {
  const bool compiled = endpoint.takes_compiled && document.contains("compiled");
  const char* field = compiled ? "compiled" : "program";
  if (compiled && document.contains("program"))
    throw InputError("both 'program' and 'compiled' are given, expected one of them");
  if (!document.contains(field)) throw InputError("field 'program' is missing", {"it is the program's text"});
  if (!document[field].is_string()) refuse(field, "a string", document[field]);
  call.files.emplace_back(compiled ? "program.as2c" : "program.lp", document[field].get<std::string>());
  call.arguments.push_back(call.files.back().first);
}

}  // namespace

const std::vector<std::string>& json_verbs() {
  static const std::vector<std::string> verbs = [] {
    std::vector<std::string> names;
    for (const Endpoint& endpoint : endpoints()) names.emplace_back(endpoint.verb);
    return names;
  }();
  return verbs;
}

Reply error_reply(int status, const std::string& message) {
  return {status, json_text(json{{"error", message}}) + "\n"};
}

Call call_of_document(const std::string& verb, const std::string& body, const CallLimits& limits) {
  const auto endpoint = std::find_if(endpoints().begin(), endpoints().end(),
                                     [&](const Endpoint& candidate) { return verb == candidate.verb; });
  AS2_REQUIRE(endpoint != endpoints().end(), "a verb of json_verbs()");
  const json document = parse(body);
  Call call;
  // gringo's share of both limits is smaller than the verb's, so that its own message comes first.
  call.arguments = {verb, "--no-include", "--json",
                    "--grounding-seconds=" + std::to_string(limits.seconds * 0.8),
                    "--grounding-mib=" + std::to_string(limits.mib / 2)};
  add_program(*endpoint, document, call);
  for (const std::string& name : endpoint->required) {
    if (!document.contains(name)) throw InputError("field '" + name + "' is missing");
  }
  for (const auto& [name, value] : document.items()) {
    if (name == "program" || (name == "compiled" && endpoint->takes_compiled)) continue;
    const Field* field = find_field(kProgramFields, name);
    if (!field) field = find_field(endpoint->fields, name);
    if (!field) {
      throw InputError("there is no field " + in_quotes(name), {"`" + verb + "` has: " + listed(*endpoint)});
    }
    add_field(*field, value, call);
  }
  return call;
}

Call call_of_picture(const std::string& body, const std::multimap<std::string, std::string>& parameters) {
  static const std::vector<Field> fields = {
      {"explain", Kind::kFlag}, {"box", Kind::kValue}, {"passes", Kind::kValue}, {"restarts", Kind::kValue}};
  if (body.empty()) throw InputError("the body is empty, expected a picture: PNG, JPEG, BMP or PGM");
  Call call;
  call.files.emplace_back("picture", body);
  call.arguments = {"solve", "picture", "--json"};
  for (const auto& [name, value] : parameters) {
    const Field* field = find_field(fields, name);
    if (!field)
      throw InputError("there is no parameter " + in_quotes(name),
                       {"`solve` has: explain, box, passes, restarts"});
    if (field->kind == Kind::kFlag) {
      if (value != "true" && value != "false")
        throw InputError("parameter '" + name + "': found " + in_quotes(value) + ", expected true or false");
      add_field(*field, value == "true", call);
    } else {
      add_field(*field, value, call);
    }
  }
  return call;
}

}  // namespace as2::serve
