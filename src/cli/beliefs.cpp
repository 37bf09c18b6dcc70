#include "cli/beliefs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "as2/solver.h"
#include "compile/position_hints.h"
#include "compile/position_index.h"
#include "formats/safetensors.h"
#include "json_text.h"
#include "text.h"

namespace as2::cli {
namespace {

using nlohmann::json;

constexpr double kSumTolerance = 1e-3;
// How many entries, and how many probabilities in them, are held at once: enough work for all cores.
constexpr std::size_t kEntriesAtOnce = 1000, kValuesAtOnce = std::size_t{4} << 20;

// Where the key stands in the document, as far as can be told from its text.
SourceLocation locate(const Document& document, const std::string& key) {
  SourceLocation location = document.location;
  const std::size_t at = document.text.find(json_text(json(key)));
  if (at != std::string::npos) {
    location.line += static_cast<int>(std::count(document.text.begin(), document.text.begin() + at, '\n'));
  }
  return location;
}

// Parses an object whose keys are positions.
json parse_object(const Document& document, const std::string& what) {
  json parsed;
  try {
    parsed = parse_json(document.text, document.location);
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
  return parsed;
}

std::string found(const json& value) {
  return shortened(json_text(value));
}

class NamedPositions {
 public:
  explicit NamedPositions(const compile::ConstraintProgram& program) : program_(program), index_(program) {}
  int require(const Document& document, const std::string& name) const {
    const int position = index_.find(name);
    return position >= 0 ? position : require_position(program_, name, locate(document, name));
  }
  const compile::ConstraintProgram& program() const { return program_; }

 private:
  const compile::ConstraintProgram& program_;
  compile::PositionIndex index_;
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

// What was given in place of a distribution, written as one: 0.8 of a Boolean position is that of true.
std::string as_row(const compile::Position& position, const json& given) {
  const auto holds = [&](const std::string& symbol) {
    return std::find(position.symbols.begin(), position.symbols.end(), symbol) != position.symbols.end();
  };
  if (given.is_string() && holds(given.get<std::string>())) return json{{given.get<std::string>(), 1}}.dump();
  if (given.is_boolean() && position.boolean) return json{{json_text(given), 1}}.dump();
  if (given.is_number() && position.boolean && given >= 0 && given <= 1) return json{{"true", given}}.dump();
  json row = json::object();
  for (std::size_t s = 0; s < std::min<std::size_t>(position.symbols.size(), 2); ++s)
    row[as_utf8(position.symbols[s])] = position.symbols.size() > 1 ? 0.5 : 1;
  return row.dump();
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
    fail("found " + found(given) + ", expected an object of symbols", {"write " + as_row(position, given)});
  }
  const std::size_t width = position.symbols.size();
  std::fill(row, row + width, 0.0);
  std::vector<char> listed(width, 0);
  for (const auto& [symbol, value] : given.items()) {
    int s = program.find_symbol(index, symbol);
    if (s < 0) s = require_symbol(program, index, symbol, locate(document, position.name));
    if (listed[s] != 0) fail("symbol " + in_quotes(symbol) + " is given twice");
    listed[s] = 1;
    if (!value.is_number()) fail(in_quotes(symbol) + " is " + found(value) + ", expected a number");
    row[s] = value.get<double>();
    // {"true": 0.2} says what is left for "false".
    if (width == 2 && given.size() == 1 && row[s] >= 0 && row[s] < 1) row[1 - s] = 1 - row[s];
  }
  check_row(
      position, row, [&] { return locate(document, position.name); }, warnings);
}

// Notes in `believed`, per position, whether the document lists it.
decode::Beliefs parse_beliefs(const Document& document, const NamedPositions& index,
                              std::vector<std::string>& warnings, std::vector<char>& believed) {
  const json parsed = parse_object(document, "beliefs like {\"cell(1,1,_)\": {\"1\": 0.9, \"2\": 0.1}}");
  const compile::ConstraintProgram& program = index.program();
  decode::Beliefs beliefs = infer::uniform_beliefs(program);
  believed.assign(program.positions.size(), 0);
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  for (const auto& [name, given] : parsed.items()) {
    const int i = index.require(document, name);
    if (believed[i] != 0)
      throw InputError(locate(document, name), "position " + in_quotes(name) + " is given twice");
    believed[i] = 1;
    read_row(document, program, i, given, beliefs.data() + static_cast<std::size_t>(i) * stride, warnings);
  }
  return beliefs;
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
      [&](std::size_t k) -> const std::string& { return program.positions[k].name; }, as_printed(name));
  if (i >= 0) return i;
  std::vector<std::string> notes{compile::position_hint(program, name)};
  if (notes[0] == compile::position_names(program))
    notes.push_back("if it is an external atom, `--assume " + in_quotes(name) + "` makes it one");
  throw InputError(location, "the program has no position " + in_quotes(name), notes);
}

int require_symbol(const compile::ConstraintProgram& program, int position, const std::string& symbol,
                   const SourceLocation& location) {
  const std::vector<std::string>& symbols = program.positions[position].symbols;
  const int s = find_printed(
      symbols.size(), [&](std::size_t k) -> const std::string& { return symbols[k]; }, as_printed(symbol));
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

decode::Beliefs parse_beliefs(const Document& document, const compile::ConstraintProgram& program,
                              std::vector<std::string>& warnings) {
  std::vector<char> believed;
  return parse_beliefs(document, NamedPositions(program), warnings, believed);
}

compile::Assignment parse_assignment(const Document& document, const compile::ConstraintProgram& program) {
  const json parsed = parse_object(document, "an assignment like {\"cell(1,1,_)\": \"5\"}");
  const NamedPositions index(program);
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

class BeliefsReader::Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  virtual std::optional<BeliefsEntry> next() = 0;
  virtual bool waits() { return false; }
  virtual bool only_one() = 0;
};

namespace {

class Nothing : public BeliefsReader::Source {
 public:
  explicit Nothing(const compile::ConstraintProgram& program) : program_(program) {}
  std::optional<BeliefsEntry> next() override {
    if (given_) return std::nullopt;
    given_ = true;
    BeliefsEntry entry;
    entry.beliefs = infer::uniform_beliefs(program_);
    entry.believed.assign(program_.positions.size(), 0);
    entry.warnings.emplace_back("note: without --beliefs every position is uniform");
    return entry;
  }
  bool only_one() override { return true; }

 private:
  const compile::ConstraintProgram& program_;
  bool given_ = false;
};

class JsonBeliefs : public BeliefsReader::Source {
 public:
  JsonBeliefs(const std::string& path, const compile::ConstraintProgram& program)
      : index_(program), documents_(path) {}
  std::optional<BeliefsEntry> next() override {
    const auto document = documents_.next();
    if (!document) return std::nullopt;
    BeliefsEntry entry;
    try {
      entry.beliefs = parse_beliefs(*document, index_, entry.warnings, entry.believed);
    } catch (const InputError& error) {
      if (documents_.only_one()) throw;
      entry.error = error.what();
    }
    return entry;
  }
  bool waits() override { return documents_.waits(); }
  bool only_one() override { return documents_.only_one(); }

 private:
  NamedPositions index_;
  Documents documents_;
};

class TensorBeliefs : public BeliefsReader::Source {
 public:
  TensorBeliefs(const std::string& path, const compile::ConstraintProgram& program)
      : path_(path),
        program_(program),
        file_(formats::read_safetensors(path)),
        tensor_(file_.find("beliefs")) {
    if (!tensor_) {
      throw InputError({path}, "has no tensor 'beliefs'",
                       {"expected beliefs [batch, positions, symbols], F32 or F64"});
    }
    const auto positions = static_cast<std::int64_t>(program.positions.size());
    const std::int64_t stride = program.max_symbols();
    if ((!single() && tensor_->dtype != formats::Dtype::kF64) || tensor_->shape.size() != 3 ||
        tensor_->shape[1] != positions || tensor_->shape[2] != stride) {
      throw InputError(
          {path},
          "tensor 'beliefs' is " + std::string(formats::name_of(tensor_->dtype)) + " " +
              json_text(json(tensor_->shape)),
          {"expected F32 or F64 [batch, " + std::to_string(positions) + ", " + std::to_string(stride) + "]"});
    }
    if (batch() == 0) throw InputError({path}, "tensor 'beliefs' has a batch of 0: nothing to do");
  }
  std::optional<BeliefsEntry> next() override {
    if (next_ == batch()) return std::nullopt;
    const std::size_t row = next_++;
    const auto stride = static_cast<std::size_t>(program_.max_symbols());
    const std::size_t size = program_.positions.size() * stride;
    BeliefsEntry entry;
    entry.beliefs.resize(size);
    for (const compile::Position& position : program_.positions) entry.believed.push_back(!position.guess);
    if (single()) {
      std::vector<float> narrow(size);
      std::memcpy(narrow.data(), tensor_->data.data() + row * size * sizeof(float), size * sizeof(float));
      std::copy(narrow.begin(), narrow.end(), entry.beliefs.begin());
    } else {
      std::memcpy(entry.beliefs.data(), tensor_->data.data() + row * size * sizeof(double),
                  size * sizeof(double));
    }
    const auto place = [&] { return SourceLocation{path_ + "[" + std::to_string(row) + "]"}; };
    try {
      for (std::size_t i = 0; i < program_.positions.size(); ++i)
        check_row(program_.positions[i], entry.beliefs.data() + i * stride, place, entry.warnings);
    } catch (const InputError& error) {
      if (only_one()) throw;
      entry.beliefs.clear();
      entry.error = error.what();
    }
    return entry;
  }
  bool only_one() override { return batch() == 1; }

 private:
  bool single() const { return tensor_->dtype == formats::Dtype::kF32; }
  std::size_t batch() const { return static_cast<std::size_t>(tensor_->shape[0]); }

  std::string path_;
  const compile::ConstraintProgram& program_;
  formats::SafeTensorFile file_;
  const formats::SafeTensor* tensor_;
  std::size_t next_ = 0;
};

}  // namespace

BeliefsReader::BeliefsReader(const std::string& path, const compile::ConstraintProgram& program) {
  const std::size_t values = program.positions.size() * static_cast<std::size_t>(program.max_symbols());
  most_ = std::clamp<std::size_t>(kValuesAtOnce / std::max<std::size_t>(values, 1), 1, kEntriesAtOnce);
  if (path.empty())
    source_ = std::make_unique<Nothing>(program);
  else if (ends_with(path, ".safetensors"))
    source_ = std::make_unique<TensorBeliefs>(path, program);
  else
    source_ = std::make_unique<JsonBeliefs>(path, program);
}

BeliefsReader::~BeliefsReader() = default;

std::vector<BeliefsEntry> BeliefsReader::some() {
  std::vector<BeliefsEntry> entries;
  while (entries.size() < most_ && (entries.empty() || !source_->waits())) {
    auto entry = source_->next();
    if (!entry) break;
    entries.push_back(std::move(*entry));
  }
  return entries;
}

bool BeliefsReader::only_one() {
  return source_->only_one();
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
