// How each source makes or reads its examples; task/sources.h has the table of them.
#pragma once

#include "task/sources.h"
#include "task/task.h"

namespace as2::task {

// Seeds of what is generated for each part: the same examples in every run, whatever its seed.
inline std::uint64_t part_seed(Part part) {
  return 1000 + static_cast<std::uint64_t>(part);
}

Instances generated_boards(const Task& task, Part part, std::int64_t count);
// A list of puzzles; one without its solution must have exactly one.
Instances read_boards(const Task& task, const std::string& path, const ListOptions& options);

// Pictures drawn at random, each once before any comes again.
Instances generated_tuples(const Task& task, Part part, std::int64_t count);
// One picture each; of fewer than there are, a choice that is the same in every run.
Instances single_pictures(const Task& task, Part part, std::int64_t count);
// Lines of picture indices, `i j … sum`, one index per position with a picture; the sum is checked.
Instances read_tuples(const Task& task, const std::string& path, const ListOptions& options);

// JSON lines {"labels": {position: symbol}, "evidence": [position, …]}; left out, the evidence is every
// labelled position that may have a picture.
Instances read_instances(const Task& task, const std::string& path, const ListOptions& options);

}  // namespace as2::task
