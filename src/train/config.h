// One run's configuration: the task's description, and how to train on it.
#pragma once

#include <cstdint>
#include <string>

#include "infer/network_options.h"
#include "task/config.h"
#include "train/loss_terms.h"
#include "train/optimizer.h"

namespace as2::train {

using task::layered_settings;
using task::Settings;

struct TrainConfig {
  std::int64_t epochs = 10, batch = 256;
  double time_budget = 0;  // seconds; 0: none. With a budget the learning rate follows the time
  double rate = 1e-3, warmup = 0.02, last_rate = 0.01;
  double perception_rate = 1;  // relative to `rate`
  OptimizerOptions optimizer;
  std::int64_t freeze_epochs = 0;  // perception's backbone is frozen for these; -1: for ever
  double perceived_share = 0;  // of a batch: evidence is what perception sees; the rest is given its labels
  bool evidence_gradient = false;  // the reasoner's loss reaches perception through perceived evidence
  // Steps, at most, for which an example stays in the batch; each goes on from the reasoner's last state.
  std::int64_t segments = 1;
  double corrupted_share = 0;      // of fresh examples: beliefs start as an answer with mistakes
  double corruption = 0;           // the most mistakes in such an answer, as a share of the positions
  std::string precision = "auto";  // auto: bf16 on CUDA, float32 elsewhere
  bool graph = true;               // CUDA: capture the step once and replay it
  std::int64_t log_steps = 20;     // losses are logged every so many
  double validate_every = 1;       // epochs
  double validate_seconds = 60, checkpoint_seconds = 60;
  std::string score = "mean";  // the part of validation that picks the checkpoint, or their mean
  double stop_at = 2;          // a validation score that ends the run; above 1: none
};

struct Config : task::TaskConfig {
  std::uint64_t seed = 0;
  LossConfig losses;
  TrainConfig train;
  std::string perception_from;  // a model file whose perception this run starts from
  std::string reasoner_from;    // and one whose reasoner
  std::string start_from;       // a model file all of whose weights this run starts from
  std::string resolved;         // every setting used, as TOML
};

// Reads every setting but `model.…`; finish with Settings::refuse_unused().
Config read_config(task::Settings& settings);

// The model the settings ask for: `model.perception` (preset paper, best or none, and any field of it) and
// `model.reasoner` (kind, and its fields). `classes`: of the pictures.
infer::ModelOptions read_model(task::Settings& settings, std::int64_t classes);

}  // namespace as2::train
