#include "train/objective.h"

#include "as2/error.h"

namespace as2::train {
namespace {

// Summed cross-entropy of logits [.., classes] against labels [..] where `where` holds.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                            const torch::Tensor& where) {
  const torch::Tensor log_p = torch::log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1);
  return -torch::where(where, log_p, torch::zeros_like(log_p)).sum();
}

}  // namespace

torch::Tensor label_beliefs(const torch::Tensor& labels, const torch::Tensor& known,
                            const torch::Tensor& mask) {
  const torch::Tensor domain = mask.to(torch::kFloat32), uniform = domain / domain.sum(-1, true);
  torch::Tensor one_hot = torch::zeros({labels.size(0), labels.size(1), mask.size(1)}, uniform.options());
  one_hot.scatter_(2, labels.unsqueeze(-1), 1.0);
  return torch::where(known.unsqueeze(-1), one_hot, uniform.expand_as(one_hot));
}

Network::Network(nn::Model& model, const PictureMap& map, torch::Tensor mask)
    : model_(model), class_of_(map.class_of.to(mask.device())), mask_(std::move(mask)) {}

torch::Tensor Network::perceived_beliefs(const torch::Tensor& logits, const Batch& batch,
                                         const torch::Tensor& base) {
  const std::int64_t rows = logits.size(0), slots = logits.size(1), symbols = class_of_.size(1);
  const torch::Tensor outside =
      torch::full({rows, slots, 1}, -std::numeric_limits<float>::infinity(), logits.options());
  const torch::Tensor classes =
      class_of_.index_select(0, batch.slot_positions.flatten()).view({rows, slots, symbols});
  // A slot that is padding stands at position 0, whose symbols need not have classes: its row is never used.
  const torch::Tensor own = torch::cat({logits, outside}, 2).gather(2, classes);
  const torch::Tensor used = batch.slot_mask.unsqueeze(-1);
  const torch::Tensor beliefs = model_.perception->beliefs(torch::where(used, own, torch::zeros_like(own)));
  // One row more takes what padding writes.
  const std::int64_t positions = base.size(1);
  const torch::Tensor target =
      torch::where(batch.slot_mask, batch.slot_positions, torch::full_like(batch.slot_positions, positions));
  const torch::Tensor padded = torch::cat({base, torch::zeros({rows, 1, symbols}, base.options())}, 1);
  return padded.scatter(1, target.unsqueeze(-1).expand({rows, slots, symbols}), beliefs)
      .narrow(1, 0, positions);
}

Prediction Network::forward(const Batch& batch, const ForwardOptions& options) {
  Prediction prediction;
  prediction.evidence = label_beliefs(batch.labels, batch.evidence & batch.known, mask_);
  if (batch.pixels.defined() && model_.perception) {
    const std::int64_t rows = batch.pixels.size(0), slots = batch.pixels.size(1);
    prediction.perceived =
        model_.perception->forward(batch.pixels.view({rows * slots, 28, 28})).logits.view({rows, slots, -1});
    const std::int64_t seen = std::min(options.perceived_rows, rows);
    if (seen > 0) {
      torch::Tensor logits = prediction.perceived.narrow(0, 0, seen);
      if (model_.reasoner && !options.evidence_gradient) logits = logits.detach();
      Batch first = batch;
      first.slot_positions = batch.slot_positions.narrow(0, 0, seen);
      first.slot_mask = batch.slot_mask.narrow(0, 0, seen);
      const torch::Tensor beliefs = perceived_beliefs(logits, first, prediction.evidence.narrow(0, 0, seen));
      const std::int64_t rest = prediction.evidence.size(0) - seen;
      prediction.evidence =
          rest == 0 ? beliefs : torch::cat({beliefs, prediction.evidence.narrow(0, seen, rest)}, 0);
    }
  }
  if (model_.reasoner) {
    prediction.logits = model_.reasoner->forward({prediction.evidence, batch.evidence}).logits;
  } else {
    prediction.logits = {prediction.evidence.clamp_min(1e-30).log()};
  }
  return prediction;
}

