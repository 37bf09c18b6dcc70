// A task's description: a program, which of its positions have pictures, which labels may be used, and where
// the examples come from.
//
// Where the files are: `sudoku` means tasks/sudoku.toml, its preset `best` means tasks/sudoku/best.toml; a
// path to a TOML file works for either. A preset may name another as its `base`. Paths inside a task file are
// relative to that file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "infer/program.h"
#include "sudoku/board.h"
#include "task/settings.h"

namespace as2::task {

// images.source: the examples name their pictures' files.
constexpr const char* kNamedPictures = "files";

// Which positions have images and where those come from. A pattern is a position's name with `*` for
// anything.
struct ImagesConfig {
  std::vector<std::string> positions;
  std::string source = "mnist";  // a folder with one sub-folder of pictures per symbol, or kNamedPictures
  bool augment = false;          // small random affine and elastic changes, in training only
  double strength = 1;           // of those
};

struct DataConfig {
  std::string source;     // a name in the table of task/sources.h
  std::string path;       // instances, `i j sum` lines for tuples, puzzles beside generated ones; empty: none
  double path_share = 0;  // boards: of every batch, from the list
  double path_hints = 0;  // boards: every second listed one shows up to this share of its blanks
  std::int64_t path_validation = 0;             // boards: the last of the list, kept out of training
  sudoku::Box box;                              // boards
  std::int64_t min_clues = 36, max_clues = 36;  // boards, answers
  std::int64_t train = 0, validation = 0;       // instances of each
  bool symmetries = false;                      // boards: a random symmetry each time one is seen
};

// Where labels may be used, beside the patterns: at every position, at evidence alone, or elsewhere alone.
enum class LabelPlace { kEverywhere, kEvidence, kLatent };

struct TaskConfig {
  std::string task, preset;
  infer::ProgramSource program;
  ImagesConfig images;
  std::vector<std::string> labelled;  // positions whose labels training may use
  // Positions and derived atoms that constraint terms and likelihoods are given.
  std::vector<std::string> observed;
  LabelPlace label_place = LabelPlace::kEverywhere;
  DataConfig data;
};

// The name of a task that is given by name or as the path of its TOML file.
std::string name_of_task(const std::string& task);

// Layers task, preset and overrides.
Settings layered_settings(const std::string& task, const std::string& preset,
                          const std::vector<std::string>& overrides);

// Whether the task's pictures are MNIST's; others are read from where the task says.
bool reads_mnist(const TaskConfig& config);

// What the settings are read for: evaluation has no use for what only changes how examples are trained on.
enum class Purpose { kTraining, kEvaluation };

// Reads `name`, `preset`, [program], [images], [labels] and [data]; finish with Settings::refuse_unused().
TaskConfig read_task(Settings& settings, Purpose purpose);

// A relative path is looked for beside the file that says it, then among what ships; the resolved settings
// keep it so that it means the same on another machine. InputError where it is in neither place.
std::string resolved_path(Settings& settings, const std::string& key, Purpose purpose = Purpose::kTraining);

}  // namespace as2::task
