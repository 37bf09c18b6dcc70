// Sums of independent choices, before they become tables: which values each member adds, and which sums can
// be reached.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/value_reference.h"

namespace as2::tp {

// One distinct value of a member, and where its probability stands.
struct ValueClass {
  std::int64_t value = 0;
  Reference probability;
};

// Per member of the aggregate: its symbols gathered by value, values in ascending order.
std::vector<std::map<std::int64_t, compile::SetLiteral>> symbols_by_value(
    const compile::Aggregate& aggregate);

struct ChainSpec {
  std::vector<std::vector<ValueClass>> members;
  std::int64_t constant = 0;
};

// Reachable sums, sorted, after each number of members; throws InputError where they are too many.
std::vector<std::vector<std::int64_t>> reachable_sums(const ChainSpec& spec);

}  // namespace as2::tp
