// A task made ready: its program compiled, its pictures loaded.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "as2/compile.h"
#include "infer/pictures.h"
#include "task/config.h"
#include "task/instances.h"
#include "task/supervision.h"

namespace as2::task {

struct TaskOptions {
  std::string data_dir;                            // where MNIST is; empty: $AS2_DATA, the cache, the network
  std::function<void(const std::string&)> report;  // told what is being done when it takes long
  // Told what is suspicious about the program.
  std::function<void(const asp::Warning&)> warn;
  const std::atomic<bool>* stop = nullptr;  // once true, fetching and making boards end
  asp::GroundOptions grounding;  // limits where the program has to be ground; the constants are the task's
  bool with_pictures = true;     // false: only their classes are wanted, MNIST is not loaded
};

// Validation digits: the last of MNIST's training digits, never trained on.
constexpr std::int64_t kValidationDigits = 5000;

class Task {
 public:
  Task(const TaskConfig& config, const TaskOptions& options);

  const TaskConfig& config() const { return config_; }
  const TaskOptions& options() const { return options_; }
  const compile::ConstraintProgram& program() const { return *program_; }
  const std::shared_ptr<const compile::ConstraintProgram>& shared_program() const { return program_; }
  const infer::PictureMap& pictures() const { return map_; }
  // The classes of the pictures, empty when the task has none.
  const std::vector<std::string>& classes() const { return classes_; }
  const ImagePool& pool(Part part) const { return *parts_[static_cast<int>(part)]; }
  // The pictures of a part that its pool holds: first, and one past the last. Where examples name their
  // pictures, training and validation share a pool.
  std::pair<std::int64_t, std::int64_t> picture_range(Part part) const;
  // Positions that can be evidence: those with pictures, or all where a task has none.
  std::vector<int> evidence_positions() const;

  // The examples of a part, from the task's source. In kTrain and kValidation only the labels that
  // labels.positions names may be used.
  Instances instances(Part part, std::int64_t count) const;
  // Boards of the list data.path beside generated ones: its last data.path_validation for kValidation, the
  // others for kTrain; none without a list.
  Instances listed(Part part) const;
  // The same for examples that were read from elsewhere.
  Instances supervised(const Instances& instances, Part part) const;
  const Supervision& supervision() const { return supervision_; }

 private:
  void load_pictures();
  void load_mnist();
  void name_classes();

  TaskConfig config_;
  TaskOptions options_;
  std::shared_ptr<const compile::ConstraintProgram> program_;
  infer::PictureMap map_;
  std::vector<std::string> classes_;
  std::shared_ptr<const ImagePool> parts_[3];  // training and validation may share one
  Supervision supervision_;
};

}  // namespace as2::task
