// Every struct lists its fields once; the same list writes and reads.
#include "infer/network_options.h"
#include "json_text.h"
#include "text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace as2::infer {
namespace {

using nlohmann::json;

// Past these a file is damaged or a key was mistyped: building the network would only exhaust the memory.
constexpr std::int64_t kMostChannels = 1 << 13, kMostLayers = 256, kMostPasses = 1000000;

template <class Field>
void fields(PerceptionOptions& o, Field&& field) {
  field("symbols", o.symbols, kMostChannels);
  field("d_model", o.d_model, kMostChannels);
  field("channels", o.channels, kMostChannels);
  field("width", o.width);
  field("convolutions", o.convolutions, kMostLayers);
  field("dropout", o.dropout);
}

template <class Field>
void fields(TransformerOptions& o, Field&& field) {
  field("layers", o.layers, kMostLayers);
  field("heads", o.heads, kMostLayers);
  field("d_model", o.d_model, kMostChannels);
  field("d_ff", o.d_ff, kMostChannels);
  field("passes", o.passes, kMostPasses);
  field("dropout", o.dropout);
  field("placement", o.placement);
  field("pooled", o.pooled);
  field("clamp", o.clamp);
  field("restore", o.restore);
}

template <class Field>
void fields(SoftTpReasonerOptions& o, Field&& field) {
  field("width", o.width, kMostChannels);
  field("heads", o.heads, kMostLayers);
  field("d_ff", o.d_ff, kMostChannels);
  field("mixing", o.mixing);
  field("passes", o.passes, kMostPasses);
  field("eval_passes", o.eval_passes, kMostPasses);
  field("tp_feedback", o.tp_feedback);
  field("detach_feedback", o.detach_feedback);
  field("state_noise", o.state_noise);
  field("path_noise", o.path_noise);
  field("residual_tolerance", o.residual_tolerance);
  field("decided", o.decided);
  field("sizes", o.sizes, kMostChannels);
}

template <class Field>
void fields(RelationalOptions& o, Field&& field) {
  field("width", o.width, kMostChannels);
  field("embedding", o.embedding, kMostChannels);
  field("layers", o.layers, kMostLayers);
  field("passes", o.passes, kMostPasses);
  field("eval_passes", o.eval_passes, kMostPasses);
}

template <class Field>
void fields(SatNetOptions& o, Field&& field) {
  field("clauses", o.clauses, kMostChannels);
  field("auxiliary", o.auxiliary, kMostChannels);
  field("sweeps", o.sweeps, kMostPasses);
  field("tolerance", o.tolerance);
}

// What evaluation reads and the weights do not depend on.
const char* const kAfterTraining[] = {"eval_passes", "residual_tolerance", "decided"};

template <class Enum>
constexpr Enum kLast = Enum::kBoth;
template <>
constexpr Placement kLast<Placement> = Placement::kIndex;
template <>
constexpr ReasonerKind kLast<ReasonerKind> = ReasonerKind::kSatNet;

// The part of a model that is being read, for messages.
struct Section {
  std::string name;
  const FieldPlace& place;

