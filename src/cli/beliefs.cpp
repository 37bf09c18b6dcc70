#include "cli/beliefs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include "as2/solver.h"
#include "files.h"
#include "formats/safetensors.h"
#include "json_text.h"
#include "text.h"

namespace as2::cli {
namespace {

using nlohmann::json;

constexpr double kSumTolerance = 1e-3;

bool blank(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; });
}

// Where the key stands in the document, as far as can be told from its text.
SourceLocation locate(const Document& document, const std::string& key) {
  SourceLocation location = document.location;
  const std::size_t at = document.text.find(json_text(json(key)));
  if (at != std::string::npos) {
    location.line += static_cast<int>(std::count(document.text.begin(), document.text.begin() + at, '\n'));
  }
  return location;
}

// Parses an object whose keys are positions; a position given twice, or a symbol of one, is an error: the
// last one would win.
json parse_object(const Document& document, const std::string& what) {
  std::set<std::string> positions, symbols;
  std::string position, repeated, repeated_key;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (event != json::parse_event_t::key || depth > 2) return true;
    const std::string key = value.get<std::string>();
    const bool before = !repeated.empty();
    if (depth == 1) {
      position = key;
      symbols.clear();
      if (!positions.insert(key).second) repeated = "position " + in_quotes(key);
    } else if (!symbols.insert(key).second) {
      repeated = "symbol " + in_quotes(key) + " of position " + in_quotes(position);
    }
    if (!before && !repeated.empty()) repeated_key = position;
    return true;
  };
  json parsed;
  try {
    parsed = parse_json(document.text, document.location, watch);
  } catch (const json::parse_error& error) {
    SourceLocation location = document.location;
    const std::size_t end = std::min(document.text.size(), static_cast<std::size_t>(error.byte));
    location.line += static_cast<int>(std::count(document.text.begin(), document.text.begin() + end, '\n'));
    // "[json.exception.parse_error.101] parse error at …: syntax error while parsing object - unexpected …"
    std::string cause = error.what();
    const std::size_t dash = cause.find(" - ");
    if (dash != std::string::npos) cause.erase(0, dash + 3);
    std::vector<std::string> notes{"expected " + what};
    if (cause.find("invalid literal") != std::string::npos)
      notes.push_back("JSON knows true, false, null and numbers without quotes, but no NaN and no infinity");
    throw InputError(location, "not JSON: " + shortened(cause), std::move(notes));
  } catch (const json::exception& error) {
    throw InputError(document.location, std::string("not usable JSON: ") + error.what(),
                     {"expected " + what});
  }
  if (!parsed.is_object()) {
    throw InputError(document.location,
                     std::string("found a JSON ") + parsed.type_name() + ", expected an object",
                     {"expected " + what});
  }
  if (!repeated.empty()) throw InputError(locate(document, repeated_key), repeated + " is given twice");
  return parsed;
}

std::string nearest(const compile::ConstraintProgram& program, const std::string& name) {
  constexpr std::size_t kTooLong = 1000;  // the edit distance would take too long
  if (name.size() > kTooLong) return "";
  const compile::Position* best = nullptr;
  std::size_t distance = 0;
  for (const compile::Position& position : program.positions) {
    const std::size_t d = edit_distance(name, position.name);
    if (!best || d < distance) {
      best = &position;
      distance = d;
    }
  }
  return best ? best->name : "";
}

std::string found(const json& value) {
  return shortened(json_text(value));
}

// `find_position` scans all positions; with many documents a table is faster.
class PositionIndex {
 public:
  explicit PositionIndex(const compile::ConstraintProgram& program) : program_(program) {
    for (std::size_t i = 0; i < program.positions.size(); ++i) {
      index_.emplace(program.positions[i].name, static_cast<int>(i));
    }
  }
  int require(const Document& document, const std::string& name) const {
    const auto it = index_.find(name);
    return it != index_.end() ? it->second : require_position(program_, name, locate(document, name));
  }
  const compile::ConstraintProgram& program() const { return program_; }

 private:
  const compile::ConstraintProgram& program_;
  std::unordered_map<std::string, int> index_;
};

