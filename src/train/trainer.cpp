#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <sstream>

#include "as2/error.h"
#include "files.h"
#include "formats/sha256.h"
#include "random.h"
#include "random_scope.h"
#include "torch_compat.h"
#include "train/requirements.h"

namespace as2::train {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// `inference_model`: null where no loss has one.
std::vector<ParameterGroup> parameter_groups(nn::Model& model, const InferenceModel* inference_model,
                                             double perception_rate) {
  ParameterGroup backbone{"backbone", {}, perception_rate}, head{"head", {}, perception_rate},
      reasoner{"reasoner", {}, 1}, inference{"inference_model", {}, 1};
  if (inference_model != nullptr) {
    for (const auto& parameter : inference_model->named_parameters())
      inference.parameters.emplace_back(parameter.key(), parameter.value());
  }
  for (const auto& parameter : model.named_parameters()) {
    const std::string& name = parameter.key();
    ParameterGroup& group = name.rfind("perception.head", 0) == 0 ? head
                            : name.rfind("perception.", 0) == 0   ? backbone
                                                                  : reasoner;
    group.parameters.emplace_back(name, parameter.value());
  }
  std::vector<ParameterGroup> groups;
  for (ParameterGroup* group : {&backbone, &head, &reasoner, &inference}) {
    if (!group->parameters.empty()) groups.push_back(std::move(*group));
  }
  return groups;
}

// The weights that the run starts from: a model's, or, where a half has a file of its own, that file's.
void take_weights(nn::Model& model, const Config& config) {
  if (config.perception_from.empty() && config.reasoner_from.empty()) {
    if (!config.start_from.empty())
      nn::unpack_module(model, infer::read_weights(infer::read_card(config.start_from)), config.start_from);
    return;
  }
  const auto unpack = [&](torch::nn::Module* part, const std::string& own, const std::string& half) {
    const std::string& file = own.empty() ? config.start_from : own;
    if (file.empty()) return;
    if (part == nullptr)
      throw InputError({file}, "cannot give its " + half + ": the network to train has none",
                       {"leave --" + half + " out, or choose a preset whose network has one"});
    nn::unpack_module(*part, infer::read_weights(infer::read_card(file)), file, half + ".");
  };
  unpack(model.perception.is_empty() ? nullptr : model.perception.get(), config.perception_from,
         "perception");
  unpack(model.reasoner.get(), config.reasoner_from, "reasoner");
}

// Of the pictures in a folder of one's own, part by part; empty: there is none.
std::string hash_of_pictures(const Task& task) {
  if (const std::string& source = task.config().images.source;
      source == "mnist" || source == task::kNamedPictures)
    return "";
  std::string bytes;
  for (const Part part : {Part::kTrain, Part::kValidation, Part::kTest}) {
    const auto& [pixels, classes, place] = task.pool(part);
    bytes.append(pixels.cells.begin(), pixels.cells.end());
    for (const int shown : classes) bytes += std::to_string(shown) + ' ';
  }
  return formats::sha256(bytes);
}

}  // namespace