  [[noreturn]] void refuse(const std::string& field, const std::string& problem,
                           const std::vector<std::string>& notes = {}) const {
    const std::string path = name + (name.empty() || field.empty() ? "" : ".") + field;
    throw InputError(place(path), "'model" + (path.empty() ? "" : "." + path) + "' " + problem, notes);
  }
  void above_zero(const char* field, double value) const {
    if (!(value > 0)) refuse(field, "has to be above 0");
  }
  void count(const char* field, const json& value, std::int64_t most) const {
    if (!value.is_number_integer() || value <= 0 || value > most) {
      refuse(field, "is " + json_text(value) + ", expected a whole number from 1 to " + std::to_string(most));
    }
  }
  void not_negative(const char* field, double value) const {
    if (!(value >= 0)) refuse(field, "has to be at least 0");
  }
  void below_one(const char* field, double value) const {
    if (!(value >= 0 && value < 1)) refuse(field, "has to be at least 0 and below 1");
  }
  void multiple(const char* field, std::int64_t value, const char* of, std::int64_t divisor) const {
    if (value % divisor != 0) refuse(field, std::string("has to be a multiple of ") + of);
  }
};

template <class Enum>
Enum enum_of(const std::string& text, const Section& section, const char* field) {
  std::string known;
  for (int value = 0; value <= static_cast<int>(kLast<Enum>); ++value) {
    const char* name = name_of(static_cast<Enum>(value));
    if (text == name) return static_cast<Enum>(value);
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  section.refuse(field, "is " + in_quotes(text) + ", expected one of " + known);
}

class Writer {
 public:
  explicit Writer(json& out) : out_(out) {}
  template <class Value>
  void operator()(const char* name, const Value& value, std::int64_t = 0) const {
    if constexpr (std::is_enum_v<Value>) {
      out_[name] = name_of(value);
    } else if constexpr (std::is_same_v<Value, std::vector<int>>) {
      if (!value.empty()) out_[name] = value;
    } else {
      out_[name] = value;
    }
  }

 private:
  json& out_;
};

class Reader {
 public:
  Reader(const json& in, const Section& section) : in_(in), section_(section) {
    if (!in.is_object()) section.refuse("", std::string("is a ") + in.type_name() + ", expected an object");
  }
  template <class Value>
  void operator()(const char* name, Value& value, std::int64_t most = 0) {
    known_ += (known_.empty() ? "" : ", ") + std::string(name);
    const auto found = in_.find(name);
    if (found == in_.end()) return;
    ++used_;
    const auto expect = [&](bool right) {
      if (!right) section_.refuse(name, "is " + json_text(*found) + ", which has the wrong type");
    };
    // A value is looked at before it is converted: 1e20 is no int, and `true` is no number.
    if constexpr (std::is_enum_v<Value>) {
      expect(found->is_string());
      value = enum_of<Value>(found->get<std::string>(), section_, name);
    } else if constexpr (std::is_same_v<Value, bool>) {
      expect(found->is_boolean());
      value = found->get<bool>();
    } else if constexpr (std::is_integral_v<Value>) {  // a size or a count
      section_.count(name, *found, most);
      value = found->get<Value>();
    } else if constexpr (std::is_floating_point_v<Value>) {
      expect(found->is_number());
      value = found->get<Value>();
    } else if constexpr (std::is_same_v<Value, std::vector<int>>) {
      expect(found->is_array());
      for (const json& size : *found) {
        if (size != json(0)) section_.count(name, size, most);
      }
      value = found->get<Value>();
    } else {
      expect(found->is_array() && found->size() == value.size());
      for (const json& channels : *found) section_.count(name, channels, most);
      value = found->get<Value>();
    }
  }
  // Call when all fields are listed.
  void finish() const {
    if (used_ == in_.size()) return;
    for (const auto& [name, value] : in_.items()) {
      if ((", " + known_ + ",").find(", " + name + ",") == std::string::npos) {
        section_.refuse(name, "is no field", {"known fields: " + known_});
      }
    }
  }

 private:
  const json& in_;
  const Section& section_;
  std::string known_;
  std::size_t used_ = 0;
};

// Checks that reading the fields one by one does not make.
void check(const PerceptionOptions& o, const Section& at) {
  at.above_zero("width", o.width);
  if (o.width > 64) at.refuse("width", "has to be at most 64");
  at.below_one("dropout", o.dropout);
}

void check(const TransformerOptions& o, const Section& at) {
  at.multiple("d_model", o.d_model, "heads", o.heads);
  at.below_one("dropout", o.dropout);
}

void check(const SoftTpReasonerOptions& o, const Section& at) {
  at.multiple("width", o.width, "heads", o.heads);
  at.not_negative("state_noise", o.state_noise);
  at.not_negative("path_noise", o.path_noise);
  at.above_zero("residual_tolerance", o.residual_tolerance);
  at.below_one("decided", o.decided);
}

void check(const RelationalOptions&, const Section&) {}

void check(const SatNetOptions& o, const Section& at) {
  at.not_negative("tolerance", o.tolerance);
}

template <class Options>
json written(Options options) {
  json out = json::object();
  fields(options, Writer(out));
  return out;
}

template <class Options>
Options read(const json& in, const Section& section) {
  Options options;
  Reader reader(in, section);
  fields(options, reader);
  reader.finish();
  check(options, section);
  return options;
}

}  // namespace

PerceptionOptions PerceptionOptions::paper(std::int64_t symbols) {
  PerceptionOptions options;
  options.symbols = symbols;
  return options;
}

PerceptionOptions PerceptionOptions::best(std::int64_t symbols) {
  PerceptionOptions options;
  options.symbols = symbols;
  options.convolutions = 2;
  options.dropout = 0.3;
  return options;
}

const char* name_of(Placement placement) {
  switch (placement) {
    case Placement::kMembership:
      return "membership";
    case Placement::kRelation:
      return "relation";
    case Placement::kIndex:
      return "index";
  }
  return "";
}

const char* name_of(Mixing mixing) {
  switch (mixing) {
    case Mixing::kAttention:
      return "attention";
    case Mixing::kPooling:
      return "pooling";
    case Mixing::kBoth:
      return "both";
  }
  return "";
}

const char* name_of(ReasonerKind kind) {
  switch (kind) {
    case ReasonerKind::kNone:
      return "none";
    case ReasonerKind::kTransformer:
      return "transformer";
    case ReasonerKind::kSoftTp:
      return "soft-tp";
    case ReasonerKind::kRelational:
      return "rrn";
    case ReasonerKind::kSatNet:
      return "satnet";
  }
  return "";
}

std::vector<std::string> reasoner_kinds() {
  std::vector<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(kLast<ReasonerKind>); ++kind)
    names.emplace_back(name_of(static_cast<ReasonerKind>(kind)));
  return names;
}

