// Held-out scores of the averaged weights, and the temperature that makes perception's confidences honest.
#include <chrono>

#include "train/trainer.h"

namespace as2::train {

using nlohmann::json;

// `given` and `perceived`: with evidence of that kind, as training has it; `list`: data.path, evidence given.
bool Trainer::validates(const std::string& part) const {
  const double share = model_->reasoner ? config_.train.perceived_share : 1;
  const bool pictures = !model_->perception.is_empty() && !task_.pictures().positions.empty();
  if (part == "given") return share < 1 || !pictures;
  if (part == "perceived") return share > 0 && pictures;
  return part == "list" && listed_validation_;
}

json Trainer::validate() {
  torch::NoGradGuard no_grad;
  optimizer_->swap_average();
  model_->eval();
  json result;
  double score = 0;
  int parts = 0;
  for (const char* part : {"given", "perceived", "list"}) {
    if (!validates(part)) continue;
    const bool listed = part == std::string("list");
    result[part] = scores(listed ? *listed_validation_ : *validation_, part == std::string("perceived"));
    score += result[part]["exact"].get<double>();
    ++parts;
  }
  result["score"] = config_.train.score == "mean" ? score / std::max(1, parts)
                                                  : result[config_.train.score]["exact"].get<double>();
  set_training();
  optimizer_->swap_average();
  return result;
}

std::int64_t Trainer::validation_size(double seconds_each) {
  const std::int64_t all = validation_->size();
  if (config_.train.time_budget <= 0) return all;
  const bool both =
      model_->reasoner && config_.train.perceived_share > 0 && config_.train.perceived_share < 1;
  const double seconds = kValidationShare * config_.train.time_budget / (both ? 2 : 1);
  const double fits = seconds / std::max(1e-9, seconds_each);
  return std::min(all, std::max(kLeastValidation, static_cast<std::int64_t>(std::min(fits, 1e9))));
}

// Shares of right positions and of wholly right examples. Without a reasoner only pictures are read; then an
// example is right if its pictures are and the program agrees with the labels at the other positions.
json Trainer::scores(Batches& batches, bool perceived) {
  ForwardOptions forward;
  forward.perceived_rows = perceived ? batches.rows() : 0;
  torch::Tensor right = torch::zeros({}, mask_.options().dtype(torch::kFloat64));
  torch::Tensor cells = torch::zeros_like(right), whole = torch::zeros_like(right);
  const bool timed = &batches == validation_.get();
  std::int64_t seen = 0, wanted = timed && validated_ > 0 ? validated_ : batches.size();
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t index = 0; seen < wanted; ++index) {
    const Batch batch = batches.batch(0, index);
    const std::int64_t rows = std::min(batches.rows(), wanted - seen);
    const Prediction prediction = network_->forward(batch, forward);
    const torch::Tensor answer = prediction.logits.back().argmax(-1);
    torch::Tensor read = batch.known;
    if (!model_->reasoner) read = read & batch.evidence;
    const torch::Tensor same = (answer == batch.labels) & read;
    torch::Tensor exact = (same == read).all(1);
    if (!model_->reasoner && soft_tp_.residual_terms() > 0) {
      const torch::Tensor decided = torch::where(batch.evidence, answer, batch.labels);
      const torch::Tensor all = torch::ones_like(batch.known);
      const torch::Tensor agrees = soft_tp_.max_residual(infer::label_beliefs(decided, all, mask_)) < 0.5;
      const torch::Tensor checkable = (batch.known | batch.evidence).all(1);
      exact = exact & (agrees | ~checkable);
    }
    right += same.narrow(0, 0, rows).sum();
    cells += read.narrow(0, 0, rows).sum();
    whole += exact.narrow(0, 0, rows).sum();
    seen += rows;
    if (timed && validated_ == 0) {
      whole.item<double>();  // waits for the device, so that the clock is right
      const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      wanted = validation_size(spent / static_cast<double>(seen));
    }
    if (hooks_.on_validation) hooks_.on_validation(seen, wanted);
  }
  if (timed) validated_ = seen;
  const double known = cells.item<double>();
  json result = {{"exact", whole.item<double>() / static_cast<double>(std::max<std::int64_t>(1, seen))},
                 {"examples", seen}};
  if (known > 0) result["cell"] = right.item<double>() / known;
  return result;
}

void Trainer::calibrate() {
  torch::NoGradGuard no_grad;
  const torch::Tensor class_of = infer::class_tensor(task_.pictures(), device_);
  std::vector<torch::Tensor> logits, labels;
  for (std::int64_t index = 0; index * validation_->rows() < validated_; ++index) {
    const Batch batch = validation_->batch(0, index);
    const std::int64_t rows = batch.pixels.size(0), slots = batch.pixels.size(1);
    const torch::Tensor known = batch.known.narrow(0, 0, rows).gather(1, batch.slot_positions);
    const torch::Tensor seen = (batch.slot_mask & known).flatten().nonzero().squeeze(1);
    logits.push_back(
        model_->perception->forward(batch.pixels.view({rows * slots, 28, 28})).logits.index_select(0, seen));
    labels.push_back(batch.classes_at_slots(batch.labels, class_of).flatten().index_select(0, seen));
  }
  model_->perception->calibrate(torch::cat(logits), torch::cat(labels));
}

}  // namespace as2::train
