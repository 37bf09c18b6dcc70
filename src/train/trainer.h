// The training loop: one run of one seed, in its folder.
//
//   config.toml         every setting used
//   metrics.jsonl       one line every train.log_steps steps: losses, learning rate; and one per validation:
//                       also speed and held-out scores
//   curves.svg          the same as curves
//   state.safetensors   where the run stands; a resumed run continues bit for bit
//   model.safetensors   the averaged weights that did best on validation, and their card
//
// Several workers run the same loop on their rows of every batch, with the same weights throughout. What
// depends on a clock, a signal, a file or a validation they agree on first: every rank takes the same turns.
// The state does not depend on the number of workers, except that examples carried over several steps
// (train.segments) belong to the process that carries them: those are trained in one process.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "infer/tensor/step_graph.h"
#include "nn/model.h"
#include "task/task.h"
#include "task/tensor/batches.h"
#include "train/carry.h"
#include "train/config.h"
#include "train/distributed.h"
#include "train/event_file.h"
#include "train/objective.h"
#include "train/schedule.h"

namespace as2::train {

using infer::Batch;
using infer::ForwardOptions;
using infer::Network;
using infer::Prediction;
using infer::StepGraph;
using task::Batches;
using task::BatchOptions;
using task::Instances;
using task::Part;
using task::Task;
using task::TaskOptions;

struct Progress {
  std::int64_t epoch = 0, batch = 0, batches = 0, step = 0;
  double seconds = 0;   // trained so far
  double fraction = 0;  // of the run
  double loss = 0;
  double score = 0;  // of the last validation
  double examples_per_second = 0;
};

struct TrainHooks {
  std::function<void(const Progress&)> on_progress;      // called several times per second
  std::function<void(const nlohmann::json&)> on_record;  // each line of metrics.jsonl, on rank 0
  // While a validation runs, on rank 0: examples looked at, and how many there will be.
  std::function<void(std::int64_t done, std::int64_t of)> on_validation;
  std::function<void(const char*)> on_stage;  // after each stage of a step, where no graph is captured
  const std::atomic<bool>* stop = nullptr;    // set on any rank: all save and return
  std::string command;  // for the model's card; a resumed run's follows what it was before
  std::function<void(const std::string&)> on_warning;  // what a user must not miss, on rank 0
  bool tensorboard = false;                            // also writes what TensorBoard reads
};

// Why a run ended.
enum class Ended { kEpochs, kTimeBudget, kStopAt, kInterrupted };
const char* name_of(Ended ended);  // "epochs", "time_budget", "stop_at", "interrupted"

// Of a time budget, the share that one validation may take, but always kLeastValidation examples.
constexpr double kValidationShare = 0.1;

struct TrainResult {
  Ended ended = Ended::kEpochs;
  bool interrupted() const { return ended == Ended::kInterrupted; }
  double score = 0;           // on validation, of the model kept
  nlohmann::json validation;  // its metrics
  std::int64_t steps = 0;
  double seconds = 0;
  std::filesystem::path model;
};

class Trainer {
 public:
  // Keeps references to `task` and `workers`; does not speak to the other workers yet.
  Trainer(const Config& config, const nn::ModelOptions& model, const Task& task, std::filesystem::path folder,
          torch::Device device, Workers& workers, TrainHooks hooks);

  // Goes on from state.safetensors of the folder, which only rank 0 reads.
  void resume();
  TrainResult run();

  // For tests: the network, and held-out scores of its averaged weights.
  nn::Model& model() { return *model_; }
  nlohmann::json validate();
  // For measuring: steps of the current epoch's kind and nothing else, no validation, no files.
  void run_steps(std::int64_t count);

 private:
  void make_operators(bool observes);
  void begin_carry();
  bool low_precision() const;
  void agree_on_run();
  bool agree_on_time(double seconds);
  void set_epoch(std::int64_t epoch);
  void set_training();  // training mode, for all but a perception that is frozen for good
  void next_step();
  void train_step();
  double fraction() const;
  void read_totals();
  void log_losses();
  nlohmann::json losses_in(const std::vector<double>& sums) const;
  void record();
  void write_record();
  NamedTensors state() const;  // all that the next step depends on, sharing storage
  void save_state() const;
  void take_place(const nlohmann::json& place);
  std::string read_state();  // the tensors in place, and where the run stood as JSON
  void save_model(const nlohmann::json& validation);
  void calibrate();
  bool validates(const std::string& part) const;
  // What the score is made of: "labels" (of every position), "known labels" (of those that may be known),
  // "agreement" (the program has an answer with what was read and what may be known), or "likelihood" (the
  // mean probability of what is observed).
  const char* scored() const;
  // [rows] bool: the program has an answer with what was read at evidence and what may be known elsewhere.
  torch::Tensor agrees(const Batch& batch, const torch::Tensor& answer) const;
  nlohmann::json scores(Batches& batches, bool perceived);
  // Seconds that a part of a validation may take; 0: any number. The first validation of a run finds out how
  // many examples that is; the others look at the same ones, so that their scores compare. A list is
  // validated whole.
  double validation_seconds() const;
  void draw(const std::vector<nlohmann::json>& records) const;

  Config config_;
  const Task& task_;
  std::filesystem::path folder_;
  torch::Device device_;
  Workers& workers_;
  TrainHooks hooks_;
  std::string data_hash_;      // SHA-256 of data.path; empty: there is none
  std::string pictures_hash_;  // of the pictures in a folder of one's own; empty: there is none
  tp::SoftTp soft_tp_;
  std::shared_ptr<nn::Model> model_;
  torch::Tensor mask_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<GradientAverager> averager_;
  std::unique_ptr<QueryLoss> query_;  // null: no loss with a weight needs it
  std::unique_ptr<SearchedQuery> searched_;
  std::unique_ptr<FuzzyTruth> fuzzy_;
  std::shared_ptr<InferenceModel> inference_model_;
  bool scores_likelihood_ = false;  // validation is by the likelihood of what is observed
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<Batches> batches_, validation_, listed_validation_;
  StepGraph graph_;
  ForwardOptions forward_;
  Batch current_;                 // the buffers a captured step reads
  Batch fresh_;                   // with a carry: what comes into current_ where examples leave
  std::unique_ptr<Carry> carry_;  // null: every step has a batch of its own
  // [terms + 6]: Σ terms, Σ loss, Σ gradient norm, steps, Σ of the carry's counts, since the last reading
  torch::Tensor totals_;

  std::int64_t epoch_ = 0, index_ = 0, step_ = 0, examples_ = 0;
  bool all_known_ = true;       // every label of validation may be used
  bool nothing_known_ = false;  // no label of it, and nothing is observed
  int frozen_ = -1;             // what set_epoch() last decided
  double seconds_ = 0, best_ = -1;
  double reserve_ = 0;          // seconds of the time budget kept for the last validation
  std::int64_t validated_ = 0;  // examples of a validation; 0: not yet known
  nlohmann::json best_validation_;
  Progress progress_;
  std::vector<double> sums_, recent_;  // of totals_, since the last validation, and since losses were logged
  std::unique_ptr<EventFile> events_;  // null: nobody asked for it
  double recorded_seconds_ = 0, recorded_examples_ = 0, saved_seconds_ = 0;
};

}  // namespace as2::train
