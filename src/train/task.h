// A task made ready: its program compiled, its pictures and its examples loaded.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "as2/constraint_program.h"
#include "sudoku/board.h"
#include "train/batches.h"
#include "train/config.h"

namespace as2::train {

struct TaskOptions {
  std::string data_dir;                            // where MNIST is; empty: $AS2_DATA, the cache, the network
  std::function<void(const std::string&)> report;  // told what takes long
  const std::atomic<bool>* stop = nullptr;         // once true, fetching ends
};

// Which part of the examples: validation pictures are kept out of training, test pictures are MNIST's own.
enum class Part { kTrain, kValidation, kTest };

// Validation digits: the last of MNIST's training digits, never trained on.
constexpr std::int64_t kValidationDigits = 5000;

class Task {
 public:
  Task(const Config& config, const TaskOptions& options);

  const compile::ConstraintProgram& program() const { return program_; }
  const PictureMap& pictures() const { return map_; }
  // The classes of the pictures, empty when the task has none.
  const std::vector<std::string>& classes() const { return classes_; }
  ImagePool pool(Part part) const;
  // The examples of a part. Sudoku boards and tuples are generated (training boards: kept in the cache);
  // labels that training may not use are hidden in kTrain and kValidation.
  Instances instances(Part part, std::int64_t count) const;
  // [positions] bool: labels the constraint terms are given.
  torch::Tensor observed() const { return observed_; }

  // Examples from lines of picture indices, `i j … sum`, one index a position with a picture; the sum is
  // checked.
  Instances read_tuples(const std::string& path, Part part) const;
  // Examples from JSON lines {"labels": {position: symbol}, "evidence": [position, …]}; left out, the
  // evidence is every labelled position that may have a picture.
  Instances read_instances(const std::string& path) const;
  // Examples from boards, clues as evidence; a board without its solution has labels at its clues alone.
  Instances of_boards(const std::vector<sudoku::Board>& boards) const;

 private:
  void load_pictures();
  void map_pictures();
  // Those with pictures, or all where a task has none.
  std::vector<int> evidence_positions() const;
  void hide_labels(Instances& instances) const;
  std::pair<std::int64_t, std::int64_t> picture_range(Part part) const;  // first, and one past the last
  Instances generated_boards(Part part, std::int64_t count) const;
  Instances generated_tuples(Part part, std::int64_t count) const;
  Instances single_pictures(Part part, std::int64_t count) const;
  Instances of_tuples(const std::vector<std::vector<std::int64_t>>& pictures, Part part) const;

  Config config_;
  TaskOptions options_;
  compile::ConstraintProgram program_;
  PictureMap map_;
  std::vector<std::string> classes_;
  ImagePool parts_[3];
  torch::Tensor observed_, labelled_;
};

// The program of a configuration, compiled.
compile::ConstraintProgram load_program(const ProgramConfig& config);

}  // namespace as2::train