// A row must be a distribution; a row that merely does not sum to 1 is normalised, with a warning.
template <typename Locate>
void check_row(const compile::Position& position, double* row, const Locate& where,
               std::vector<std::string>& warnings) {
  const std::size_t width = position.symbols.size();
  const auto fail = [&](const std::string& message, std::vector<std::string> notes = {}) {
    throw InputError(where(), "beliefs of " + in_quotes(position.name) + ": " + message, std::move(notes));
  };
  double sum = 0;
  for (std::size_t s = 0; s < width; ++s) {
    if (!std::isfinite(row[s]) || row[s] < 0) {
      fail(in_quotes(position.symbols[s]) + " is " + std::to_string(row[s]) +
           ", expected a probability, not negative and finite");
    }
    sum += row[s];
  }
  if (!(sum > 0)) fail("all zero", {"leave the position out for a uniform belief"});
  if (!std::isfinite(sum)) fail("the sum is not finite");
  if (std::abs(sum - 1) > kSumTolerance) {
    warnings.push_back(where().str() + ": warning: beliefs of " + in_quotes(position.name) + " sum to " +
                       in_digits(sum) + "; normalised, with 0 for symbols left out");
    for (std::size_t s = 0; s < width; ++s) row[s] /= sum;
  }
}

// Fills one position's row with what the document gives for it.
void read_row(const Document& document, const compile::ConstraintProgram& program, int index,
              const json& given, double* row, std::vector<std::string>& warnings) {
  const compile::Position& position = program.positions[index];
  const auto fail = [&](const std::string& message, std::vector<std::string> notes = {}) {
    throw InputError(locate(document, position.name),
                     "beliefs of " + in_quotes(position.name) + ": " + message, std::move(notes));
  };
  if (!given.is_object()) {
    fail("found " + found(given) + ", expected an object of symbols",
         {"write {\"" + position.symbols.front() + "\": 1.0}"});
  }
  const std::size_t width = position.symbols.size();
  std::fill(row, row + width, 0.0);
  for (const auto& [symbol, value] : given.items()) {
    int s = program.find_symbol(index, symbol);
    if (s < 0) s = require_symbol(program, index, symbol, locate(document, position.name));
    if (!value.is_number()) fail(in_quotes(symbol) + " is " + found(value) + ", expected a number");
    row[s] = value.get<double>();
    // {"true": 0.2} says what is left for "false".
    if (width == 2 && given.size() == 1 && row[s] >= 0 && row[s] < 1) row[1 - s] = 1 - row[s];
  }
  check_row(
      position, row, [&] { return locate(document, position.name); }, warnings);
}

// Notes in `believed`, per position, whether the document lists it.
decode::Beliefs parse_beliefs(const Document& document, const PositionIndex& index,
                              std::vector<std::string>& warnings, std::vector<char>& believed) {
  const json parsed = parse_object(document, "beliefs like {\"cell(1,1,_)\": {\"1\": 0.9, \"2\": 0.1}}");
  const compile::ConstraintProgram& program = index.program();
  decode::Beliefs beliefs = infer::uniform_beliefs(program);
  believed.assign(program.positions.size(), 0);
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  for (const auto& [name, given] : parsed.items()) {
    const int i = index.require(document, name);
    believed[i] = 1;
    read_row(document, program, i, given, beliefs.data() + static_cast<std::size_t>(i) * stride, warnings);
  }
  return beliefs;
}

// `beliefs` [batch, positions, symbols], float32 or float64, padded to max_symbols().
std::vector<BeliefsEntry> read_tensor_beliefs(const std::string& path,
                                              const compile::ConstraintProgram& program) {
  const formats::SafeTensorFile file = formats::read_safetensors(path);
  const SourceLocation location{path};
  const formats::SafeTensor* tensor = file.find("beliefs");
  if (!tensor) {
    throw InputError(location, "has no tensor 'beliefs'",
                     {"expected beliefs [batch, positions, symbols], F32 or F64"});
  }
  const auto positions = static_cast<std::int64_t>(program.positions.size());
  const std::int64_t stride = program.max_symbols();
  const bool single = tensor->dtype == formats::Dtype::kF32;
  if ((!single && tensor->dtype != formats::Dtype::kF64) || tensor->shape.size() != 3 ||
      tensor->shape[1] != positions || tensor->shape[2] != stride) {
    throw InputError(
        location,
        "tensor 'beliefs' is " + std::string(formats::name_of(tensor->dtype)) + " " +
            json_text(json(tensor->shape)),
        {"expected F32 or F64 [batch, " + std::to_string(positions) + ", " + std::to_string(stride) + "]"});
  }
  if (tensor->shape[0] == 0) throw InputError(location, "tensor 'beliefs' has a batch of 0: nothing to do");
  const std::size_t size = static_cast<std::size_t>(positions * stride);
  std::vector<BeliefsEntry> entries(static_cast<std::size_t>(tensor->shape[0]));
  std::vector<float> narrow(size);
  for (std::size_t b = 0; b < entries.size(); ++b) {
    BeliefsEntry& entry = entries[b];
    entry.beliefs.resize(size);
    for (const compile::Position& position : program.positions) entry.believed.push_back(!position.guess);
    if (single) {
      std::memcpy(narrow.data(), tensor->data.data() + b * size * sizeof(float), size * sizeof(float));
      std::copy(narrow.begin(), narrow.end(), entry.beliefs.begin());
    } else {
      std::memcpy(entry.beliefs.data(), tensor->data.data() + b * size * sizeof(double),
                  size * sizeof(double));
    }
    try {
      const SourceLocation place{path + "[" + std::to_string(b) + "]"};
      for (std::int64_t i = 0; i < positions; ++i) {
        check_row(
            program.positions[static_cast<std::size_t>(i)], entry.beliefs.data() + i * stride,
            [&] { return place; }, entry.warnings);
      }
    } catch (const InputError& error) {
      if (entries.size() == 1) throw;
      entry.beliefs.clear();
      entry.error = error.what();
    }
  }
  return entries;
}

