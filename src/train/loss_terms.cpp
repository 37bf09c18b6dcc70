#include "train/loss_terms.h"

namespace as2::train {
namespace {

using infer::Batch;

// Summed cross-entropy of logits [.., classes] against labels [..] where `where` holds.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                            const torch::Tensor& where) {
  const torch::Tensor log_p = torch::log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1);
  return -torch::where(where, log_p, torch::zeros_like(log_p)).sum();
}

torch::Tensor picture_labels(const Batch& batch) {
  if (!batch.pixels.defined()) return torch::zeros({0}, batch.known.options());
  const torch::Tensor known = batch.known.narrow(0, 0, batch.pixels.size(0));
  return known.gather(1, batch.slot_positions) & batch.slot_mask;
}

torch::Tensor evidence_labels(const Batch& batch) {
  return batch.known & batch.evidence;
}

torch::Tensor latent_labels(const Batch& batch) {
  return batch.known & ~batch.evidence;
}

torch::Tensor perception_value(LossInput& in, const torch::Tensor& read, const torch::Tensor& count) {
  if (read.numel() == 0) return torch::zeros({}, count.options());
  const torch::Tensor& logits = in.prediction.perceived;
  return cross_entropy(logits, in.labelled_classes().clamp_max(logits.size(2) - 1), read) / count;
}

torch::Tensor reasoner_value(LossInput& in, const torch::Tensor& read, const torch::Tensor& count) {
  const torch::Tensor& passes = in.passes();
  const std::vector<std::int64_t> shape = {passes.size(0), in.batch.labels.size(0), in.batch.labels.size(1)};
  return cross_entropy(passes, in.batch.labels.unsqueeze(0).expand(shape), read.unsqueeze(0).expand(shape)) /
         (count * passes.size(0));
}

torch::Tensor constraint_value(LossInput& in, const torch::Tensor&, const torch::Tensor&) {
  return in.operators.soft_tp->loss(in.constrained(),
                                    in.losses.sum_reduction ? tp::Reduction::kSum : tp::Reduction::kMean);
}

torch::Tensor satisfaction_value(LossInput& in, const torch::Tensor&, const torch::Tensor&) {
  return -in.operators.soft_tp->log_satisfaction(in.constrained()).mean();
}

torch::Tensor query_value(LossInput& in, const torch::Tensor&, const torch::Tensor&) {
  const torch::Tensor& read = in.prediction.evidence;
  return -(in.losses.searches() ? in.operators.searched->log_mass(in.batch, read)
                                : in.operators.query->log_likelihood(in.batch, read))
              .mean();
}

torch::Tensor semantic_value(LossInput& in, const torch::Tensor&, const torch::Tensor&) {
  return -in.operators.query->log_satisfaction(in.batch, in.constrained()).mean();
}

torch::Tensor ltn_value(LossInput& in, const torch::Tensor&, const torch::Tensor&) {
  return in.operators.fuzzy->loss(in.constrained(), in.batch.atoms);
}

torch::Tensor a_nesi_value(LossInput& in, const torch::Tensor&, const torch::Tensor&) {
  return in.operators.inference_model->loss(*in.operators.query, in.batch, in.prediction.evidence);
}

}  // namespace

const torch::Tensor& LossInput::passes() {
  if (!passes_.defined())
    passes_ = losses.every_pass ? torch::stack(prediction.logits) : prediction.logits.back().unsqueeze(0);
  return passes_;
}

const torch::Tensor& LossInput::constrained() {
  if (!constrained_.defined()) {
    constrained_ =
        torch::where(batch.observed.unsqueeze(-1), infer::label_beliefs(batch.labels, batch.observed, mask_),
                     torch::softmax(prediction.logits.back(), -1));
  }
  return constrained_;
}

torch::Tensor LossInput::labelled_classes() const {
  return batch.classes_at_slots(batch.labels, class_of_);
}

const std::vector<LossTerm>& loss_terms() {
  static const std::vector<LossTerm> table = {{"perception", picture_labels, perception_value},
                                              {"evidence", evidence_labels, reasoner_value},
                                              {"latent", latent_labels, reasoner_value},
                                              {"constraint", nullptr, constraint_value},
                                              {"satisfaction", nullptr, satisfaction_value},
                                              {"query", nullptr, query_value},
                                              {"semantic", nullptr, semantic_value},
                                              {"ltn", nullptr, ltn_value},
                                              {"a-nesi", nullptr, a_nesi_value}};
  return table;
}

}  // namespace as2::train
