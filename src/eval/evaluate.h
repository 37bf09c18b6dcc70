// The tables of the paper, measured: reading by argmax, refined, decoded greedily and decoded exactly, kept
// apart.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "as2/solver.h"
#include "task/task.h"

namespace as2::eval {

struct EvaluateOptions {
  int refine_steps = 10;                // K of Eq. 6
  std::int64_t batch = 32;              // examples whose pictures are drawn together; others draw others
  int restarts = 1;                     // trajectories of the reasoner, at most (boards); 1: `raw` alone
  bool certify = true;                  // ask clingo as well (VCSR)
  int threads = 0;                      // for decoding; 0: all cores
  bool pipeline = false;                // also clingo completing the board from perception's argmax clues
  std::uint64_t seed = 0;               // of the pictures drawn
  task::Part part = task::Part::kTest;  // whose pictures; validation's are for choosing between models
  std::function<void(const std::string&)> report;
};

// Answers to a list of examples: one symbol per position, or nothing where a method found no answer.
struct Answers {
  std::vector<compile::Assignment> assignments;
};

// Shares: `cell` of the labelled positions that are right, `board` of the examples with labels that are
// wholly right, both null where nothing is labelled; of all examples, `csr` that satisfy the program
// (algebraically), `vcsr` the same by clingo, null without it. An example without an answer counts as wrong.
nlohmann::json measure(const task::Task& task, const Answers& answers,
                       const task::Table<std::int16_t>& labels, bool certify);

// {boards, clue_accuracy, given_clues: {raw, refined, greedy, map}, perceived_clues: {…, perception_map,
// unique_map}}, each with cell, board, csr, vcsr. `labels` of the examples must be known. `unique_map` is the
// most probable reading of the clues that leaves exactly one completion, with the share of boards that have
// one (`unique`); it is left out where an example has no clue. With restarts also `restarts`:
// the answer of the best trajectory, with `most`, the mean number of `trajectories` that were run, and the
// share of answers known to be `valid`.
nlohmann::json evaluate_boards(infer::PerceiverAndGuide& networks, const task::Task& task,
                               const task::Instances& instances, const EvaluateOptions& options);

// {digit_accuracy, sum_accuracy, n, supervision, examples, map: {…}}; where nothing is added up,
// observed_accuracy stands in the place of the sum's: the share of answers that agree with what is observed.
nlohmann::json evaluate_tuples(infer::PerceiverAndGuide& networks, const task::Task& task,
                               const task::Instances& instances, const EvaluateOptions& options);

// {digit_accuracy, examples, negative_log_likelihood, calibration_error}: perception alone.
nlohmann::json evaluate_pictures(infer::PerceiverAndGuide& networks, const task::Task& task,
                                 const task::Instances& instances, const EvaluateOptions& options);

// The figures that belong to the task's examples (task::Source::figures).
nlohmann::json evaluate(infer::PerceiverAndGuide& networks, const task::Task& task,
                        const task::Instances& instances, const EvaluateOptions& options);

}  // namespace as2::eval
