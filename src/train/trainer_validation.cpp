// Held-out scores of the averaged weights, and the temperature that makes perception's confidences honest.
//
// What picks the checkpoint is what may be known: the likelihood of what is observed where a loss is given it
// (query, a-nesi; without a reasoner also semantic and ltn), else agreement with the labels that may be used,
// never what is hidden.
#include <ATen/Parallel.h>

#include <chrono>

#include "as2/decoder.h"
#include "train/trainer.h"

namespace as2::train {
namespace {

// [batch] bool: a position or a derived atom is observed.
torch::Tensor observed_in(const infer::Batch& batch) {
  const torch::Tensor positions = batch.observed.any(1);
  return batch.atoms.defined() ? positions | (batch.atoms >= 0).any(1) : positions;
}

}  // namespace

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
  const char* measure = scores_likelihood_ ? "likelihood" : "exact";
  for (const char* part : {"given", "perceived", "list"}) {
    if (!validates(part)) continue;
    const bool listed = part == std::string("list");
    result[part] = scores(listed ? *listed_validation_ : *validation_, part == std::string("perceived"));
    score += result[part][measure].get<double>();
    ++parts;
  }
  result["score"] = config_.train.score == "mean" ? score / std::max(1, parts)
                                                  : result[config_.train.score][measure].get<double>();
  result["scored"] = scored();
  set_training();
  optimizer_->swap_average();
  return result;
}

const char* Trainer::scored() const {
  if (scores_likelihood_) return "likelihood";
  if (all_known_) return "labels";
  return model_->reasoner || soft_tp_.residual_terms() == 0 ? "known labels" : "agreement";
}

torch::Tensor Trainer::agrees(const Batch& batch, const torch::Tensor& answer) const {
  const torch::Tensor decided = torch::where(batch.evidence, answer, batch.labels);
  const torch::Tensor fixed = batch.evidence | batch.known | batch.observed;
  torch::Tensor agrees =
      (soft_tp_.max_residual(infer::label_beliefs(decided, torch::ones_like(fixed), mask_)) < 0.5).cpu();
  const torch::Tensor open = (~fixed.all(1)).nonzero().squeeze(1).cpu();
  if (open.size(0) == 0) return agrees.to(device_);
  // Something is neither read nor known: the program may have an answer all the same.
  const torch::Tensor symbols = decided.cpu().to(torch::kInt32).contiguous(),
                      where = fixed.cpu().contiguous();
  const decode::Decoder decoder(task_.shared_program());
  const std::int64_t positions = symbols.size(1);
  std::vector<decode::Query> queries(static_cast<std::size_t>(open.size(0)));
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::int64_t row = open[static_cast<std::int64_t>(q)].item<std::int64_t>();
    queries[q].beliefs.assign(static_cast<std::size_t>(positions * mask_.size(1)), 1.0);
    for (std::int64_t i = 0; i < positions; ++i) {
      if (!where.data_ptr<bool>()[row * positions + i]) continue;
      queries[q].pins.push_back({static_cast<int>(i), symbols.data_ptr<std::int32_t>()[row * positions + i]});
    }
  }
  const std::vector<decode::Decoded> decoded = decoder.decode_batch(queries, {}, at::get_num_threads());
  for (std::size_t q = 0; q < queries.size(); ++q)
    agrees[open[static_cast<std::int64_t>(q)].item<std::int64_t>()] = !decoded[q].models.empty();
  return agrees.to(device_);
}

double Trainer::validation_seconds() const {
  const bool both =
      model_->reasoner && config_.train.perceived_share > 0 && config_.train.perceived_share < 1;
  return kValidationShare * config_.train.time_budget / (both ? 2 : 1);
}

// Shares of right positions and of examples in which all that may be known is right. Where nothing but
// pictures is read or a likelihood is scored, the program must agree as well.
json Trainer::scores(Batches& batches, bool perceived) {
  ForwardOptions forward;
  forward.perceived_rows = perceived ? batches.rows() : 0;
  torch::Tensor right = torch::zeros({}, mask_.options().dtype(torch::kFloat64));
  torch::Tensor cells = torch::zeros_like(right), whole = torch::zeros_like(right),
                judged = torch::zeros_like(right), likelihood = torch::zeros_like(right);
  const bool timed = &batches == validation_.get();
  const double seconds = timed && validated_ == 0 ? validation_seconds() : 0;
  std::int64_t seen = 0, wanted = batches.size();
  if (timed && validated_ > 0) wanted = std::min(wanted, validated_);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t index = 0; seen < wanted; ++index) {
    const Batch batch = batches.batch(0, index);
    const std::int64_t rows = std::min(batches.rows(), wanted - seen);
    const Prediction prediction = network_->forward(batch, forward);
    const torch::Tensor answer = prediction.logits.back().argmax(-1);
    const torch::Tensor usable = batch.known | batch.observed;
    const torch::Tensor read = model_->reasoner ? usable : usable & batch.evidence;
    const torch::Tensor same = (answer == batch.labels) & read;
    torch::Tensor exact = (same == read).all(1), judgeable = read.any(1);
    if (!model_->reasoner && !scores_likelihood_ && soft_tp_.residual_terms() > 0) {
      exact = exact & agrees(batch, answer);
      judgeable = usable.any(1) | nothing_known_;
    }
    if (scores_likelihood_) {
      exact = exact & query_->allows(batch, prediction.evidence.argmax(-1));
      judgeable = judgeable | observed_in(batch);
      const torch::Tensor p = query_->exact_log_likelihood(batch, prediction.evidence).exp();
      likelihood += p.narrow(0, 0, rows).sum();
    }
    right += same.narrow(0, 0, rows).sum();
    cells += read.narrow(0, 0, rows).sum();
    whole += (exact & judgeable).narrow(0, 0, rows).sum();
    judged += judgeable.narrow(0, 0, rows).sum();
    seen += rows;
    if (seconds > 0) {
      whole.item<double>();  // waits for the device, so that the clock is right
      const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      wanted = validation_size(batches.size(), batches.rows(), seen, seconds, spent);
    }
    if (hooks_.on_validation) hooks_.on_validation(seen, wanted);
  }
  if (timed) validated_ = seen;
  json result = {{"examples", seen}};
  const double examples = judged.item<double>(), known = cells.item<double>();
  if (examples > 0 || !scores_likelihood_) result["exact"] = whole.item<double>() / std::max(1.0, examples);
  if (scores_likelihood_)
    result["likelihood"] = likelihood.item<double>() / static_cast<double>(std::max<std::int64_t>(1, seen));
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
  const torch::Tensor all = torch::cat(labels);
  if (all.size(0) > 0) model_->perception->calibrate(torch::cat(logits), all);
}

}  // namespace as2::train
