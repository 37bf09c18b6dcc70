// What a task's supervision can determine: the relabellings of its classes that explain every observation as
// well as the truth does (prob/relabellings.h says how they are found).
//
// Where every picture is drawn for itself (tuples, images), every combination of classes is looked at, or a
// sample where there are too many. Lines of a file are asked for what they observe themselves: each, with
// pictures of every combination of classes that agrees with what it says, or of some. Elsewhere it is a
// sample of the training examples. A sample can only find too many.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "task/task.h"
#include "train/config.h"

namespace as2::train {

struct Shortcuts {
  std::int64_t count = 1;  // relabellings, the right one among them
  bool complete = true;    // false: time ran out, and there are at least as many
  bool exact = true;       // every combination of classes, or line, was looked at; false: `examples` of them
  std::int64_t examples = 0;      // looked at
  std::vector<std::string> some;  // a few: "0→2, 2→0"

  // In one sentence.
  std::string text() const;
};

// None where no position has pictures. CircuitTooLarge where the program's observations cannot be compiled.
std::optional<Shortcuts> find_shortcuts(const Config& config, const task::Task& task, double seconds);

}  // namespace as2::train