Trainer::Trainer(const Config& config, const nn::ModelOptions& model, const Task& task,
                 std::filesystem::path folder, torch::Device device, Workers& workers, TrainHooks hooks)
    : config_(config),
      task_(task),
      folder_(std::move(folder)),
      device_(device),
      workers_(workers),
      hooks_(std::move(hooks)),
      soft_tp_(task.program()),
      // The k best answers are looked for on the host, those that a-nesi learns from are drawn there,
      // and a satnet runs there.
      graph_(device, config.train.graph && !workers.connected() && config.losses.query.approx != "top-k" &&
                         !config.losses.searches() && config.losses.weight("a-nesi") == 0 &&
                         model.kind != nn::ReasonerKind::kSatNet) {
  const RandomScope random(torch::kCPU, config_.seed);  // for the weights of all that is made here
  model_ = std::make_shared<nn::Model>(model, task.program());
  // The others get their weights from rank 0, in run().
  if (workers_.writes()) take_weights(*model_, config_);
  model_->to(device_);
  mask_ = soft_tp_.mask(torch::empty({0}, device_)).to(device_);
  network_ = std::make_unique<Network>(*model_, task.pictures(), mask_);
  const Instances examples = task.instances(Part::kTrain, config_.data.train),
                  validation = task.instances(Part::kValidation, config_.data.validation);
  check_losses(config_, task, *model_, examples, validation);
  if (!config_.data.path.empty()) data_hash_ = formats::sha256(read_file(config_.data.path));
  pictures_hash_ = hash_of_pictures(task);
  const task::InstanceTensors validated = task::tensors_of(validation, torch::kCPU);
  all_known_ = (validated.known | validated.observed).all().item<bool>();
  nothing_known_ = !says_something(validated, /*with_labels=*/true).any().item<bool>();
  make_operators(says_something(validated, /*with_labels=*/false).any().item<bool>());
  optimizer_ = std::make_unique<Optimizer>(
      parameter_groups(*model_, inference_model_.get(), config_.train.perception_rate),
      config_.train.optimizer);
  objective_ = std::make_unique<Objective>(
      config_.losses,
      LossOperators{&soft_tp_, query_.get(), fuzzy_.get(), inference_model_.get(), searched_.get()},
      task.pictures(), mask_);

  if (config_.train.batch % workers_.world() != 0) {
    throw InputError("train.batch = " + std::to_string(config_.train.batch) + " cannot be shared evenly by " +
                         std::to_string(workers_.world()) + " workers",
                     {"it is the batch of all workers together; set a multiple of their number"});
  }
  BatchOptions options;
  options.batch = config_.train.batch;
  options.seed = config_.seed;
  options.rank = workers_.rank();
  options.world = workers_.world();
  options.distortion = config_.images.augment ? config_.images.strength : 0;
  options.symmetries = config_.data.symmetries;
  const std::int64_t perceived =
      model_->reasoner ? std::llround(config_.train.perceived_share * static_cast<double>(options.batch))
                       : options.batch;
  const bool perception_learns = config_.losses.weight("perception") > 0 && config_.train.freeze_epochs >= 0;
  if (!model_->perception.is_empty()) options.picture_rows = perception_learns ? options.batch : perceived;
  batches_ = std::make_unique<Batches>(
      examples, task.pool(Part::kTrain), task.pictures(), options, device_,
      task::ListedInstances{task.listed(Part::kTrain), config_.data.path_share, config_.data.path_hints});
  if (options.batch > batches_->size()) {
    throw InputError("train.batch = " + std::to_string(options.batch) + ", but an epoch has only " +
                         std::to_string(batches_->size()) + " examples",
                     {config_.data.path.empty() || config_.data.train <= batches_->size()
                          ? "set at most as many, or raise data.train"
                          : "set at most as many; data.path has no more beside those for validation"});
  }
  forward_.evidence_gradient = config_.train.evidence_gradient;
  forward_.perceived_rows = batches_->own(perceived);
  options.rank = 0;
  options.world = 1;
  options.shuffle = false;
  options.distortion = 0;
  options.symmetries = false;
  // Small batches: the clock is looked at between them.
  if (config_.train.time_budget > 0) options.batch = std::min(options.batch, kLeastValidation);
  options.picture_rows = options.batch;
  validation_ =
      std::make_unique<Batches>(validation, task.pool(Part::kValidation), task.pictures(), options, device_);
  if (config_.data.path_validation > 0) {
    options.picture_rows = 0;
    options.batch = std::min(options.batch, config_.data.path_validation);
    listed_validation_ = std::make_unique<Batches>(task.listed(Part::kValidation), task::ImagePool{},
                                                   task.pictures(), options, device_);
  }
  if (config_.train.score != "mean" && !validates(config_.train.score)) {
    throw InputError("train.score is \"" + config_.train.score + "\", which this run does not validate",
                     {"a list is validated with data.path_validation above 0, perceived evidence with "
                      "train.perceived_share above 0"});
  }
  begin_carry();
  totals_ = torch::zeros({static_cast<std::int64_t>(objective_->names().size()) + 6},
                         mask_.options().dtype(torch::kFloat32));
  sums_.assign(static_cast<std::size_t>(totals_.size(0)), 0);
  recent_ = sums_;
}

