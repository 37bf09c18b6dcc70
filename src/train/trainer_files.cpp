// What a run writes to its folder, and reads from it when it goes on.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

#include "as2/error.h"
#include "files.h"
#include "json_text.h"
#include "train/curves.h"
#include "train/trainer.h"

namespace as2::train {
namespace {

using nlohmann::json;

// What was logged and validated, one JSON object per line; nothing where there is no file yet. A last line
// without its end is one that a process was writing when it ended.
std::vector<json> read_records(const std::filesystem::path& path) {
  std::vector<json> records;
  if (!std::filesystem::exists(path)) return records;
  const std::string text = read_file(path);
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    json record = parse_json(line, {path.string(), number}, nullptr, false);
    if (!record.is_object() || !record.value("step", json()).is_number()) {
      throw InputError({path.string(), number}, "the line is damaged: expected a JSON object with a step",
                       {"remove the line; the others are kept"});
    }
    records.push_back(std::move(record));
  }
  return records;
}

// A number of a record; not a number where it has none of that name, which curves leave out.
double number_in(const json& record, const std::string& name) {
  const auto found = record.is_object() ? record.find(name) : record.end();
  return found != record.end() && found->is_number() ? found->get<double>() : std::nan("");
}

void write_records(const std::filesystem::path& path, const std::vector<json>& records) {
  write_file(path, [&](std::ostream& out) {
    for (const json& record : records) out << json_text(record) << '\n';
  });
}

}  // namespace

json Trainer::losses_in(const std::vector<double>& sums) const {
  const std::size_t terms = objective_->names().size();
  const double steps = std::max(1.0, sums[terms + 2]);
  json line = {{"epoch", epoch_},
               {"step", step_},
               {"seconds", seconds_},
               {"loss", sums[terms] / steps},
               {"gradient_norm", sums[terms + 1] / steps},
               {"learning_rate", learning_rate(fraction(), config_.train.rate, config_.train.warmup,
                                               config_.train.last_rate)}};
  for (std::size_t term = 0; term < terms; ++term)
    line["terms"][objective_->names()[term]] = sums[term] / steps;
  return line;
}

// The means since they were last logged. A line is appended: the file is read while the run goes on.
void Trainer::log_losses() {
  if (workers_.writes()) {
    const std::filesystem::path path = folder_ / "metrics.jsonl";
    const json line = losses_in(recent_);
    std::ofstream out(path, std::ios::app);
    out << json_text(line) + "\n" << std::flush;
    if (!out) throw_file_error(path, "cannot be written", errno != 0 ? errno : ENOSPC);
    if (events_) events_->add(line);
  }
  std::fill(recent_.begin(), recent_.end(), 0);
}

// Rank 0 validates and writes while the others wait for its score.
void Trainer::record() {
  if (workers_.writes()) write_record();
  const torch::Tensor word = torch::tensor({best_, reserve_}, torch::kFloat64);
  workers_.broadcast({word});
  best_ = word[0].item<double>();
  reserve_ = word[1].item<double>();
  std::fill(sums_.begin(), sums_.end(), 0);
  recorded_examples_ = static_cast<double>(examples_);
  recorded_seconds_ = seconds_ + reserve_;  // the next is due some time after this one has ended
}

void Trainer::write_record() {
  const auto begin = std::chrono::steady_clock::now();
  const json validation = validate();
  const double score = validation["score"];
  const std::size_t terms = objective_->names().size();
  const double spent = std::max(1e-9, seconds_ - recorded_seconds_);
  json line = losses_in(sums_);
  line["examples_per_second"] = (static_cast<double>(examples_) - recorded_examples_) / spent;
  line["validation"] = validation;
  if (carry_) {
    const double leaving = std::max(1.0, sums_[terms + 3]);
    line["carried"] = {{"solved", sums_[terms + 4] / leaving}, {"segments", sums_[terms + 5] / leaving}};
  }
  progress_.score = score;
  if (score >= best_) {
    best_ = score;
    best_validation_ = validation;
    line["best"] = true;
    save_model(validation);
  }
  std::vector<json> records = read_records(folder_ / "metrics.jsonl");
  records.push_back(line);
  write_records(folder_ / "metrics.jsonl", records);
  draw(records);
  if (events_) {
    json scores = line;  // the losses have been logged step by step
    for (const char* logged : {"loss", "terms", "gradient_norm", "learning_rate"}) scores.erase(logged);
    events_->add(scores);
  }
  reserve_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (hooks_.on_record) hooks_.on_record(line);
}