// Index of the name, or else of the only name that JSON prints as this one; -1 if there is none.
template <typename NameAt>
int find_printed(std::size_t count, const NameAt& name_at, const std::string& name) {
  int printed = -1;
  int alike = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (name_at(k) == name) return static_cast<int>(k);
  }
  if (name.find("\xEF\xBF\xBD") == std::string::npos) return -1;  // U+FFFD
  for (std::size_t k = 0; k < count; ++k) {
    if (as_utf8(name_at(k)) != name) continue;
    printed = static_cast<int>(k);
    ++alike;
  }
  return alike == 1 ? printed : -1;
}

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

int require_position(const compile::ConstraintProgram& program, const std::string& name,
                     const SourceLocation& location) {
  const int i = find_printed(
      program.positions.size(),
      [&](std::size_t k) -> const std::string& { return program.positions[k].name; }, name);
  if (i >= 0) return i;
  std::vector<std::string> notes;
  if (const std::string near = nearest(program, name); !near.empty())
    notes.push_back("the nearest position is " + in_quotes(near));
  if (notes.empty())
    notes.push_back("if it is an external atom, `--assume " + in_quotes(name) + "` makes it one");
  throw InputError(location, "the program has no position " + in_quotes(name), notes);
}

int require_symbol(const compile::ConstraintProgram& program, int position, const std::string& symbol,
                   const SourceLocation& location) {
  const std::vector<std::string>& symbols = program.positions[position].symbols;
  const int s = find_printed(
      symbols.size(), [&](std::size_t k) -> const std::string& { return symbols[k]; }, symbol);
  if (s >= 0) return s;
  throw InputError(
      location,
      "position " + in_quotes(program.positions[position].name) + " has no symbol " + in_quotes(symbol),
      {"its symbols are " + joined(program.positions[position].symbols, 12)});
}

AtPosition split_at_position(const compile::ConstraintProgram& program, const std::string& option,
                             const std::string& argument, const std::string& expected) {
  const std::size_t first = argument.find('=');
  if (first == std::string::npos) throw UsageError(option + " " + argument + ": expected " + expected);
  for (std::size_t at = first; at != std::string::npos; at = argument.find('=', at + 1)) {
    const std::string name = argument.substr(0, at);
    if (const int position = program.find_position(name); position >= 0)
      return {position, name, argument.substr(at + 1)};
  }
  return {-1, argument.substr(0, first), argument.substr(first + 1)};
}

std::vector<Document> split_documents(const std::string& text, const std::string& name) {
  std::vector<Document> lines;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (!blank(line)) lines.push_back({std::move(line), {name, number + 1}});
    begin = end + 1;
  }
  if (lines.empty()) throw InputError(SourceLocation{name}, "found nothing, expected a JSON document");
  if (lines.size() == 1 || json::accept(text)) return {{text, lines.front().location}};
  // The file is not one valid document. If no line is an object by itself, it is not one document per line
  // either, and the error is reported about the whole file.
  const bool one_a_line = std::any_of(lines.begin(), lines.end(), [](const Document& line) {
    const std::size_t first = line.text.find_first_not_of(" \t\r");
    return line.text[first] == '{' && json::accept(line.text);
  });
  if (one_a_line) return lines;
  return {{text, {name, 1}}};
}

