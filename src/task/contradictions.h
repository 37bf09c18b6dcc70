// Lines that no answer set of the program agrees with: their likelihood is 0 whatever the pictures show, and
// −log 0 ends a training.
#pragma once

#include "infer/example_lines.h"
#include "task/task.h"

namespace as2::task {

// InputError for the first line whose labels, observations and given values contradict the program, with a
// smallest set of what cannot hold together. `examples` are those of the lines, one by one, observations set.
// Nothing is looked at where nothing is observed. Where the circuit does not fit the budget, the decoder
// looks at what lines say of positions, for as many seconds, and the task's report is told what that leaves
// out.
void refuse_contradictions(const Task& task, const std::vector<infer::ExampleLine>& lines,
                           const Instances& examples, const prob::Budget& budget = {10});

}  // namespace as2::task