json to_json(const ModelOptions& options) {
  json reasoner = json::object();
  if (options.kind == ReasonerKind::kTransformer) reasoner = written(options.transformer);
  if (options.kind == ReasonerKind::kSoftTp) reasoner = written(options.soft_tp);
  if (options.kind == ReasonerKind::kRelational) reasoner = written(options.relational);
  if (options.kind == ReasonerKind::kSatNet) reasoner = written(options.satnet);
  reasoner["kind"] = name_of(options.kind);
  return {{"perception", options.perception ? written(*options.perception) : json(nullptr)},
          {"reasoner", reasoner}};
}

ModelOptions model_options(const json& in, const FieldPlace& place) {
  const Section whole{"", place}, perception{"perception", place}, reasoner{"reasoner", place};
  if (!in.is_object()) whole.refuse("", std::string("is a ") + in.type_name() + ", expected an object");
  ModelOptions options;
  if (const auto found = in.find("perception"); found != in.end() && !found->is_null()) {
    options.perception = read<PerceptionOptions>(*found, perception);
  }
  if (const auto found = in.find("reasoner"); found != in.end() && !found->is_null()) {
    json rest = *found;
    if (!rest.is_object() || !rest.contains("kind") || !rest["kind"].is_string()) {
      reasoner.refuse("", "has to be an object with a 'kind'");
    }
    options.kind = enum_of<ReasonerKind>(rest["kind"].get<std::string>(), reasoner, "kind");
    rest.erase("kind");
    if (options.kind == ReasonerKind::kTransformer)
      options.transformer = read<TransformerOptions>(rest, reasoner);
    if (options.kind == ReasonerKind::kSoftTp) options.soft_tp = read<SoftTpReasonerOptions>(rest, reasoner);
    if (options.kind == ReasonerKind::kRelational)
      options.relational = read<RelationalOptions>(rest, reasoner);
    if (options.kind == ReasonerKind::kSatNet) options.satnet = read<SatNetOptions>(rest, reasoner);
  }
  return options;
}

ModelOptions changed_options(const ModelOptions& trained, const json& changes, const FieldPlace& place) {
  json whole = to_json(trained);
  for (const auto& [part, fields] : changes.items()) {
    const Section section{part, place};
    if (!fields.is_object()) section.refuse("", "is no setting of a trained network");
    for (const auto& [field, value] : fields.items()) {
      const bool free =
          part == "reasoner" && ((trained.kind == ReasonerKind::kSoftTp &&
                                  std::find(std::begin(kAfterTraining), std::end(kAfterTraining), field) !=
                                      std::end(kAfterTraining)) ||
                                 (trained.kind == ReasonerKind::kRelational && field == "eval_passes"));
      if (!free) {
        section.refuse(field, "cannot change after training: the weights were trained with it",
                       {trained.kind == ReasonerKind::kSoftTp
                            ? "--passes, model.reasoner.residual_tolerance and decided can"
                        : trained.kind == ReasonerKind::kRelational ? "--passes can"
                                                                    : "nothing of this network can"});
      }
      whole[part][field] = value;
    }
  }
  return model_options(whole, place);
}

}  // namespace as2::infer