// A pipe can be read only once, and more than one part of a verb asks for its documents.
std::vector<Document> read_documents(const std::string& path) {
  static std::map<std::string, std::string> streams;
  const std::string name = path == "-" ? "<stdin>" : path;
  std::error_code none;
  if (path != "-" && (std::filesystem::is_regular_file(path, none) || !std::filesystem::exists(path, none)))
    return split_documents(read_file(path), name);
  if (streams.count(path) == 0) {
    streams[path] = path == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_file(path);
  }
  return split_documents(streams.at(path), name);
}

decode::Beliefs parse_beliefs(const Document& document, const compile::ConstraintProgram& program,
                              std::vector<std::string>& warnings) {
  std::vector<char> believed;
  return parse_beliefs(document, PositionIndex(program), warnings, believed);
}

compile::Assignment parse_assignment(const Document& document, const compile::ConstraintProgram& program) {
  const json parsed = parse_object(document, "an assignment like {\"cell(1,1,_)\": \"5\"}");
  const PositionIndex index(program);
  compile::Assignment assignment(program.positions.size(), -1);
  for (const auto& [name, given] : parsed.items()) {
    const int i = index.require(document, name);
    const bool plain = given.is_number_integer() || given.is_boolean();
    if (!given.is_string() && !plain) {
      throw InputError(locate(document, name),
                       in_quotes(name) + " is " + found(given) + ", expected a symbol",
                       {"write \"" + program.positions[i].symbols.front() + "\""});
    }
    assignment[i] = require_symbol(program, i, plain ? json_text(given) : given.get<std::string>(),
                                   locate(document, name));
  }
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    if (assignment[i] < 0) {
      throw InputError(document.location, "no symbol for position " + in_quotes(program.positions[i].name),
                       {"an assignment gives every position one symbol"});
    }
  }
  return assignment;
}

nlohmann::ordered_json assignment_json(const compile::ConstraintProgram& program,
                                       const compile::Assignment& assignment) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  // Names are unique; `object[name]` would look through all that stand there already.
  auto& items = object.get_ref<nlohmann::ordered_json::object_t&>();
  items.reserve(assignment.size());
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    items.emplace_back(program.positions[i].name, program.positions[i].symbols[assignment[i]]);
  }
  return object;
}

std::vector<BeliefsEntry> read_beliefs(const std::string& path, const compile::ConstraintProgram& program) {
  if (path.empty()) {
    BeliefsEntry nothing;
    nothing.beliefs = infer::uniform_beliefs(program);
    nothing.believed.assign(program.positions.size(), 0);
    nothing.warnings.emplace_back("note: without --beliefs every position is uniform");
    return {nothing};
  }
  if (ends_with(path, ".safetensors")) return read_tensor_beliefs(path, program);
  const std::vector<Document> documents = read_documents(path);
  const PositionIndex index(program);
  std::vector<BeliefsEntry> entries;
  entries.reserve(documents.size());
  for (const Document& document : documents) {
    BeliefsEntry entry;
    try {
      entry.beliefs = parse_beliefs(document, index, entry.warnings, entry.believed);
    } catch (const InputError& error) {
      if (documents.size() == 1) throw;
      entry.error = error.what();
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

nlohmann::ordered_json groups_json(const compile::ConstraintProgram& program,
                                   const std::vector<int>& groups) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const int g : groups) {
    const compile::Group& group = program.groups[g];
    const compile::Family& family = program.families[group.family];
    nlohmann::ordered_json positions = nlohmann::ordered_json::array();
    for (const int i : group.positions) positions.push_back(program.positions[i].name);
    list.push_back({{"family", family.name},
                    {"file", family.location.file},
                    {"line", family.location.line},
                    {"positions", std::move(positions)}});
  }
  return list;
}

nlohmann::ordered_json changes_json(const compile::ConstraintProgram& program,
                                    const std::vector<decode::Change>& changes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const decode::Change& change : changes) {
    const compile::Position& position = program.positions[change.position];
    list.push_back({{"position", position.name},
                    {"read", position.symbols[change.read]},
                    {"decoded", position.symbols[change.decoded]},
                    {"p_read", change.p_read},
                    {"p_decoded", change.p_decoded}});
  }
  return list;
}

}  // namespace as2::cli