// Without a reasoner nothing but perception learns, and the likelihood of what is observed says how well,
// whatever the loss is.
void Trainer::make_operators(bool observes) {
  const auto weighs = [&](const char* term) { return config_.losses.weight(term) > 0; };
  const compile::ConstraintProgram& program = task_.program();
  const std::vector<task::ObservedAtom>& atoms = task_.supervision().atoms;
  const bool searches = config_.losses.searches();
  scores_likelihood_ = (weighs("query") && !searches) || weighs("a-nesi") ||
                       (!model_->reasoner && observes && (weighs("semantic") || weighs("ltn")));
  if (scores_likelihood_ || weighs("semantic"))
    query_ = std::make_unique<QueryLoss>(program, atoms, config_.losses.query, device_);
  if (searches) searched_ = std::make_unique<SearchedQuery>(task_.shared_program(), config_.losses.query);
  if (weighs("ltn")) fuzzy_ = std::make_unique<FuzzyTruth>(program, atoms, config_.losses.ltn);
  if (weighs("a-nesi")) {
    inference_model_ = std::make_shared<InferenceModel>(
        program, task_.pictures().positions, task_.supervision().observed, atoms, config_.losses.a_nesi);
    inference_model_->to(device_);
  }
}

void Trainer::begin_carry() {
  const TrainConfig& train = config_.train;
  const nn::ModelOptions& model = model_->options();
  if (train.segments == 1 && model.kind == nn::ReasonerKind::kSoftTp && model.soft_tp.path_noise > 0) {
    throw InputError("model.reasoner.path_noise has no effect while train.segments is 1",
                     {"it is added to a state that is carried into the next segment"});
  }
  if (train.segments == 1 && train.corrupted_share == 0) return;
  const std::string what = train.segments > 1 ? "train.segments" : "train.corrupted_share";
  if (!model_->reasoner || !model_->reasoner->carries_state()) {
    throw InputError(what + " needs a reasoner that carries a state",
                     {"set model.reasoner.kind = \"soft-tp\", or leave the setting out"});
  }
  if (workers_.world() > 1) {
    throw InputError(what +
                         " is for one process: each worker would carry examples of its own, and a run "
                         "could not be resumed with another number of them",
                     {"leave --workers out, or the setting"});
  }
  torch::NoGradGuard no_grad;
  const RandomScope random(device_, config_.seed);
  current_.copy_from(batches_->batch(0, 0));  // the shapes; its rows are all replaced
  const compat::AutocastScope autocast(device_.type(), low_precision());
  const nn::ReasonerInput input{infer::label_beliefs(current_.shows, current_.given, mask_),
                                current_.evidence};
  carry_ = std::make_unique<Carry>(*model_->reasoner,
                                   CarryOptions{train.segments, train.corrupted_share, train.corruption},
                                   model_->reasoner->start(input), mask_);
  forward_.state = [this](const nn::ReasonerInput& given) { return carry_->state(current_, given); };
}

bool Trainer::low_precision() const {
  return config_.train.precision == "bf16" || (config_.train.precision == "auto" && device_.is_cuda());
}

// Every rank was told the same, and starts from rank 0's weights and moments.
void Trainer::agree_on_run() {
  const TrainConfig& train = config_.train;
  std::ostringstream own;
  own << task_.program().hash << " seed " << config_.seed << " batch " << train.batch << " of "
      << batches_->size() << " examples, epochs " << train.epochs << ", time budget " << train.time_budget
      << ", rate " << train.rate << ", " << infer::to_json(model_->options());
  for (const auto& [name, tensor] : state()) own << ' ' << name << tensor.sizes();
  if (workers_.broadcast(own.str()) != own.str()) {
    throw InputError("rank " + std::to_string(workers_.rank()) +
                         " was started with another task or other settings than rank 0",
                     {"start every worker with the same command line and the same version of AS2"});
  }
  for (const auto& [name, tensor] : state()) workers_.broadcast({tensor});
}

// All ranks go by the clock of rank 0: it gives its seconds times the number of ranks, the others give 0, and
// all receive the mean. Whichever rank is asked to stop, all of them do.
bool Trainer::agree_on_time(double seconds) {
  const bool stop = hooks_.stop && hooks_.stop->load();
  const torch::Tensor word = torch::tensor(
      {workers_.writes() ? seconds * workers_.world() : 0.0, stop ? 1.0 : 0.0}, torch::kFloat64);
  workers_.average(word);
  seconds_ = word[0].item<double>();
  return word[1].item<double>() > 0;
}

