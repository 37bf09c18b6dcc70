// A model's sizes and switches, to JSON and back: what a card says and what a preset sets.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

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
// Fields left out keep their defaults; an unknown field or a wrong type is an InputError that names `source`.
ModelOptions model_options(const nlohmann::json& json, const std::string& source);

}  // namespace as2::nn
