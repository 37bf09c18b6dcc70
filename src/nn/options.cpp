// Every struct lists its fields once; the same list writes and reads.
#include "nn/options.h"

#include <nlohmann/json.hpp>

#include "as2/error.h"

namespace as2::nn {
namespace {

using nlohmann::json;

template <class Field>
void fields(PerceptionOptions& o, Field&& field) {
  field("symbols", o.symbols);
  field("d_model", o.d_model);
  field("channels", o.channels);
  field("width", o.width);
  field("convolutions", o.convolutions);
  field("dropout", o.dropout);
}

template <class Field>
void fields(TransformerOptions& o, Field&& field) {
  field("layers", o.layers);
  field("heads", o.heads);
  field("d_model", o.d_model);
  field("d_ff", o.d_ff);
  field("dropout", o.dropout);
  field("placement", o.placement);
  field("pooled", o.pooled);
  field("clamp", o.clamp);
  field("restore", o.restore);
}

template <class Field>
void fields(SoftTpReasonerOptions& o, Field&& field) {
  field("width", o.width);
  field("heads", o.heads);
  field("d_ff", o.d_ff);
  field("mixing", o.mixing);
  field("passes", o.passes);
  field("eval_passes", o.eval_passes);
  field("tp_feedback", o.tp_feedback);
  field("detach_feedback", o.detach_feedback);
  field("residual_tolerance", o.residual_tolerance);
  field("decided", o.decided);
}

template <class Enum>
constexpr Enum kLast = Enum::kBoth;
template <>
constexpr Placement kLast<Placement> = Placement::kIndex;
template <>
constexpr ReasonerKind kLast<ReasonerKind> = ReasonerKind::kSoftTp;

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
  section.refuse(field, "is '" + text + "', expected one of " + known);
}

class Writer {
 public:
  explicit Writer(json& out) : out_(out) {}
  template <class Value>
  void operator()(const char* name, const Value& value) const {
    if constexpr (std::is_enum_v<Value>) {
      out_[name] = name_of(value);
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
  void operator()(const char* name, Value& value) {
    known_ += (known_.empty() ? "" : ", ") + std::string(name);
    const auto found = in_.find(name);
    if (found == in_.end()) return;
    ++used_;
    try {
      if constexpr (std::is_enum_v<Value>) {
        value = enum_of<Value>(found->get<std::string>(), section_, name);
      } else {
        value = found->get<Value>();
      }
    } catch (const json::exception&) {
      section_.refuse(name, "is " + found->dump() + ", which has the wrong type");
    }
    // Whole numbers are sizes and counts.
    if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
      section_.above_zero(name, static_cast<double>(value));
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
  at.below_one("dropout", o.dropout);
}

void check(const TransformerOptions& o, const Section& at) {
  at.multiple("d_model", o.d_model, "heads", o.heads);
  at.below_one("dropout", o.dropout);
}

void check(const SoftTpReasonerOptions& o, const Section& at) {
  at.multiple("width", o.width, "heads", o.heads);
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

const char* name_of(ReasonerKind kind) {
  switch (kind) {
    case ReasonerKind::kNone:
      return "none";
    case ReasonerKind::kTransformer:
      return "transformer";
    case ReasonerKind::kSoftTp:
      return "soft-tp";
  }
  return "";
}

json to_json(const ModelOptions& options) {
  json reasoner = json::object();
  if (options.kind == ReasonerKind::kTransformer) reasoner = written(options.transformer);
  if (options.kind == ReasonerKind::kSoftTp) reasoner = written(options.soft_tp);
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
  }
  return options;
}

}  // namespace as2::nn