void Trainer::save_model(const json& validation) {
  optimizer_->swap_average();
  model_->eval();
  const bool perception_learns =
      !model_->perception.is_empty() && config_.losses.weight("perception") > 0 && frozen_ < 2;
  torch::Tensor temperature;
  if (perception_learns) {
    // Only the saved file is calibrated; the network in training keeps its temperature.
    torch::Tensor& buffer = model_->perception->named_buffers()["temperature"];
    temperature = buffer.clone();
    calibrate();
  }
  infer::Card card;
  card.weights = folder_ / "model.safetensors";
  card.task = config_.task;
  card.preset = config_.preset;
  card.program = config_.program;
  card.pictures = {config_.images.positions, task_.classes()};
  card.about = {
      {"seed", config_.seed},
      {"validation", validation},
      {"data",
       {{"source", config_.data.source}, {"train", batches_->size()}, {"validation", validation_->size()}}},
      {"trained",
       {{"steps", step_},
        {"epochs", epoch_},
        {"seconds", seconds_},
        {"device", device_.str()},
        {"workers", workers_.world()},
        {"torch", TORCH_VERSION},
        {"command", hooks_.command}}}};
  if (!config_.data.path.empty()) card.about["data"]["path"] = config_.data.path;
  write_file(infer::settings_path(card.weights), config_.resolved);
  nn::save_model(card, *model_, task_.program());
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
  if (carry_) {
    for (auto& carried : carry_->tensors()) tensors.push_back(std::move(carried));
    for (const auto& [name, tensor] : current_.tensors()) tensors.emplace_back("batch." + name, tensor);
  }
  return tensors;
}

void Trainer::save_state() const {
  formats::SafeTensorFile file;
  for (const auto& [name, tensor] : state()) file.tensors.push_back(nn::pack(name, tensor.reshape({-1})));
  const json place = {{"epoch", epoch_},
                      {"index", index_},
                      {"step", step_},
                      {"examples", examples_},
                      {"seconds", seconds_},
                      {"sums", sums_},
                      {"recent", recent_},
                      {"recorded_examples", recorded_examples_},
                      {"recorded_seconds", recorded_seconds_},
                      {"best", best_},
                      {"reserve", reserve_},
                      {"validated", config_.train.time_budget > 0 ? validated_ : 0},
                      {"best_validation", best_validation_},
                      {"seed", config_.seed},
                      {"command", hooks_.command},
                      {"data", data_hash_},
                      {"pictures", pictures_hash_},
                      {"program", task_.program().hash}};
  file.metadata["place"] = json_text(place);
  formats::write_safetensors(folder_ / "state.safetensors", file);
}

void Trainer::resume() {
  const json place = json::parse(workers_.broadcast(workers_.writes() ? read_state() : ""));
  try {
    take_place(place);
  } catch (const json::exception& error) {
    throw InputError({(folder_ / "state.safetensors").string()},
                     std::string("not the state of a training run: ") + error.what());
  }
}

void Trainer::take_place(const json& place) {
  if (const std::string before = place.value("command", ""); !before.empty())
    hooks_.command = before + " && " + hooks_.command;
  epoch_ = place["epoch"];
  index_ = place["index"];
  step_ = place["step"];
  examples_ = place["examples"];
  recorded_examples_ = place.value("recorded_examples", static_cast<double>(examples_));
  seconds_ = place["seconds"];
  recorded_seconds_ = place.value("recorded_seconds", seconds_);
  if (const auto sums = place.value("sums", std::vector<double>()); sums.size() == sums_.size()) sums_ = sums;
  if (const auto sums = place.value("recent", std::vector<double>()); sums.size() == recent_.size())
    recent_ = sums;
  best_ = place["best"];
  reserve_ = place.value("reserve", 0.0);
  validated_ = place.value("validated", std::int64_t{0});
  best_validation_ = place["best_validation"];
}

