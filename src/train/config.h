// One run's configuration: a task file, a preset laid over it, the command line over both.
//
// Where the files are: `sudoku` means tasks/sudoku.toml, its preset `best` means tasks/sudoku/best.toml; a
// path to a TOML file works for either. A preset may name another as its `base`. Paths inside a task file are
// relative to that file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nn/options.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/settings.h"

namespace as2::train {

struct ProgramConfig {
  std::string file;      // the program's text, for clingo's certificate
  std::string compiled;  // `.as2c`; empty: ground `file`
  std::vector<std::pair<std::string, std::string>> constants;
};

// Which positions have images and where those come from. A pattern is a position's name with `*` for
// anything.
struct ImagesConfig {
  std::vector<std::string> positions;
  std::string source = "mnist";  // or a folder with one sub-folder of pictures a symbol
  bool augment = false;          // small random affine and elastic changes, in training only
  double strength = 1;           // of those
};

struct DataConfig {
  // `boards` (generated Sudoku), `tuples` (of pictures), `images` (one each), `answers` (drawn from the
  // program), `instances` (a file)
  std::string source;
  std::string path;  // instances, or `i j sum` lines for tuples; empty: generated
  std::int64_t box = 3, min_clues = 36, max_clues = 36;  // boards
  std::int64_t train = 0, validation = 0;                // instances of each
  bool symmetries = false;                               // boards: a random symmetry each time one is seen
};

// The terms of Eq. 4 and 5, and the log-probability of the program's aggregates.
struct LossConfig {
  TermSchedule perception;     // cross-entropy of perception where there are images
  TermSchedule evidence;       // cross-entropy of the reasoner at evidence
  TermSchedule latent;         // cross-entropy of the reasoner elsewhere
  TermSchedule constraint;     // the T_P fixed-point loss
  TermSchedule satisfaction;   // −log P(the aggregates' constraints hold)
  bool sum_reduction = false;  // constraint: the paper's literal sum; else the mean over residual terms
  bool every_pass = true;      // cross-entropy on every pass of the reasoner, or on its last
};

struct TrainConfig {
  std::int64_t epochs = 10, batch = 256;
  double time_budget = 0;  // seconds; 0: none. With a budget the learning rate follows the time
  double rate = 1e-3, warmup = 0.02, last_rate = 0.01;
  double perception_rate = 1;  // relative to `rate`
  OptimizerOptions optimizer;
  std::int64_t freeze_epochs = 0;  // the backbone stands still for these; -1: for ever
  double perceived_share = 0;  // of a batch: evidence is what perception sees; the rest is given its labels
  bool evidence_gradient = false;  // the reasoner's loss reaches perception through perceived evidence
  std::string precision = "auto";  // auto: bf16 on CUDA, float32 elsewhere
  bool graph = true;               // CUDA: capture the step once and replay it
  double validate_every = 1;       // epochs
  double validate_seconds = 60, checkpoint_seconds = 60;
  double stop_at = 2;  // a validation score that ends the run; above 1: none
};

struct Config {
  std::string task, preset;
  std::uint64_t seed = 0;
  ProgramConfig program;
  ImagesConfig images;
  std::vector<std::string> labelled;  // positions whose labels training may use
  std::vector<std::string> observed;  // positions whose labels the constraint terms are given
  DataConfig data;
  LossConfig losses;
  TrainConfig train;
  std::string perception_from;  // a model file whose perception this run starts from
  std::string start_from;       // a model file all of whose weights this run starts from
  std::string resolved;         // every setting used, as TOML
};

// Layers task, preset and overrides; the model's own settings (`model.…`) are left for the caller.
Settings layered_settings(const std::string& task, const std::string& preset,
                          const std::vector<std::string>& overrides);
// Reads every setting but `model.…`; finish with Settings::refuse_unused().
Config read_config(Settings& settings);

// The model the settings ask for: `model.perception` (preset paper, best or none, and any field of it) and
// `model.reasoner` (kind, and its fields). `classes`: of the pictures.
nn::ModelOptions read_model(Settings& settings, std::int64_t classes);

// `name` matches `pattern`, in which `*` stands for any text.
bool matches(const std::string& pattern, const std::string& name);

}  // namespace as2::train
