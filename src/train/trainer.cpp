#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

#include "as2/error.h"
#include "data/random.h"
#include "files.h"
#include "torch_compat.h"
#include "train/curves.h"

namespace as2::train {
namespace {

using nlohmann::json;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<ParameterGroup> parameter_groups(nn::Model& model, double perception_rate) {
  ParameterGroup backbone{"backbone", {}, perception_rate}, head{"head", {}, perception_rate},
      reasoner{"reasoner", {}, 1};
  for (const auto& parameter : model.named_parameters()) {
    const std::string& name = parameter.key();
    ParameterGroup& group = name.rfind("perception.head", 0) == 0 ? head
                            : name.rfind("perception.", 0) == 0   ? backbone
                                                                  : reasoner;
    group.parameters.emplace_back(name, parameter.value());
  }
  std::vector<ParameterGroup> groups;
  for (ParameterGroup* group : {&backbone, &head, &reasoner}) {
    if (!group->parameters.empty()) groups.push_back(std::move(*group));
  }
  return groups;
}

std::vector<json> read_records(const std::filesystem::path& path) {
  std::vector<json> records;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    json record = json::parse(line, nullptr, false);
    if (record.is_object()) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

Trainer::Trainer(const Config& config, const nn::ModelOptions& model, const Task& task,
                 std::filesystem::path folder, torch::Device device, TrainHooks hooks)
    : config_(config),
      task_(task),
      folder_(std::move(folder)),
      device_(device),
      hooks_(std::move(hooks)),
      soft_tp_(task.program()),
      graph_(device, config.train.graph && hooks_.world == 1) {
  torch::manual_seed(config_.seed);
  model_ = std::make_shared<nn::Model>(model, task.program());
  if (!config_.start_from.empty()) {
    nn::unpack_module(*model_, data::read_safetensors(config_.start_from), config_.start_from);
  }
  if (!config_.perception_from.empty()) {
    if (model_->perception.is_empty())
      throw InputError({config_.perception_from}, "has a perception, and the network to train has none",
                       {"leave --perception out, or give the task pictures and model.perception.preset"});
    nn::unpack_module(*model_->perception, data::read_safetensors(config_.perception_from),
                      config_.perception_from, "perception.");
  }
  model_->to(device_);
  mask_ = soft_tp_.mask(torch::empty({0}, device_)).to(device_);
  network_ = std::make_unique<Network>(*model_, task.pictures(), mask_);
  optimizer_ = std::make_unique<Optimizer>(parameter_groups(*model_, config_.train.perception_rate),
                                           config_.train.optimizer);
  if (config_.losses.perception.weight > 0 &&
      (model_->perception.is_empty() || task.pictures().positions.empty())) {
    throw InputError("losses.perception has a weight, but there is no perception or no position has pictures",
                     {"set images.positions and model.perception.preset, or losses.perception.weight = 0"});
  }
  objective_ =
      std::make_unique<Objective>(config_.losses, &soft_tp_, task.pictures(), task.observed(), mask_);

  BatchOptions options;
  options.batch = config_.train.batch;
  options.seed = config_.seed;
  options.rank = hooks_.rank;
  options.world = hooks_.world;
  options.distortion = config_.images.augment ? config_.images.strength : 0;
  options.symmetry_box = config_.data.symmetries ? static_cast<int>(config_.data.box) : 0;
  const std::int64_t rows = options.batch / options.world;
  forward_.evidence_gradient = config_.train.evidence_gradient;
  forward_.perceived_rows =
      model_->reasoner ? std::llround(config_.train.perceived_share * static_cast<double>(rows)) : rows;
  const bool perception_learns = config_.losses.perception.weight > 0 && config_.train.freeze_epochs >= 0;
  if (!model_->perception.is_empty())
    options.picture_rows = perception_learns ? rows : forward_.perceived_rows;
  batches_ = std::make_unique<Batches>(task.instances(Part::kTrain, config_.data.train),
                                       task.pool(Part::kTrain), task.pictures(), options, device_);
  options.rank = 0;
  options.world = 1;
  options.shuffle = false;
  options.distortion = 0;
  options.symmetry_box = 0;
  options.picture_rows = options.batch;
  validation_ = std::make_unique<Batches>(task.instances(Part::kValidation, config_.data.validation),
                                          task.pool(Part::kValidation), task.pictures(), options, device_);
  totals_ = torch::zeros({static_cast<std::int64_t>(objective_->names().size()) + 3},
                         mask_.options().dtype(torch::kFloat32));
  sums_.assign(static_cast<std::size_t>(totals_.size(0)), 0);
}

double Trainer::fraction() const {
  if (config_.train.time_budget > 0) return std::min(1.0, seconds_ / config_.train.time_budget);
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
}

void Trainer::set_training() {
  model_->train();
  if (!model_->perception.is_empty()) model_->perception->train(frozen_ < 2);
}

void Trainer::load_batch(const Batch& batch) {
  const auto load = [](torch::Tensor& to, const torch::Tensor& from) {
    if (!from.defined()) return;
    if (to.defined()) {
      to.copy_(from);
    } else {
      to = from.clone();
    }
  };
  load(current_.labels, batch.labels);
  load(current_.known, batch.known);
  load(current_.evidence, batch.evidence);
  load(current_.slot_positions, batch.slot_positions);
  load(current_.slot_mask, batch.slot_mask);
  load(current_.pixels, batch.pixels);
}

// Everything here happens on the device: captured once, replayed after.
void Trainer::train_step() {
  optimizer_->zero_grad();
  Prediction prediction;
  {
    const bool low =
        config_.train.precision == "bf16" || (config_.train.precision == "auto" && device_.is_cuda());
    compat::AutocastScope autocast(device_.type(), low);
    prediction = network_->forward(current_, forward_);
  }
  const torch::Tensor values = objective_->values(current_, prediction);
  const torch::Tensor loss = objective_->total(values);
  loss.backward();
  if (hooks_.average_gradients) hooks_.average_gradients(optimizer_->gradients());
  optimizer_->step();
  torch::NoGradGuard no_grad;
  const std::int64_t terms = values.size(0);
  totals_.narrow(0, 0, terms).add_(values);
  totals_.narrow(0, terms, 1).add_(loss);
  totals_.narrow(0, terms + 1, 1).add_(optimizer_->gradient_norm());
  totals_.narrow(0, terms + 2, 1).add_(1);
}

// The only place where the host waits for the device.
void Trainer::read_totals() {
  const torch::Tensor read = totals_.to(torch::kCPU, torch::kFloat64);
  totals_.zero_();
  const double* values = read.data_ptr<double>();
  const std::size_t count = sums_.size();
  for (std::size_t n = 0; n < count; ++n) sums_[n] += values[n];
  if (values[count - 1] > 0) progress_.loss = values[count - 3] / values[count - 1];
  if (!std::isfinite(progress_.loss)) {
    throw InputError("the loss is not a number after step " + std::to_string(step_),
                     {"lower train.rate or train.clip_norm, or train with --set train.precision=float32"});
  }
}

TrainResult Trainer::run() {
  std::filesystem::create_directories(folder_);
  if (hooks_.rank == 0) write_file(folder_ / "config.toml", config_.resolved);
  const TrainConfig& train = config_.train;
  const bool timed = train.time_budget > 0;
  const std::int64_t per_epoch = batches_->batches(), read_every = device_.is_cpu() ? 1 : 16;
  const double begin = now() - seconds_;
  double read_at = seconds_;
  std::int64_t read_examples = 0;
  TrainResult result;
  frozen_ = -1;
  set_epoch(epoch_);
  bool done = timed ? seconds_ >= train.time_budget : epoch_ >= train.epochs;
  recorded_seconds_ = saved_seconds_ = seconds_;
  while (!done) {
    load_batch(batches_->batch(epoch_, index_));
    optimizer_->set_learning_rate(learning_rate(fraction(), train.rate, train.warmup, train.last_rate));
    at::Generator generator = at::globalContext().defaultGenerator(device_);
    generator.set_current_seed(
        data::scatter(config_.seed ^ data::scatter(static_cast<std::uint64_t>(step_))));
    graph_.run([this] { train_step(); });
    ++step_;
    ++index_;
    read_examples += train.batch;
    examples_ += train.batch;
    const bool epoch_done = index_ == per_epoch;
    if (epoch_done) {
      index_ = 0;
      ++epoch_;
      set_epoch(epoch_);
    }
    const bool stopping = hooks_.stop && hooks_.stop->load();
    if (step_ % read_every == 0 || epoch_done || stopping) {
      read_totals();
      seconds_ = now() - begin;
      if (seconds_ - read_at > 0.2) {
        progress_.examples_per_second = static_cast<double>(read_examples) / (seconds_ - read_at);
        read_at = seconds_;
        read_examples = 0;
      }
      progress_ = {epoch_,         index_,          per_epoch,
                   step_,          seconds_,        fraction(),
                   progress_.loss, progress_.score, progress_.examples_per_second};
      if (hooks_.on_progress) hooks_.on_progress(progress_);
    }
    done = timed ? seconds_ >= train.time_budget : epoch_ >= train.epochs;
    const bool due =
        epoch_done && std::fmod(static_cast<double>(epoch_), std::max(1.0, train.validate_every)) == 0;
    if (hooks_.rank == 0 && !stopping &&
        (due || done || seconds_ - recorded_seconds_ >= train.validate_seconds)) {
      record();
      if (best_ >= train.stop_at) done = true;
    }
    if (stopping) {
      result.interrupted = true;
      done = true;
    }
    if (hooks_.rank == 0 && (done || seconds_ - saved_seconds_ >= train.checkpoint_seconds)) {
      saved_seconds_ = seconds_;
      save_state();
    }
  }
  result.score = best_;
  result.validation = best_validation_;
  result.steps = step_;
  result.seconds = seconds_;
  result.model = folder_ / "model.safetensors";
  return result;
}

json Trainer::validate() {
  torch::NoGradGuard no_grad;
  optimizer_->swap_average();
  model_->eval();
  json result;
  const double share = model_->reasoner ? config_.train.perceived_share : 1;
  const bool pictures = !model_->perception.is_empty() && !task_.pictures().positions.empty();
  double score = 0;
  int parts = 0;
  for (const bool perceived : {false, true}) {
    if (perceived ? share == 0 || !pictures : share == 1 && pictures) continue;
    const json part = scores(perceived);
    score += part["exact"].get<double>();
    ++parts;
    result[perceived ? "perceived" : "given"] = part;
  }
  result["score"] = score / std::max(1, parts);
  set_training();
  optimizer_->swap_average();
  return result;
}

// Shares of right positions and of wholly right examples. Without a reasoner only pictures are read; then an
// example is right if its pictures are and the program agrees with the labels at the other positions.
json Trainer::scores(bool perceived) {
  ForwardOptions forward;
  forward.perceived_rows = perceived ? validation_->rows() : 0;
  torch::Tensor right = torch::zeros({}, mask_.options().dtype(torch::kFloat64));
  torch::Tensor cells = torch::zeros_like(right), whole = torch::zeros_like(right);
  std::int64_t seen = 0;
  for (std::int64_t index = 0; index < validation_->batches(); ++index) {
    const Batch batch = validation_->batch(0, index);
    const std::int64_t rows = std::min(validation_->rows(), validation_->size() - seen);
    const Prediction prediction = network_->forward(batch, forward);
    const torch::Tensor answer = prediction.logits.back().argmax(-1);
    torch::Tensor read = batch.known;
    if (!model_->reasoner) read = read & batch.evidence;
    const torch::Tensor same = (answer == batch.labels) & read;
    torch::Tensor exact = (same == read).all(1);
    if (!model_->reasoner && soft_tp_.residual_terms() > 0) {
      const torch::Tensor decided = torch::where(batch.evidence, answer, batch.labels);
      const torch::Tensor all = torch::ones_like(batch.known);
      const torch::Tensor agrees = soft_tp_.max_residual(label_beliefs(decided, all, mask_)) < 0.5;
      const torch::Tensor checkable = (batch.known | batch.evidence).all(1);
      exact = exact & (agrees | ~checkable);
    }
    right += same.narrow(0, 0, rows).sum();
    cells += read.narrow(0, 0, rows).sum();
    whole += exact.narrow(0, 0, rows).sum();
    seen += rows;
  }
  const double known = cells.item<double>();
  json result = {{"exact", whole.item<double>() / static_cast<double>(std::max<std::int64_t>(1, seen))},
                 {"examples", seen}};
  if (known > 0) result["cell"] = right.item<double>() / known;
  return result;
}

void Trainer::record() {
  const json validation = validate();
  const double score = validation["score"];
  const std::size_t terms = objective_->names().size();
  const double steps = std::max(1.0, sums_[terms + 2]);
  const double spent = std::max(1e-9, seconds_ - recorded_seconds_);
  json line = {{"epoch", epoch_},
               {"step", step_},
               {"seconds", seconds_},
               {"loss", sums_[terms] / steps},
               {"gradient_norm", sums_[terms + 1] / steps},
               {"learning_rate",
                learning_rate(fraction(), config_.train.rate, config_.train.warmup, config_.train.last_rate)},
               {"examples_per_second", (static_cast<double>(examples_) - recorded_examples_) / spent},
               {"validation", validation}};
  for (std::size_t term = 0; term < terms; ++term)
    line["terms"][objective_->names()[term]] = sums_[term] / steps;
  std::fill(sums_.begin(), sums_.end(), 0);
  progress_.score = score;
  if (score >= best_) {
    best_ = score;
    best_validation_ = validation;
    line["best"] = true;
    save_model(validation);
  }
  std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << line.dump() << '\n';
  draw();
  if (hooks_.on_record) hooks_.on_record(line);
  recorded_examples_ = static_cast<double>(examples_);
  recorded_seconds_ = seconds_;
}

void Trainer::calibrate() {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> logits, labels;
  for (std::int64_t index = 0; index < validation_->batches(); ++index) {
    const Batch batch = validation_->batch(0, index);
    const std::int64_t rows = batch.pixels.size(0), slots = batch.pixels.size(1);
    const torch::Tensor seen = batch.slot_mask.flatten().nonzero().squeeze(1);
    logits.push_back(
        model_->perception->forward(batch.pixels.view({rows * slots, 28, 28})).logits.index_select(0, seen));
    const torch::Tensor symbols = batch.labels.gather(1, batch.slot_positions);
    const torch::Tensor class_of = task_.pictures().class_of.to(device_);
    const torch::Tensor cells = (batch.slot_positions * class_of.size(1) + symbols).flatten();
    labels.push_back(class_of.flatten().index_select(0, cells).index_select(0, seen));
  }
  model_->perception->calibrate(torch::cat(logits), torch::cat(labels));
}

void Trainer::save_model(const json& validation) {
  optimizer_->swap_average();
  model_->eval();
  const bool perception_learns =
      !model_->perception.is_empty() && config_.losses.perception.weight > 0 && frozen_ < 2;
  torch::Tensor temperature;
  if (perception_learns) {
    // Only the file is calibrated: training goes on as if nothing had happened.
    torch::Tensor& buffer = model_->perception->named_buffers()["temperature"];
    temperature = buffer.clone();
    calibrate();
  }
  nn::SaveOptions options;
  options.card = {
      {"task", config_.task},
      {"preset", config_.preset},
      {"seed", config_.seed},
      {"classes", task_.classes()},
      {"validation", validation},
      {"config", config_.resolved},
      {"data",
       {{"source", config_.data.source}, {"train", batches_->size()}, {"validation", validation_->size()}}},
      {"trained",
       {{"steps", step_},
        {"epochs", epoch_},
        {"seconds", seconds_},
        {"device", device_.str()},
        {"torch", TORCH_VERSION},
        {"command", hooks_.command}}}};
  if (!config_.data.path.empty()) options.card["data"]["path"] = config_.data.path;
  nn::save_model(folder_ / "model.safetensors", *model_, task_.program(), options);
  if (temperature.defined()) {
    torch::NoGradGuard no_grad;
    model_->perception->named_buffers()["temperature"].copy_(temperature);
  }
  set_training();
  optimizer_->swap_average();
}

NamedTensors Trainer::state() const {
  NamedTensors tensors = optimizer_->state();
  for (const auto& buffer : model_->named_buffers())
    tensors.emplace_back("buffer." + buffer.key(), buffer.value());
  return tensors;
}

void Trainer::save_state() const {
  data::SafeTensorFile file;
  for (const auto& [name, tensor] : state()) file.tensors.push_back(nn::pack(name, tensor.reshape({-1})));
  const json place = {{"epoch", epoch_},
                      {"index", index_},
                      {"step", step_},
                      {"examples", examples_},
                      {"seconds", seconds_},
                      {"sums", sums_},
                      {"recorded_examples", recorded_examples_},
                      {"best", best_},
                      {"best_validation", best_validation_},
                      {"seed", config_.seed},
                      {"program", task_.program().hash}};
  file.metadata["place"] = place.dump();
  data::write_safetensors(folder_ / "state.safetensors", file);
}

void Trainer::resume() {
  const std::filesystem::path path = folder_ / "state.safetensors";
  const data::SafeTensorFile file = data::read_safetensors(path);
  const json place =
      json::parse(file.metadata.count("place") ? file.metadata.at("place") : "", nullptr, false);
  if (!place.is_object()) throw InputError({path.string()}, "not the state of a training run");
  if (place["program"] != task_.program().hash) {
    throw InputError({path.string()}, "was trained on another program",
                     {"compile the program it was started with"});
  }
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : state()) {
    const data::SafeTensor* saved = file.find(name);
    if (!saved || nn::unpack(*saved).numel() != tensor.numel()) {
      throw InputError({path.string()}, "does not fit the model: " + name,
                       {"resume with the configuration the run was started with"});
    }
    torch::Tensor target = tensor;
    target.copy_(nn::unpack(*saved).view(tensor.sizes()));
  }
  epoch_ = place["epoch"];
  index_ = place["index"];
  step_ = place["step"];
  examples_ = place["examples"];
  recorded_examples_ = place.value("recorded_examples", static_cast<double>(examples_));
  sums_ = place.value("sums", sums_);
  seconds_ = place["seconds"];
  best_ = place["best"];
  best_validation_ = place["best_validation"];
  // What was written after the state was saved happens again.
  std::string kept;
  for (const json& record : read_records(folder_ / "metrics.jsonl")) {
    if (record["step"] <= step_) kept += record.dump() + '\n';
  }
  write_file(folder_ / "metrics.jsonl", kept);
}

void Trainer::draw() const {
  Panel losses{"loss", "step", {{"loss", {}}}, true}, scores{"validation", "step", {}, false};
  Panel rate{"learning rate", "step", {{"", {}}}, false};
  for (const std::string& name : objective_->names()) losses.series.push_back({name, {}});
  for (const json& record : read_records(folder_ / "metrics.jsonl")) {
    const double step = record["step"];
    losses.series[0].points.emplace_back(step, record["loss"]);
    for (std::size_t term = 1; term < losses.series.size(); ++term) {
      losses.series[term].points.emplace_back(step, record["terms"].value(losses.series[term].name, 0.0));
    }
    rate.series[0].points.emplace_back(step, record["learning_rate"]);
    for (const char* part : {"given", "perceived"}) {
      if (!record["validation"].contains(part)) continue;
      for (const char* measure : {"exact", "cell"}) {
        if (!record["validation"][part].contains(measure)) continue;
        const std::string name = std::string(part) + " " + measure;
        auto series = std::find_if(scores.series.begin(), scores.series.end(),
                                   [&](const Series& s) { return s.name == name; });
        if (series == scores.series.end()) series = scores.series.insert(series, {name, {}});
        series->points.emplace_back(step, record["validation"][part][measure]);
      }
    }
  }
  write_file(folder_ / "curves.svg", draw_curves({losses, scores, rate}));
}

}  // namespace as2::train
