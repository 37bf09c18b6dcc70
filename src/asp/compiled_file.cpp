// `.as2c`: tagged aspif whose comment lines (`10 …`) behind the header hold the source map, one JSON value
// per line.

#include "asp/compiled_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "asp/aspif.h"
#include "json_text.h"
#include "text.h"

namespace as2::asp {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kMapPrefix = "as2 map ";
constexpr const char* kStatementPrefix = "as2 statement ";
constexpr const char* kWarningPrefix = "as2 warning ";

StatementKind kind_of(const std::string& name) {
  for (const auto& [value, kind] : kKindNames) {
    if (name == kind) return value;
  }
  throw InputError("`" + name + "` is no kind of statement");
}

Json to_json(const SourceLocation& place) {
  return Json::array({place.file, place.line, place.column, place.end_line, place.end_column});
}

int number_of(const Json& json) {
  if (!json.is_number_integer() || json < 0 || json > 1000000000)
    throw InputError("the source map has " + in_quotes(json_text(json)) + " where a whole number stands");
  return json.get<int>();
}

SourceLocation location_of(const Json& json) {
  SourceLocation place;
  place.file = json.at(0).get<std::string>();
  place.line = number_of(json.at(1));
  place.column = number_of(json.at(2));
  place.end_line = number_of(json.at(3));
  place.end_column = number_of(json.at(4));
  return place;
}

std::string comment_line(const char* prefix, const Json& json) {
  return "10 " + std::string(prefix) + json_text(json) + "\n";
}

// Collects the source map from the comments and ignores the rest.
class MapReader : public AspifHandler {
 public:
  void rule(Rule&&) override {}
  void minimize(Minimize&&) override {}
  void output(std::string&&, const std::vector<Lit>&) override {}
  void external(Atom, int) override {}
  void edge(int, int, const std::vector<Lit>&) override {}

  void comment(std::string_view text) override {
    try {
      if (const auto json = value(text, kMapPrefix); !json.is_null()) {
        read_map(json);
      } else if (const auto statement = value(text, kStatementPrefix); !statement.is_null()) {
        read_statement(statement);
      } else if (const auto warning = value(text, kWarningPrefix); !warning.is_null()) {
        map.warnings.push_back({location_of(warning.at("place")), warning.at("message").get<std::string>()});
      }
    } catch (const Json::exception& error) {
      throw InputError(here(), std::string("the source map cannot be read: ") + error.what());
    }
  }

  SourceMap map;
  bool has_map = false;

 private:
  Json value(std::string_view text, std::string_view prefix) const {
    if (text.substr(0, prefix.size()) != prefix) return nullptr;
    return parse_json<Json>(text.substr(prefix.size()), here());
  }

  void read_map(const Json& json) {
    if (number_of(json.at("version")) != kVersion) {
      throw InputError(here(), "version " + std::to_string(kVersion) + " of the source map expected");
    }
    has_map = true;
    map.show_all = json.at("show_all").get<bool>();
    map.shown_signatures = json.at("shown").get<std::vector<std::string>>();
  }

  void read_statement(const Json& json) {
    Statement statement;
    statement.kind = kind_of(json.at("kind").get<std::string>());
    statement.name = json.at("name").get<std::string>();
    statement.location = location_of(json.at("place"));
    statement.text = json.at("text").get<std::string>();
    statement.heads = json.at("heads").get<std::vector<std::string>>();
    map.statements.push_back(std::move(statement));
  }
};

}  // namespace

std::string write_compiled(const std::string& aspif, const SourceMap& map) {
  const std::size_t header_end = aspif.find('\n');
  AS2_REQUIRE(header_end != std::string::npos, "aspif was expected");
  std::string text = aspif.substr(0, header_end + 1);
  text += comment_line(kMapPrefix,
                       {{"version", kVersion}, {"show_all", map.show_all}, {"shown", map.shown_signatures}});
  for (const auto& statement : map.statements) {
    text += comment_line(kStatementPrefix, {{"kind", kind_name(statement.kind)},
                                            {"name", statement.name},
                                            {"place", to_json(statement.location)},
                                            {"text", statement.text},
                                            {"heads", statement.heads}});
  }
  for (const auto& warning : map.warnings) {
    text +=
        comment_line(kWarningPrefix, {{"place", to_json(warning.location)}, {"message", warning.message}});
  }
  return text + aspif.substr(header_end + 1);
}

SourceMap read_source_map(std::string_view text, const std::string& name) {
  MapReader reader;
  read_aspif(text, name, reader);
  if (!reader.has_map) {
    SourceLocation place;
    place.file = name;
    throw InputError(place, "has no source map, so it is not a compiled program of AS2",
                     {"make one by `as2 check PROGRAM.lp --save PROGRAM.as2c`"});
  }
  return std::move(reader.map);
}

}  // namespace as2::asp
