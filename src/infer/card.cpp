#include "infer/card.h"

#include <algorithm>
#include <set>

#include "as2/resources.h"
#include "files.h"
#include "formats/sha256.h"
#include "json_text.h"
#include "text.h"

namespace as2::infer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kCardVersion = 2;

const json& preprocessing() {
  static const json value = {{"width", kPictureSide}, {"height", kPictureSide}, {"paper", 0}, {"ink", 1}};
  return value;
}

// The group says "all different" of its positions: one slot per symbol, in which every position that has the
// symbol is a member.
bool all_different(const compile::ConstraintProgram& program, const compile::Group& group) {
  const auto* slots = std::get_if<compile::Slots>(&group.content);
  if (slots == nullptr) return false;
  std::set<int> seen;
  for (const auto& slot : *slots) {
    if (slot.members.empty() || slot.members[0].symbols.size() != 1) return false;
    const int symbol = slot.members[0].symbols[0];
    std::size_t holders = 0;
    for (const int i : group.positions) {
      holders += static_cast<std::size_t>(symbol) < program.positions[i].symbols.size() ? 1 : 0;
    }
    if (slot.members.size() != holders || !seen.insert(symbol).second) return false;
    for (const auto& member : slot.members) {
      if (member.symbols.size() != 1 || member.symbols[0] != symbol) return false;
    }
  }
  return static_cast<int>(seen.size()) == program.max_symbols();
}

// One object of a card while it is read: every field is asked for by name and type.
class Fields {
 public:
  Fields(const json& object, std::string path, const std::string& file)
      : object_(object), path_(std::move(path)), file_(file) {
    if (!object.is_object()) refuse("", object, "an object");
  }

