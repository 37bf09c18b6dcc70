// The most probable readings of the evidence that leave exactly one completion.
#pragma once

#include "decode/scoring.h"
#include "decode/search.h"

namespace as2::decode {

// The search over readings runs in `search`, the tests of single readings in `tester`. The result holds the
// answers found, at most as many as `options.models`, and `reading`; nothing of what decoding without
// `unique` would have found.
SearchResult find_unique(Search& search, Search& tester, const Query& query, int stride,
                         const DecodeOptions& options, const Limits& limits, UniqueReading& reading);

}  // namespace as2::decode