// With a time budget the run is what the last validation leaves of it.
double Trainer::fraction() const {
  if (const double budget = config_.train.time_budget; budget > 0)
    return std::min(1.0, seconds_ / std::max(1e-3, budget - reserve_));
  return static_cast<double>(step_) / static_cast<double>(config_.train.epochs * batches_->batches());
}

void Trainer::set_epoch(std::int64_t epoch) {
  objective_->set_epoch(static_cast<double>(epoch));
  const std::int64_t freeze = config_.train.freeze_epochs;
  const int frozen = freeze < 0 ? 2 : epoch < freeze ? 1 : 0;  // all of perception, its backbone, nothing
  if (frozen == frozen_) return;
  frozen_ = frozen;
  optimizer_->freeze("backbone", frozen > 0);
  optimizer_->freeze("head", frozen > 1);
  set_training();
  graph_.forget();
  averager_.reset();  // removes its hooks before new ones are added
  averager_ = std::make_unique<GradientAverager>(workers_, optimizer_->active_parameters());
}

void Trainer::set_training() {
  model_->train();
  if (!model_->perception.is_empty()) model_->perception->train(frozen_ < 2);
}

// Everything here happens on the device: captured once, replayed after.
void Trainer::train_step() {
  const auto stage = [&](const char* name) {
    if (hooks_.on_stage) hooks_.on_stage(name);
  };
  optimizer_->zero_grad();
  if (carry_) carry_->refill(current_, fresh_);
  Prediction prediction;
  {
    compat::AutocastScope autocast(device_.type(), low_precision());
    prediction = network_->forward(current_, forward_);
  }
  stage("forward");
  const torch::Tensor counts = objective_->counts(current_);
  workers_.average(counts);
  const torch::Tensor values = objective_->values(current_, prediction, counts);
  const torch::Tensor loss = objective_->total(values);
  stage("loss");
  loss.backward();
  averager_->finish();
  stage("backward");
  optimizer_->step();
  torch::NoGradGuard no_grad;
  const std::int64_t terms = values.size(0);
  totals_.narrow(0, 0, terms).add_(values);
  totals_.narrow(0, terms, 1).add_(loss);
  totals_.narrow(0, terms + 1, 1).add_(optimizer_->gradient_norm());
  totals_.narrow(0, terms + 2, 1).add_(1);
  if (carry_) {
    carry_->advance(current_, prediction);
    totals_.narrow(0, terms + 3, 3).add_(carry_->counts());
  }
  stage("update");
}

void Trainer::next_step() {
  const TrainConfig& train = config_.train;
  (carry_ ? fresh_ : current_).copy_from(batches_->batch(epoch_, index_));
  if (hooks_.on_stage) hooks_.on_stage("batch");
  optimizer_->set_learning_rate(learning_rate(fraction(), train.rate, train.warmup, train.last_rate));
  const std::uint64_t draw = static_cast<std::uint64_t>(step_) ^ static_cast<std::uint64_t>(workers_.rank())
                                                                     << 48;
  {
    const RandomScope random(device_, scatter(config_.seed ^ scatter(draw)));
    graph_.run([this] { train_step(); });
  }
  ++step_;
  ++index_;
}

void Trainer::run_steps(std::int64_t count) {
  if (frozen_ < 0) set_epoch(epoch_);
  for (std::int64_t n = 0; n < count; ++n) {
    if (index_ == batches_->batches()) index_ = 0;
    next_step();
  }
}

// The only place where the host waits for the device.
void Trainer::read_totals() {
  workers_.average(totals_);
  const torch::Tensor read = totals_.to(torch::kCPU, torch::kFloat64);
  totals_.zero_();
  const double* values = read.data_ptr<double>();
  const std::size_t terms = objective_->names().size();
  for (std::size_t n = 0; n < sums_.size(); ++n) {
    sums_[n] += values[n];
    recent_[n] += values[n];
  }
  if (values[terms + 2] > 0) progress_.loss = values[terms] / values[terms + 2];
  if (workers_.writes() && !std::isfinite(progress_.loss)) {  // said once; the others lose their rank 0
    throw NumericError("the loss is not a number after step " + std::to_string(step_),
                       {"lower train.rate or train.clip_norm, or train with --set train.precision=float32",
                        "an example that no answer set agrees with has probability 0, whose logarithm is "
                        "infinite: see whether what is observed contradicts the program"});
  }
}