std::string Trainer::read_state() {
  const std::filesystem::path path = folder_ / "state.safetensors";
  const formats::SafeTensorFile file = formats::read_safetensors(path);
  const json place = parse_json(file.metadata.count("place") ? file.metadata.at("place") : "",
                                {path.string()}, nullptr, false);
  if (!place.is_object()) throw InputError({path.string()}, "not the state of a training run");
  if (place.value("program", json()) != task_.program().hash) {
    throw InputError({path.string()}, "was trained on another program",
                     {"compile the program it was started with"});
  }
  if (const std::string before = place.value("data", data_hash_); before != data_hash_ && hooks_.on_warning)
    hooks_.on_warning(config_.data.path + " is not the file that the run was started with: it goes on with " +
                      "other examples, and its weights will not be those of one run");
  if (place.value("pictures", pictures_hash_) != pictures_hash_ && hooks_.on_warning)
    hooks_.on_warning(
        "the pictures in " + config_.images.source + " are not those that the run was started with: " +
        "what was for training may now be for validation or the test, whose figures are then too good");
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : state()) {
    const formats::SafeTensor* saved = file.find(name);
    if (!saved || nn::unpack(*saved).numel() != tensor.numel()) {
      throw InputError({path.string()}, "does not fit the model: " + name,
                       {"resume with the configuration the run was started with"});
    }
    torch::Tensor target = tensor;
    target.copy_(nn::unpack(*saved).view(tensor.sizes()));
  }
  // Records written after the state was saved are dropped: those validations will run again.
  std::vector<json> records = read_records(folder_ / "metrics.jsonl");
  const double step = number_in(place, "step");
  records.erase(std::remove_if(records.begin(), records.end(),
                               [&](const json& record) { return number_in(record, "step") > step; }),
                records.end());
  write_records(folder_ / "metrics.jsonl", records);
  return json_text(place);
}

void Trainer::draw(const std::vector<json>& records) const {
  Panel losses{"loss", "step", {{"loss", {}}}, true}, scores{"validation", "step", {}, false};
  Panel rate{"learning rate", "step", {{"", {}}}, false};
  for (const std::string& name : objective_->names()) losses.series.push_back({name, {}});
  // Losses as they were logged. A validation's are means over many more steps, so they are drawn only where a
  // run is too short for the others.
  const auto validated = [](const json& record) { return record.contains("validation"); };
  const bool logged = std::count_if(records.begin(), records.end(), validated) + 1 <
                      static_cast<std::ptrdiff_t>(records.size());
  for (const json& record : records) {
    const double step = number_in(record, "step");
    if (logged != validated(record)) {
      losses.series[0].points.emplace_back(step, number_in(record, "loss"));
      for (std::size_t term = 1; term < losses.series.size(); ++term) {
        losses.series[term].points.emplace_back(
            step, number_in(record.value("terms", json()), losses.series[term].name));
      }
    }
    rate.series[0].points.emplace_back(step, number_in(record, "learning_rate"));
    for (const char* part : {"given", "perceived", "list"}) {
      const json validation = record.value("validation", json());
      const json figures = validation.is_object() ? validation.value(part, json()) : json();
      for (const char* measure : {"exact", "likelihood", "cell"}) {
        const double value = number_in(figures, measure);
        if (std::isnan(value)) continue;
        const std::string name = std::string(part) + " " + measure;
        auto series = std::find_if(scores.series.begin(), scores.series.end(),
                                   [&](const Series& s) { return s.name == name; });
        if (series == scores.series.end()) series = scores.series.insert(series, {name, {}});
        series->points.emplace_back(step, value);
      }
    }
  }
  write_file(folder_ / "curves.svg", draw_curves({losses, scores, rate}));
}

}  // namespace as2::train