Objective::Objective(const LossConfig& losses, const tp::SoftTp* soft_tp, const PictureMap& map,
                     torch::Tensor observed, torch::Tensor mask)
    : losses_(losses),
      soft_tp_(soft_tp),
      class_of_(map.class_of.to(mask.device())),
      observed_(observed.to(mask.device())),
      mask_(std::move(mask)) {
  const std::pair<const char*, const TermSchedule*> terms[] = {{"perception", &losses_.perception},
                                                               {"evidence", &losses_.evidence},
                                                               {"latent", &losses_.latent},
                                                               {"constraint", &losses_.constraint},
                                                               {"satisfaction", &losses_.satisfaction}};
  for (const auto& [name, schedule] : terms) {
    if (schedule->weight == 0) continue;
    names_.emplace_back(name);
    schedules_.push_back(*schedule);
  }
  if (names_.empty())
    throw InputError("every loss has weight 0", {"set losses.NAME.weight for at least one term"});
  weights_ = torch::zeros({static_cast<std::int64_t>(names_.size())}, mask_.options().dtype(torch::kFloat32));
  set_epoch(0);
}

void Objective::set_epoch(double epoch) {
  for (std::size_t term = 0; term < schedules_.size(); ++term) {
    weights_.narrow(0, static_cast<std::int64_t>(term), 1).fill_(schedules_[term].at(epoch));
  }
}

torch::Tensor Objective::labels_read(const std::string& term, const Batch& batch) const {
  if (term == "perception") {
    if (!batch.pixels.defined()) return torch::zeros({0}, batch.known.options());
    const torch::Tensor known = batch.known.narrow(0, 0, batch.pixels.size(0));
    return known.gather(1, batch.slot_positions) & batch.slot_mask;
  }
  if (term == "evidence") return batch.known & batch.evidence;
  if (term == "latent") return batch.known & ~batch.evidence;
  return {};
}

torch::Tensor Objective::counts(const Batch& batch) const {
  torch::Tensor counts = torch::ones_like(weights_);
  for (std::size_t term = 0; term < names_.size(); ++term) {
    const torch::Tensor read = labels_read(names_[term], batch);
    if (read.defined()) counts.select(0, static_cast<std::int64_t>(term)).copy_(read.sum());
  }
  return counts;
}

torch::Tensor Objective::values(const Batch& batch, const Prediction& prediction,
                                const torch::Tensor& counts) const {
  const torch::Tensor last = prediction.logits.back();
  torch::Tensor passes, beliefs;  // both made once, where a term asks
  const auto reasoner_term = [&](const torch::Tensor& where, const torch::Tensor& count) {
    if (!passes.defined()) passes = losses_.every_pass ? torch::stack(prediction.logits) : last.unsqueeze(0);
    const std::vector<std::int64_t> shape = {passes.size(0), batch.labels.size(0), batch.labels.size(1)};
    return cross_entropy(passes, batch.labels.unsqueeze(0).expand(shape), where.unsqueeze(0).expand(shape)) /
           (count * passes.size(0));
  };
  const auto constrained = [&]() -> const torch::Tensor& {
    if (!beliefs.defined()) {
      const torch::Tensor given = (batch.known & observed_).unsqueeze(-1);
      beliefs =
          torch::where(given, label_beliefs(batch.labels, batch.known, mask_), torch::softmax(last, -1));
    }
    return beliefs;
  };
  const torch::Tensor at_least = counts.clamp_min(1e-9);  // a term without labels is 0
  std::vector<torch::Tensor> values;
  for (std::size_t term = 0; term < names_.size(); ++term) {
    const std::string& name = names_[term];
    const torch::Tensor read = labels_read(name, batch);
    const torch::Tensor count = at_least.select(0, static_cast<std::int64_t>(term));
    if (name == "perception" && read.numel() == 0) {
      values.push_back(torch::zeros({}, weights_.options()));
    } else if (name == "perception") {
      const torch::Tensor inside = batch.shown(class_of_).clamp_max(prediction.perceived.size(2) - 1);
      values.push_back(cross_entropy(prediction.perceived, inside, read) / count);
    } else if (name == "evidence" || name == "latent") {
      values.push_back(reasoner_term(read, count));
    } else if (name == "constraint") {
      values.push_back(
          soft_tp_->loss(constrained(), losses_.sum_reduction ? tp::Reduction::kSum : tp::Reduction::kMean));
    } else {
      values.push_back(-soft_tp_->log_satisfaction(constrained()).mean());
    }
  }
  return torch::stack(values);
}

}  // namespace as2::train
