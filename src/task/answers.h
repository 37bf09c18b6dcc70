// Examples from the program itself, for tasks that bring no data.
#pragma once

#include <memory>

#include "as2/constraint_program.h"
#include "task/instances.h"

namespace as2::task {

// Answer sets of the program drawn at random (the most likely one under random beliefs, or nearly), each with
// evidence at `min_evidence` to `max_evidence` of `candidates`, and more where that leaves a second answer
// possible.
Instances sampled_answers(const std::shared_ptr<const compile::ConstraintProgram>& program,
                          const std::vector<int>& candidates, std::int64_t count, int min_evidence,
                          int max_evidence, std::uint64_t seed);

}  // namespace as2::task
