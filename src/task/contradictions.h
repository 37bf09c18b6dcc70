// Lines that no answer set of the program agrees with: their likelihood is 0 whatever the pictures show, and
// −log 0 ends a training.
#pragma once

#include "infer/example_lines.h"
#include "task/task.h"

namespace as2::task {

// InputError for the first line whose labels, observations and given values contradict the program, with a
// smallest set of what cannot hold together. `examples` are those of the lines, one by one, observations set.
// Nothing is looked at where nothing is observed, or where the circuit takes more than ten seconds.
void refuse_contradictions(const Task& task, const std::vector<infer::ExampleLine>& lines,
                           const Instances& examples);

}  // namespace as2::task
