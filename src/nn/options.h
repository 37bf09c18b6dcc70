// A model's sizes and switches, to JSON and back: what a card says and what a preset sets.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "as2/error.h"
#include "nn/perception.h"
#include "nn/soft_tp_reasoner.h"
#include "nn/transformer.h"

namespace as2::nn {

enum class ReasonerKind { kNone, kTransformer, kSoftTp };
const char* name_of(ReasonerKind kind);  // "none", "transformer", "soft-tp"

struct ModelOptions {
  std::optional<PerceptionOptions> perception;
  ReasonerKind kind = ReasonerKind::kNone;
  TransformerOptions transformer;  // kTransformer
  SoftTpReasonerOptions soft_tp;   // kSoftTp
};

// {"perception": {…} or null, "reasoner": {"kind": …, …}}
nlohmann::json to_json(const ModelOptions& options);
// Where a field stands in the user's file: `reasoner.width`, or `reasoner` for the whole of it.
using FieldPlace = std::function<SourceLocation(const std::string& field)>;
// Fields left out keep their defaults; one that is unknown or wrong is an InputError at its place.
ModelOptions model_options(const nlohmann::json& json, const FieldPlace& place);

}  // namespace as2::nn