  std::string text(const char* name) const {
    const json& value = get(name);
    if (!value.is_string()) refuse(name, value, "a string");
    return value;
  }
  int count(const char* name, int low, int high) const {
    const json& value = get(name);
    if (!is_count(value, low, high))
      refuse(name, value, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return value;
  }
  bool boolean(const char* name) const {
    const json& value = get(name);
    if (!value.is_boolean()) refuse(name, value, "true or false");
    return value;
  }
  std::vector<std::string> texts(const char* name) const {
    const json& value = list(name);
    for (const json& entry : value) {
      if (!entry.is_string()) refuse(name, entry, "strings");
    }
    return value;
  }
  std::vector<int> counts(const char* name, int low, int high) const {
    const json& value = list(name);
    for (const json& entry : value) {
      if (!is_count(entry, low, high))
        refuse(name, entry, "whole numbers from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
  }
  const json& list(const char* name) const {
    const json& value = get(name);
    if (!value.is_array()) refuse(name, value, "a list");
    return value;
  }
  const json& get(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end())
      throw InputError({file_}, "not a model card: the field " + in_quotes(path_ + name) + " is missing");
    return *found;
  }

  [[noreturn]] void refuse(const std::string& name, const json& value, const std::string& expected) const {
    std::string found = json_text(value);
    if (found.size() > 60) found = found.substr(0, 57) + "…";
    throw InputError({file_},
                     "the field " + in_quotes(path_ + name) + " is " + found + ", expected " + expected);
  }

 private:
  static bool is_count(const json& value, int low, int high) {
    return value.is_number_integer() && value >= low && value <= high;
  }
  const json& object_;
  std::string path_;
  const std::string& file_;
};

constexpr int kMost = 1 << 20;  // positions, symbols, groups: more is no program but a damaged file

ProgramShape read_shape(const json& object, const std::string& file) {
  const Fields fields(object, "program.", file);
  ProgramShape shape;
  shape.hash = fields.text("hash");
  shape.symbols = fields.count("symbols", 1, kMost);
  shape.families = fields.texts("families");
  shape.positions = fields.texts("positions");
  shape.domains = fields.counts("domains", 1, shape.symbols);
  if (shape.domains.size() != shape.positions.size())
    fields.refuse("domains", shape.domains.size(), "one size per position");
  for (const json& entry : fields.list("groups")) {
    const Fields group(entry, "program.groups.", file);
    shape.groups.push_back({group.count("family", 0, static_cast<int>(shape.families.size()) - 1),
                            group.text("kind"), group.boolean("all_different"),
                            group.counts("positions", 0, static_cast<int>(shape.positions.size()) - 1)});
  }
  return shape;
}

json to_json(const ProgramShape& shape) {
  json out = {{"hash", shape.hash},           {"symbols", shape.symbols}, {"families", shape.families},
              {"positions", shape.positions}, {"domains", shape.domains}, {"groups", json::array()}};
  for (const ProgramShape::Group& group : shape.groups) {
    out["groups"].push_back({{"family", group.family},
                             {"kind", group.kind},
                             {"all_different", group.all_different},
                             {"positions", group.positions}});
  }
  return out;
}

ProgramSource read_source(const json& object, const std::string& file) {
  const Fields fields(object, "program.", file);
  const fs::path folder = fs::path(file).parent_path();
  ProgramSource source;
  source.file = located_path(fields.text("file"), folder);
  source.compiled = located_path(fields.text("compiled"), folder);
  source.beside = (folder / fs::path(source.file).filename()).string();
  for (const std::string& constant : fields.texts("constants"))
    source.constants.push_back(parse_constant(constant, {file}));
  return source;
}

CardPictures read_pictures(const json& object, const ModelOptions& network, const std::string& file) {
  if (!network.perception) return {};
  const Fields fields(object, "pictures.", file);
  CardPictures pictures{fields.texts("positions"), fields.texts("classes")};
  if (static_cast<std::int64_t>(pictures.classes.size()) != network.perception->symbols)
    fields.refuse("classes", pictures.classes.size(),
                  "as many as model.perception.symbols, " + std::to_string(network.perception->symbols));
  if (fields.get("preprocessing") != preprocessing())
    fields.refuse("preprocessing", fields.get("preprocessing"), json_text(preprocessing()));
  return pictures;
}

std::string joined_or_none(const std::vector<std::string>& names) {
  return names.empty() ? "none" : joined(names);
}

}  // namespace

ProgramShape ProgramShape::of(const compile::ConstraintProgram& program) {
  ProgramShape shape;
  shape.hash = program.hash;
  shape.symbols = program.max_symbols();
  for (const auto& family : program.families) shape.families.push_back(family.name);
  for (const auto& position : program.positions) {
    shape.positions.push_back(position.name);
    shape.domains.push_back(static_cast<int>(position.symbols.size()));
  }
  for (const auto& group : program.groups) {
    shape.groups.push_back({group.family, group.kind(), all_different(program, group), group.positions});
  }
  return shape;
}

Sizes ProgramShape::sizes() const {
  const auto join = [](int& size, int other) { size = size < 0 || size == other ? other : 0; };
  Sizes sizes{-1, std::vector<int>(families.size(), -1)};
  for (const int domain : domains) join(sizes.symbols, domain);
  for (const Group& group : groups) {
    join(sizes.groups[static_cast<std::size_t>(group.family)],
         group.all_different ? static_cast<int>(group.positions.size()) : 0);
  }
  sizes.symbols = std::max(sizes.symbols, 0);
  for (int& size : sizes.groups) size = std::max(size, 0);
  return sizes;
}

Sizes Card::trained_sizes() const {
  const bool kept = network.kind == ReasonerKind::kSoftTp && !network.soft_tp.sizes.empty();
  return kept ? Sizes::of(network.soft_tp.sizes) : shape.sizes();
}

fs::path card_path(const fs::path& weights) {
  return fs::path(weights).replace_extension(".json");
}

fs::path settings_path(const fs::path& weights) {
  return fs::path(weights).replace_extension(".toml");
}

Card read_card(const fs::path& weights) {
  const fs::path path = card_path(weights);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    const bool alone = fs::exists(weights, ignored);
    throw InputError(
        {weights.string()}, alone ? "the card of these weights is missing: " + path.string() : "no such file",
        {"weights are a .safetensors file with its card, a .json file of the same name, beside it"});
  }
  const std::string file = path.string();
  const json whole = parse_json(read_file(path, kLargestText), {file, 1}, nullptr, false);
  if (whole.is_discarded()) throw InputError({file}, "not a model card: expected a JSON object");
  const Fields fields(whole, "", file);
  if (fields.get("version") != json(kCardVersion)) {
    throw InputError({file},
                     "a model card of version " + json_text(fields.get("version")) + ", expected " +
                         std::to_string(kCardVersion),
                     {"cards before version 2 kept the program inside the training settings; train again, "
                      "or use the version of AS2 that wrote it"});
  }
  Card card;
  card.weights = weights;
  card.task = fields.text("task");
  card.preset = fields.text("preset");
  card.network = model_options(fields.get("model"), [&](const std::string&) { return SourceLocation{file}; });
  card.program = read_source(fields.get("program"), file);
  card.shape = read_shape(fields.get("program"), file);
  if (const std::size_t sizes = card.network.soft_tp.sizes.size();
      sizes > 0 && sizes != card.shape.families.size() + 1) {
    throw InputError(
        {file}, "the field 'model.reasoner.sizes' has " + std::to_string(sizes) +
                    " entries, expected the number of symbols and a group size for each of the program's " +
                    std::to_string(card.shape.families.size()) + " families");
  }
  card.pictures = read_pictures(fields.get("pictures"), card.network, file);
  card.sha256 = Fields(fields.get("weights"), "weights.", file).text("sha256");
  if (card.sha256.size() != 64 || card.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    Fields(fields.get("weights"), "weights.", file).refuse("sha256", card.sha256, "64 hexadecimal digits");
  if (whole.contains("data") && whole["data"].contains("source"))
    card.source = Fields(whole["data"], "data.", file).text("source");
  card.about = whole;
  for (const char* read : {"version", "task", "preset", "weights", "program", "pictures", "model"})
    card.about.erase(read);
  return card;
}

void write_card(const Card& card) {
  json out = card.about;
  out["version"] = kCardVersion;
  out["task"] = card.task;
  out["preset"] = card.preset;
  out["weights"] = {{"sha256", formats::sha256(read_file(card.weights))}};
  out["model"] = to_json(card.network);
  out["program"] = to_json(card.shape);
  out["program"]["file"] = portable_path(card.program.file);
  out["program"]["compiled"] = portable_path(card.program.compiled);
  out["program"]["constants"] = json::array();
  for (const auto& [name, value] : card.program.constants)
    out["program"]["constants"].push_back(name + "=" + value);
  out["pictures"] = nullptr;
  if (card.network.perception) {
    out["pictures"] = {{"positions", card.pictures.positions},
                       {"classes", card.pictures.classes},
                       {"preprocessing", preprocessing()}};
  }
  write_file(card_path(card.weights), json_text(out, 1) + "\n");
}

formats::SafeTensorFile read_weights(const Card& card) {
  const std::string bytes = read_file(card.weights);
  formats::SafeTensorFile file = formats::parse_safetensors(bytes, card.weights);
  check_weights(card, bytes);
  return file;
}

void check_weights(const Card& card, const std::string& bytes) {
  const std::string found = formats::sha256(bytes);
  if (found == card.sha256) return;
  // Weights are written first, then their card: a process that ends between the two leaves an older card.
  std::error_code none;
  const auto weights_time = std::filesystem::last_write_time(card.weights, none);
  const auto card_time = std::filesystem::last_write_time(card_path(card.weights), none);
  const bool interrupted = !none && weights_time > card_time;
  throw InputError(
      {card.weights.string()},
      "damaged, or exchanged for other weights: its SHA-256 is " + found + ", its card " +
          card_path(card.weights).string() + " says " + card.sha256,
      {interrupted
           ? "the weights are newer than the card; if a run was stopped while it wrote them, `as2 train "
             "--resume` writes both again, else take back the weights that the card was written for"
           : "the card is newer than the weights, or as old: take back the card and the weights together, "
             "as they were written"});
}

void check_program(const Card& card, const compile::ConstraintProgram& program) {
  const ReasonerKind kind = card.network.kind;
  if (kind == ReasonerKind::kNone) return;
  const auto fail = [&](const std::string& what) {
    throw InputError({card.weights.string()}, "a model for another program: " + what,
                     {"give --model a file trained on this program, or train one with `as2 train`"});
  };
  std::vector<std::string> families;
  for (const auto& family : program.families) families.push_back(family.name);
  if (card.shape.families != families)
    fail("its constraints are " + joined_or_none(card.shape.families) + "; the program's are " +
         joined_or_none(families));
  if (kind != ReasonerKind::kSoftTp && card.shape.hash != program.hash) {
    fail("its program's hash is " + card.shape.hash + ", this one's " + program.hash +
         " (a reasoner of kind " + name_of(kind) + " runs only on the program it was trained on)");
  }
}

std::string changed_program(const Card& card, const compile::ConstraintProgram& program) {
  if (card.shape.hash == program.hash) return "";
  return card.program.file + " is not the program that " + card.weights.string() +
         " was trained with: it was edited since, or exchanged (the card's hash is " + card.shape.hash +
         ", its own " + program.hash + ")";
}

fs::path find_model(const std::string& given) {
  std::error_code none;
  if (fs::is_directory(given, none)) return fs::path(given) / "model.safetensors";
  const fs::path shipped = data_dir() / "models" / (given + ".safetensors");
  if (fs::path(given).extension() == ".safetensors" || given.find('/') != std::string::npos) return given;
  return fs::exists(shipped, none) ? shipped : default_model(given);
}

fs::path default_model(const std::string& task) {
  const std::string best = "models/" + task + "-best.safetensors";
  std::error_code none;
  if (fs::exists(data_dir() / best, none)) return data_dir() / best;
  const std::vector<fs::path> others = shipped_models(task);
  if (!others.empty()) return others.front();
  throw InputError("there is no file or folder " + in_quotes(task) +
                       ", and no model of that name, or for a task of that name, "
                       "ships in " +
                       (data_dir() / "models").string(),
                   {"give --model a file that `as2 train` wrote, or the folder of a run"});
}

std::vector<fs::path> shipped_models(const std::string& task) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(data_dir() / "models", none)) {
    if (entry.path().extension() == ".safetensors" && read_card(entry.path()).task == task)
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace as2::infer
