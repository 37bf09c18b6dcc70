// How often answers agree with what examples observe.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "eval/evaluate.h"

namespace as2::eval {

// The share of examples whose answer has every observed position and derived atom as the example says; an
// example without an answer counts as wrong. Null where the examples observe nothing.
nlohmann::json observed_accuracy(const task::Task& task, const task::Instances& instances,
                                 const Answers& answers);

// The pictures' positions are added up, and another position holds the sum.
bool has_sum(const task::Task& task);

}  // namespace as2::eval
