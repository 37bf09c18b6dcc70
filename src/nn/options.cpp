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

template <class Enum>
Enum enum_of(const std::string& text, const std::string& where) {
  std::string known;
  for (int value = 0; value <= static_cast<int>(kLast<Enum>); ++value) {
    const char* name = name_of(static_cast<Enum>(value));
    if (text == name) return static_cast<Enum>(value);
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw InputError(where + ": found '" + text + "', expected one of " + known);
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
  Reader(const json& in, std::string where) : in_(in), where_(std::move(where)) {
    if (!in.is_object()) throw InputError(where_ + ": found " + in.type_name() + ", expected an object");
  }
  template <class Value>
  void operator()(const char* name, Value& value) {
    known_ += (known_.empty() ? "" : ", ") + std::string(name);
    const auto found = in_.find(name);
    if (found == in_.end()) return;
    ++used_;
    try {
      if constexpr (std::is_enum_v<Value>) {
        value = enum_of<Value>(found->get<std::string>(), where_ + "." + name);
      } else {
        value = found->get<Value>();
      }
    } catch (const json::exception&) {
      throw InputError(where_ + "." + name + ": found " + found->dump() + ", which has the wrong type");
    }
  }
  // Call when all fields are listed.
  void finish() const {
    if (used_ == in_.size()) return;
    for (const auto& [name, value] : in_.items()) {
      if ((", " + known_ + ",").find(", " + name + ",") == std::string::npos) {
        throw InputError(where_ + ": unknown field '" + name + "'", {"known fields: " + known_});
      }
    }
  }

 private:
  const json& in_;
  std::string where_, known_;
  std::size_t used_ = 0;
};

// What a reader of types alone would let through.
void check(bool good, const std::string& where, const std::string& expected) {
  if (!good) throw InputError(where + ": expected " + expected);
}

void check(const PerceptionOptions& o, const std::string& where) {
  check(o.symbols > 0 && o.d_model > 0 && o.width > 0 && o.convolutions > 0, where, "sizes above 0");
  check(o.dropout >= 0 && o.dropout < 1, where, "a dropout of at least 0 and below 1");
}

void check(const TransformerOptions& o, const std::string& where) {
  check(o.layers > 0 && o.heads > 0 && o.d_model > 0 && o.d_ff > 0, where, "sizes above 0");
  check(o.d_model % o.heads == 0, where, "a d_model that is a multiple of heads");
  check(o.dropout >= 0 && o.dropout < 1, where, "a dropout of at least 0 and below 1");
}

void check(const SoftTpReasonerOptions& o, const std::string& where) {
  check(o.width > 0 && o.heads > 0 && o.d_ff > 0 && o.passes > 0 && o.eval_passes > 0, where,
        "sizes and passes above 0");
  check(o.width % o.heads == 0, where, "a width that is a multiple of heads");
}

template <class Options>
json written(Options options) {
  json out = json::object();
  fields(options, Writer(out));
  return out;
}

template <class Options>
Options read(const json& in, const std::string& where) {
  Options options;
  Reader reader(in, where);
  fields(options, reader);
  reader.finish();
  check(options, where);
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

ModelOptions model_options(const json& in, const std::string& source) {
  if (!in.is_object()) throw InputError(source + ": found " + in.type_name() + ", expected an object");
  ModelOptions options;
  if (const auto found = in.find("perception"); found != in.end() && !found->is_null()) {
    options.perception = read<PerceptionOptions>(*found, source + ": perception");
  }
  if (const auto found = in.find("reasoner"); found != in.end() && !found->is_null()) {
    const std::string where = source + ": reasoner";
    json rest = *found;
    if (!rest.is_object() || !rest.contains("kind") || !rest["kind"].is_string()) {
      throw InputError(where + ": expected an object with a 'kind'");
    }
    options.kind = enum_of<ReasonerKind>(rest["kind"].get<std::string>(), where + ".kind");
    rest.erase("kind");
    if (options.kind == ReasonerKind::kTransformer)
      options.transformer = read<TransformerOptions>(rest, where);
    if (options.kind == ReasonerKind::kSoftTp) options.soft_tp = read<SoftTpReasonerOptions>(rest, where);
  }
  return options;
}

}  // namespace as2::nn
