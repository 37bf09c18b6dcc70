// What `as2 decode` says about an answer, as its JSON document.
#pragma once

#include <nlohmann/json.hpp>

#include "as2/decoder.h"

namespace as2::cli {

// What the document has beyond the answer.
struct DecodeContent {
  decode::Method method = decode::Method::kMap;
  bool models = false;   // all of them
  bool explain = false;  // what was changed, and which constraints conflict
};

// A guess that nobody has beliefs about weighs 1, as in `as2 prob`. The search sees it as uniform, because
// greedy decoding takes a weight of 1 for certainty; returns by how much this makes log p too low.
// `believed`: per position, whether there are beliefs about it.
double weigh_guesses(const compile::ConstraintProgram& program, const std::vector<char>& believed,
                     decode::Beliefs& beliefs);

// {found, rank, readings, complete}: what came of the search for a reading with one completion.
nlohmann::ordered_json unique_json(const decode::UniqueReading& reading);

nlohmann::ordered_json decode_json(const compile::ConstraintProgram& program, const decode::Beliefs& beliefs,
                                   const decode::Decoded& decoded, const DecodeContent& content);

}  // namespace as2::cli