const char* name_of(Ended ended) {
  switch (ended) {
    case Ended::kEpochs:
      return "epochs";
    case Ended::kTimeBudget:
      return "time_budget";
    case Ended::kStopAt:
      return "stop_at";
    case Ended::kInterrupted:
      return "interrupted";
  }
  return "";
}

TrainResult Trainer::run() {
  agree_on_run();
  if (workers_.writes()) {
    std::filesystem::create_directories(folder_);
    write_file(folder_ / "config.toml", config_.resolved);
    if (step_ == 0) save_state();  // from now on the run can be resumed, whatever happens to it
    if (hooks_.tensorboard) events_ = std::make_unique<EventFile>(folder_);
  }
  const TrainConfig& train = config_.train;
  const bool timed = train.time_budget > 0;
  const std::int64_t per_epoch = batches_->batches(), read_every = device_.is_cpu() ? 1 : 16;
  const double begin = now() - seconds_;
  double read_at = seconds_;
  std::int64_t read_examples = 0;
  TrainResult result;
  frozen_ = -1;
  set_epoch(epoch_);
  if (timed && reserve_ == 0) reserve_ = kValidationShare * train.time_budget;
  const auto over = [&] { return timed ? fraction() >= 1 : epoch_ >= train.epochs; };
  const auto epoch_due = [&] {
    return index_ == 0 && std::fmod(static_cast<double>(epoch_), std::max(1.0, train.validate_every)) == 0;
  };
  result.ended = timed ? Ended::kTimeBudget : Ended::kEpochs;
  bool done = over();
  saved_seconds_ = seconds_;
  // Who stopped the run at the end of an epoch did not want to wait for its validation.
  const bool owes_record = sums_[objective_->names().size() + 2] > 0;
  if (owes_record && epoch_due()) {
    record();
    if (workers_.writes()) save_state();
  }
  while (!done) {
    next_step();
    read_examples += train.batch;
    examples_ += train.batch;
    const bool epoch_done = index_ == per_epoch;
    if (epoch_done) {
      index_ = 0;
      ++epoch_;
      set_epoch(epoch_);
    }
    bool stopping = false;
    const bool log_due = step_ % train.log_steps == 0;
    if (step_ % read_every == 0 || log_due || epoch_done) {
      read_totals();
      stopping = agree_on_time(now() - begin);
      // The first rate at once, however quick the steps are: none must not be shown as 0.
      if (seconds_ - read_at > (progress_.examples_per_second > 0 ? 0.2 : 0.0)) {
        progress_.examples_per_second = static_cast<double>(read_examples) / (seconds_ - read_at);
        read_at = seconds_;
        read_examples = 0;
      }
      progress_ = {epoch_,         index_,          per_epoch,
                   step_,          seconds_,        fraction(),
                   progress_.loss, progress_.score, progress_.examples_per_second};
      if (hooks_.on_progress) hooks_.on_progress(progress_);
      if (log_due) log_losses();
    }
    done = over();
    if (!stopping && (epoch_due() || done || seconds_ - recorded_seconds_ >= train.validate_seconds)) {
      record();
      if (best_ >= train.stop_at) {
        result.ended = Ended::kStopAt;
        done = true;
      }
    }
    if (stopping) {
      result.ended = Ended::kInterrupted;
      done = true;
    }
    if (done || seconds_ - saved_seconds_ >= train.checkpoint_seconds) {
      saved_seconds_ = seconds_;
      if (workers_.writes()) save_state();
    }
  }
  agree_on_time(now() - begin);
  workers_.barrier();  // nobody ends before all is written
  result.score = best_;
  result.validation = best_validation_;
  result.steps = step_;
  result.seconds = seconds_;
  result.model = folder_ / "model.safetensors";
  return result;
}

}  // namespace as2::train
